// SPDX-License-Identifier: Apache-2.0
// A backend whose world always has two ranks; it connects nobody.
#include "libcore/base/error.h"
#include "libcore/comm/load.h"

namespace {

using namespace convoy;

class Fake final : public comm::Communicator {
 public:
  Fake() : Communicator(1, 2, "world") {}

 private:
  void do_all_reduce(device::Stream&, const tensor::MutableView&, comm::Reduction) override {}
  void do_reduce_scatter(device::Stream&, const tensor::View&, const tensor::MutableView&,
                         std::span<const std::int64_t>, comm::Reduction) override {}
  void do_all_gather(device::Stream&, const tensor::View&, const tensor::MutableView&,
                     std::span<const std::int64_t>) override {}
  void do_broadcast(device::Stream&, const tensor::MutableView&, int) override {}
  void do_send(device::Stream&, const tensor::View&, int) override {}
  void do_receive(device::Stream&, const tensor::MutableView&, int) override {}
  void do_barrier() override {}
  std::unique_ptr<comm::Communicator> do_split(int, int, const std::string&) override { return nullptr; }
  void do_end_job(int) noexcept override {}
};

}  // namespace

extern "C" convoy::comm::Communicator* convoy_mpi_world(int interface_version) {
  return interface_version == convoy::comm::kInterfaceVersion ? new Fake : nullptr;
}

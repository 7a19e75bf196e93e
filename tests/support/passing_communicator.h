// SPDX-License-Identifier: Apache-2.0
// A communicator that passes every call on to another one: a test overrides what it wants to go wrong.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "libcore/comm/communicator.h"

namespace convoy::support {

class PassingCommunicator : public comm::Communicator {
 public:
  explicit PassingCommunicator(std::unique_ptr<comm::Communicator> inner)
      : Communicator(inner->rank(), inner->size(), inner->name()), inner_(std::move(inner)) {}

 protected:
  comm::Communicator& inner() { return *inner_; }

  void do_all_reduce(device::Stream& stream, const tensor::MutableView& data, comm::Reduction reduction) override {
    inner_->all_reduce(stream, data, reduction);
  }
  void do_reduce_scatter(device::Stream& stream, const tensor::View& whole, const tensor::MutableView& mine,
                         std::span<const std::int64_t> counts, comm::Reduction reduction) override {
    inner_->reduce_scatter(stream, whole, mine, counts, reduction);
  }
  void do_all_gather(device::Stream& stream, const tensor::View& mine, const tensor::MutableView& whole,
                     std::span<const std::int64_t> counts) override {
    inner_->all_gather(stream, mine, whole, counts);
  }
  void do_broadcast(device::Stream& stream, const tensor::MutableView& data, int root) override {
    inner_->broadcast(stream, data, root);
  }
  void do_send(device::Stream& stream, const tensor::View& data, int to) override { inner_->send(stream, data, to); }
  void do_receive(device::Stream& stream, const tensor::MutableView& data, int from) override {
    inner_->receive(stream, data, from);
  }
  void do_barrier() override { inner_->barrier(); }
  std::unique_ptr<Communicator> do_split(int color, int key, const std::string& name) override {
    return inner_->split(color, key, name);
  }
  void do_end_job(int exit_code) noexcept override { inner_->end_job(exit_code); }

 private:
  std::unique_ptr<comm::Communicator> inner_;
};

}  // namespace convoy::support

// SPDX-License-Identifier: Apache-2.0
// A group of MPI ranks. Every operation is made of non-blocking messages and one wait of our own, which neither starves
// ranks that share a core nor lasts for ever; MPI's own reductions are not used, because their order is not ours.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "libcore/comm/mpi/job.h"

namespace convoy::comm {

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(std::shared_ptr<Job> job, MPI_Comm group, int rank, int size, std::string name);
  ~MpiCommunicator() override;

 private:
  using Counts = std::span<const std::int64_t>;

  void do_all_reduce(device::Stream&, const tensor::MutableView& data, Reduction) override;
  void do_reduce_scatter(device::Stream&, const tensor::View& whole, const tensor::MutableView& mine, Counts counts,
                         Reduction) override;
  void do_all_gather(device::Stream&, const tensor::View& mine, const tensor::MutableView& whole,
                     Counts counts) override;
  void do_broadcast(device::Stream&, const tensor::MutableView& data, int root) override;
  void do_send(device::Stream&, const tensor::View& data, int to) override;
  void do_receive(device::Stream&, const tensor::MutableView& data, int from) override;
  void do_barrier() override;
  std::unique_ptr<Communicator> do_split(int color, int key, const std::string& name) override;
  void do_end_job(int exit_code) noexcept override;

  Call begin(const char* what);
  int tag() const;  // of the present call: another call's messages never match
  // Messages, cut into pieces.
  void post_send(const std::byte* data, std::size_t bytes, int to, int tag, std::vector<MPI_Request>& requests) const;
  void post_receive(std::byte* data, std::size_t bytes, int from, int tag);
  // Until all that is posted has happened. Throws ClusterError if that takes longer than the watchdog allows.
  void wait(const Call& call);
  [[noreturn]] void fail(const Call& call, int code);
  [[noreturn]] void give_up(const Call& call, double seconds);
  void abandon();

  void meet(const Call& call);
  // Block i of `blocks`, from offsets[i] to offsets[i + 1], is that of rank() + i: the own one comes to all, the
  // others' to here, in log2(size()) steps (Bruck et al., 1997).
  void exchange(const Call& call, std::byte* blocks, const std::vector<std::size_t>& offsets);
  void reduce_small(const Call& call, const tensor::MutableView& data, Reduction reduction);
  void reduce_chunk(const Call& call, const tensor::MutableView& chunk, Reduction reduction);
  // What the ranks hold of a range that this one reduces, in rank order: the others' come to scratch memory.
  std::vector<const void*> post_inputs(const void* mine, std::size_t bytes);
  std::byte* scratch(std::size_t bytes);
  Outgoing take_outgoing(std::size_t bytes);
  void reap_outgoing();

  int peer(int distance) const { return (rank() + distance + size()) % size(); }

  std::shared_ptr<Job> job_;
  MPI_Comm group_;
  bool is_world_;
  std::vector<int> world_ranks_;
  std::vector<MPI_Request> posted_;
  std::vector<MPI_Status> statuses_;  // of what was posted, after wait()
  std::unique_ptr<std::byte[]> scratch_;
  std::size_t scratch_bytes_ = 0;
  std::vector<Outgoing> outgoing_, spare_;
  std::int64_t sequence_ = 0;
  std::vector<std::int64_t> sent_, received_;  // messages to and from each rank
  int exceptions_;
};

}  // namespace convoy::comm

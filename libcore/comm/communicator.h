// SPDX-License-Identifier: Apache-2.0
// A group of ranks that exchange tensors: the one virtual interface of the code base. Every rank of the group makes the
// same calls in the same order. The public functions check their arguments (InternalError names what is wrong), then
// the backend moves the bytes. All are enqueued on the stream: a buffer may be reused, and a result read, after
// synchronize(); on a host stream that is on return. A reduction's order is a function of (group size, element count)
// alone, so every backend gives the same bits: element by element in rank order, ((x0 + x1) + x2) + .., bf16 and fp16
// widened to fp32 and rounded once.
//
// Every call is recorded on its stream's lane, but for those of a group of one, which communicate nothing.
//
// A peer that does not arrive is noticed: a call that waits longer than the watchdog's limit throws a ClusterError that
// names the ranks which are missing, the collective, its number and its group.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libcore/device/stream.h"
#include "libcore/tensor/view.h"
#include "libcore/trace/format.h"
#include "libcore/trace/lane.h"

namespace convoy::trace {
struct CommunicationCall;
}

namespace convoy::comm {

enum class Reduction { kSum, kMax, kMin };

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // "world", "tensor", "pipeline", "data": for messages.
  const std::string& name() const { return name_; }
  // As what the calls are recorded. Groups made by split() later inherit it.
  trace::GroupKind kind() const { return kind_; }
  void set_kind(trace::GroupKind kind) { kind_ = kind; }

  // `data` becomes the reduction over all ranks, on all ranks. fp32, fp64, i64 (sums wrap), bf16, fp16.
  void all_reduce(device::Stream& stream, const tensor::MutableView& data, Reduction reduction);

  // Rank r gets the reduced elements [counts[0] + .. + counts[r-1], + counts[r]) of `whole`, flat. Counts may differ
  // and be 0. `mine` may be that part of `whole` itself.
  void reduce_scatter(device::Stream& stream, const tensor::View& whole, const tensor::MutableView& mine,
                      std::span<const std::int64_t> counts, Reduction reduction);

  // The inverse: `whole` becomes the parts of all ranks in rank order. `mine` may be its part of `whole`. Any dtype.
  void all_gather(device::Stream& stream, const tensor::View& mine, const tensor::MutableView& whole,
                  std::span<const std::int64_t> counts);

  void broadcast(device::Stream& stream, const tensor::MutableView& data, int root);

  // Between two different ranks; messages of one pair arrive in the order they were sent. A send does not wait for its
  // receiver: the data is copied.
  void send(device::Stream& stream, const tensor::View& data, int to);
  void receive(device::Stream& stream, const tensor::MutableView& data, int from);

  // Returns after every rank has called it. Recorded on `lane`, for it has no stream.
  void barrier(const trace::Lane& lane = {});

  // Every rank calls it; ranks of one color form a group, ordered by (key, rank). A negative color joins none: null.
  // Different groups may be used from different threads at the same time; one group by one thread at a time.
  std::unique_ptr<Communicator> split(int color, int key, const std::string& name);

  // Seconds that a call waits for its peers before it gives up; 0: for ever. Groups made by split() later inherit it.
  void set_watchdog(double seconds) { watchdog_seconds_ = seconds; }
  double watchdog_seconds() const { return watchdog_seconds_; }

  // The node of every rank of the world, for messages; MPI's world begins with the host names. Groups made by split()
  // later inherit it.
  void set_nodes(std::vector<std::string> nodes);
  // "rank 5 (node n02)", of a rank of the world; without the node where it is not known.
  std::string place_of(int world_rank) const;

  // Ends the whole job, all ranks, with this exit code: for an error that the others cannot learn of in any other way.
  // With one rank, or between threads, it makes the peers' calls throw and returns.
  void end_job(int exit_code) noexcept;

 protected:
  Communicator(int rank, int size, std::string name);
  const std::vector<std::string>* nodes() const { return nodes_.get(); }  // null where set_nodes() was not called

 private:
  virtual void do_all_reduce(device::Stream&, const tensor::MutableView& data, Reduction) = 0;
  virtual void do_reduce_scatter(device::Stream&, const tensor::View& whole, const tensor::MutableView& mine,
                                 std::span<const std::int64_t> counts, Reduction) = 0;
  virtual void do_all_gather(device::Stream&, const tensor::View& mine, const tensor::MutableView& whole,
                             std::span<const std::int64_t> counts) = 0;
  virtual void do_broadcast(device::Stream&, const tensor::MutableView& data, int root) = 0;
  virtual void do_send(device::Stream&, const tensor::View& data, int to) = 0;
  virtual void do_receive(device::Stream&, const tensor::MutableView& data, int from) = 0;
  virtual void do_barrier() = 0;
  virtual std::unique_ptr<Communicator> do_split(int color, int key, const std::string& name) = 0;
  virtual void do_end_job(int exit_code) noexcept = 0;

  void expect_peer(int peer, const char* what) const;
  void expect_parts(const tensor::View& whole, const tensor::View& mine, std::span<const std::int64_t> counts,
                    const char* what) const;

  // What the records say of a call. Collectives are counted from 1, messages from 1 for each peer and direction, so
  // that the ranks' records of one call have one number.
  trace::CommunicationCall collective(trace::Operation operation, std::size_t bytes);
  trace::CommunicationCall message(trace::Operation operation, std::size_t bytes, int peer);
  trace::Lane lane_for(const trace::Lane& lane) const { return size_ > 1 ? lane : trace::Lane{}; }

  int rank_, size_;
  std::string name_;
  trace::GroupKind kind_ = trace::GroupKind::kWorld;
  std::int64_t collectives_ = 0;
  std::vector<std::int64_t> sends_, receives_;  // a peer
  double watchdog_seconds_ = 0.0;
  std::shared_ptr<const std::vector<std::string>> nodes_;
};

}  // namespace convoy::comm

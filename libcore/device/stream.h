// SPDX-License-Identifier: Apache-2.0
// Where ops are enqueued. The host stream is immediate: an op has finished when its call returns. A stream carries the
// op table of the backend that executes on it, the team of threads, scratch memory that ops borrow during one call, and
// where what happens on it is recorded.
// One thread at a time may use a stream.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "libcore/device/arena.h"
#include "libcore/device/device.h"
#include "libcore/device/thread_pool.h"
#include "libcore/trace/lane.h"

namespace convoy::ops {
struct Backend;
}

namespace convoy::device {

class Stream {
 public:
  // A host stream with a team of `threads`. `backend` is a table with static lifetime (ops::cpu_backend()).
  Stream(const ops::Backend& backend, int threads);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device device() const { return {}; }
  const ops::Backend& backend() const { return backend_; }
  ThreadPool& pool() { return pool_; }
  int threads() const { return pool_.size(); }

  // At least `bytes` of scratch for `thread`, 64-byte aligned, valid until that thread asks again or the op returns.
  // Grows until seal_scratch(); growing after it is an InternalError, because nothing may allocate inside a step.
  std::byte* scratch(int thread, std::size_t bytes);
  void seal_scratch() { sealed_ = true; }
  std::size_t scratch_bytes() const;

  // What the backend makes once for this stream and keeps (primitives of a library, say). Empty until the backend sets
  // it.
  std::shared_ptr<void>& backend_state() { return backend_state_; }

  // Where communication on this stream is recorded; nowhere until it is set. The recorder outlives its use.
  void set_lane(const trace::Lane& lane) { lane_ = lane; }
  const trace::Lane& lane() const { return lane_; }

  void synchronize() {}

 private:
  const ops::Backend& backend_;
  ThreadPool pool_;
  std::vector<Buffer> scratch_;  // one a thread
  std::shared_ptr<void> backend_state_;
  trace::Lane lane_;
  bool sealed_ = false;
};

}  // namespace convoy::device

// SPDX-License-Identifier: Apache-2.0
// How long the calling thread could have run but had no core, by the kernel's scheduler statistics. Private to the
// module.
#pragma once

#include <cstdint>

#include "libcore/trace/descriptor.h"

namespace convoy::trace {

class RunDelay {
 public:
  // `file` has "run_ns delay_ns slices"; /proc/thread-self/schedstat is that of the thread that opens it, wherever it
  // is read. A file that cannot be read: no delay ever.
  explicit RunDelay(const Path& file) : file_(file, 0) {}
  // ns since the thread began; never less than before. One system call.
  std::uint64_t read();
  std::uint64_t reads() const { return reads_; }

 private:
  Descriptor file_;
  std::uint64_t last_ = 0;
  std::uint64_t reads_ = 0;
};

}  // namespace convoy::trace

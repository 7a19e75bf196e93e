// SPDX-License-Identifier: Apache-2.0
#include "libcore/device/stream.h"

#include "libcore/base/error.h"

namespace convoy::device {

Stream::Stream(const ops::Backend& backend, int threads)
    : backend_(backend), pool_(threads), scratch_(static_cast<std::size_t>(threads)) {}

std::byte* Stream::scratch(int thread, std::size_t bytes) {
  check(thread >= 0 && thread < threads(), "scratch belongs to a thread of the stream's team");
  Buffer& buffer = scratch_[static_cast<std::size_t>(thread)];
  if (buffer.size() < bytes) {
    check(!sealed_, "an op asks for no more scratch memory after the first step than it did within it");
    buffer = Buffer();  // give the old one back first: its content is not kept
    buffer = Buffer(bytes, device());
  }
  return buffer.data();
}

std::size_t Stream::scratch_bytes() const {
  std::size_t bytes = 0;
  for (const Buffer& buffer : scratch_) bytes += buffer.size();
  return bytes;
}

}  // namespace convoy::device

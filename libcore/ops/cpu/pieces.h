// SPDX-License-Identifier: Apache-2.0
// Cuts a thread's scratch memory into pieces. With no memory it only adds up what they need.
#pragma once

#include <cstddef>
#include <cstdint>

namespace convoy::ops::cpu {

class Pieces {
 public:
  explicit Pieces(std::byte* memory) : memory_(memory) {}

  float* floats(std::int64_t count) {
    const std::size_t offset = bytes_;
    bytes_ += (static_cast<std::size_t>(count) * sizeof(float) + 63) / 64 * 64;
    return memory_ == nullptr ? nullptr : reinterpret_cast<float*>(memory_ + offset);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::size_t bytes_ = 0;
};

}  // namespace convoy::ops::cpu

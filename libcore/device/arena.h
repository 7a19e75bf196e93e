// SPDX-License-Identifier: Apache-2.0
// Owned memory: a buffer, and an arena that hands out pieces of one buffer and counts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "libcore/device/device.h"

namespace convoy::device {

// Zero-initialised memory, 64-byte aligned (huge pages where the system gives them). Throws EnvironmentError with the size
// asked for when there is not enough.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::size_t bytes, Device device);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Reserve first, allocate() once, then take: reserve() returns the offset that take(offset) turns into a pointer. Every
// piece starts at a multiple of 64 bytes.
class Arena {
 public:
  explicit Arena(std::string name) : name_(std::move(name)) {}

  static std::size_t piece_bytes(std::size_t bytes);  // that a piece takes
  std::size_t reserve(std::size_t bytes);
  void allocate(Device device);
  std::byte* at(std::size_t offset) const;
  std::size_t size() const { return reserved_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::size_t reserved_ = 0;
  Buffer buffer_;
};

}  // namespace convoy::device

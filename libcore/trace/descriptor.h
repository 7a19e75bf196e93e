// SPDX-License-Identifier: Apache-2.0
// An open file that closes itself, read and written at places. Private to the module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "libcore/base/file.h"

namespace convoy::trace {

class Descriptor {
 public:
  Descriptor() = default;
  // -1 where the system refuses, errno says why.
  Descriptor(const Path& path, int flags);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }

  explicit operator bool() const { return value_ >= 0; }
  int get() const { return value_; }
  // Bytes read, fewer at the end of the file; -1 with errno.
  std::int64_t read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  // The same in one system call, which may read less.
  std::int64_t read_some_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  // False with errno unless all was written.
  bool write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;

 private:
  int value_ = -1;
};

}  // namespace convoy::trace

// SPDX-License-Identifier: Apache-2.0
// Bytes that wait on disk, not in memory: written once, then read from the start as often as needed. The file loses its name as
// soon as it is open, so that nothing of it is left however the process ends. A file system that refuses is an EnvironmentError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "libcore/base/file.h"

namespace convoy {

class ScratchFile {
 public:
  // In the folder of `sibling`, whose name messages show. `buffer_bytes` are held before they are written.
  explicit ScratchFile(Path sibling, std::size_t buffer_bytes = std::size_t{1} << 20);
  ~ScratchFile();
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&&) = delete;

  void write(std::span<const std::byte> bytes);
  std::uint64_t size() const { return size_; }
  void flush();  // gives the buffer's memory back, too
  void clear();  // forgets all that was written

  // The bytes at `offset`, which must be there and flushed.
  void read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  Path sibling_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::size_t buffer_bytes_;
  std::string buffer_;
};

// Goes through a scratch file, which must be flushed, from its start.
class ScratchReader {
 public:
  explicit ScratchReader(const ScratchFile& file, std::size_t buffer_bytes = std::size_t{1} << 20) : file_(file), buffer_bytes_(buffer_bytes) {}

  bool at_end() const { return at_ == file_.size(); }
  void read(std::span<std::byte> out);  // the next bytes, which must be there

 private:
  const ScratchFile& file_;
  std::size_t buffer_bytes_;
  std::uint64_t at_ = 0;      // of the next byte
  std::uint64_t begin_ = 0;   // of the buffer
  std::string buffer_;
};

}  // namespace convoy

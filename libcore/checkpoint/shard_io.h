// SPDX-License-Identifier: Apache-2.0
// Reads and writes at places of a file, checked, and what lies between its fragments. Private to the module.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libcore/base/file.h"

namespace convoy::checkpoint {

// An open file. Threads may share it.
class FileHandle {
 public:
  enum class Mode { kRead, kWrite };
  FileHandle(const Path& path, Mode mode);  // DataError if a file to be read is not there
  ~FileHandle();
  FileHandle(FileHandle&& other) noexcept;
  FileHandle& operator=(FileHandle&&) = delete;

  const Path& path() const { return path_; }
  std::uint64_t size() const;
  // All of the bytes: DataError where the file ends before.
  void read(std::uint64_t offset, std::span<std::byte> bytes) const;
  // EnvironmentError with the file's `needed` bytes and the free ones where the disk is full.
  void write(std::uint64_t offset, std::span<const std::byte> bytes, std::uint64_t needed) const;
  // Lets the disk begin with what was written there, while the next bytes are still computed. Advice.
  void start_write_back(std::uint64_t offset, std::uint64_t size) const;
  void sync() const;

 private:
  Path path_;
  int descriptor_ = -1;
};

void sync_directory(const Path& path);

// What a file of `needed` bytes in `folder` would meet: empty, or what is in its way (a full disk, a limit on the size
// of files).
std::string room_problem(const Path& folder, std::uint64_t needed, std::uint64_t largest_file);

struct ByteRange {
  std::uint64_t offset = 0, size = 0;
};
// CRC-32C of the bytes of a file of `size` bytes that lie in none of the ranges. They do not overlap.
std::uint32_t crc32c_outside(const FileHandle& file, std::uint64_t size, std::vector<ByteRange> ranges);

// Whether `path` exists. EnvironmentError where that cannot be known, for want of permission, say: absent is another
// thing.
bool is_there(const Path& path);

}  // namespace convoy::checkpoint

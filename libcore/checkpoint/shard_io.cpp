// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/shard_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"

namespace convoy::checkpoint {
namespace {

std::optional<std::uint64_t> free_bytes(const Path& folder) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

std::string in_bytes(std::uint64_t bytes) {
  return fmt::format("{} bytes ({})", bytes, format_bytes(static_cast<double>(bytes)));
}

[[noreturn]] void refuse_write(const Path& path, int error, std::uint64_t needed) {
  std::string text = fmt::format("cannot write '{}': {}", path.string(), std::strerror(error));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    const std::optional<std::uint64_t> room = free_bytes(path.parent_path());
    text += fmt::format("; the file needs {}, {} are free; free some space or choose another place", in_bytes(needed),
                        room ? in_bytes(*room) : "an unknown number of bytes");
  }
  throw EnvironmentError(text);
}

}  // namespace

FileHandle::FileHandle(const Path& path, Mode mode) : path_(path) {
  // A pipe of a checkpoint's name would wait for a writer for ever; size() refuses it.
  const int flags = mode == Mode::kRead ? O_RDONLY | O_NONBLOCK : O_RDWR;
  do {
    descriptor_ = ::open(path.c_str(), flags | O_CLOEXEC);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ >= 0) return;
  if (mode == Mode::kRead && (errno == ENOENT || errno == ENOTDIR))
    throw DataError(fmt::format("'{}' is missing; the checkpoint is incomplete", path.string()));
  throw EnvironmentError(fmt::format("cannot open '{}': {}", path.string(), std::strerror(errno)));
}

FileHandle::~FileHandle() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileHandle::FileHandle(FileHandle&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

std::uint64_t FileHandle::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0)
    throw EnvironmentError(fmt::format("cannot read '{}': {}", path_.string(), std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) throw DataError(fmt::format("'{}' is no regular file", path_.string()));
  return static_cast<std::uint64_t>(status.st_size);
}

void FileHandle::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw EnvironmentError(fmt::format("cannot read {} bytes at offset {} of '{}': {}", bytes.size(), offset,
                                         path_.string(), std::strerror(errno)));
    }
    if (got == 0) throw DataError(fmt::format("'{}' ends at offset {}: it is truncated", path_.string(), offset));
    offset += static_cast<std::uint64_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

void FileHandle::write(std::uint64_t offset, std::span<const std::byte> bytes, std::uint64_t needed) const {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) refuse_write(path_, errno, needed);
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void FileHandle::start_write_back(std::uint64_t offset, std::uint64_t size) const {
  ::sync_file_range(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(size), SYNC_FILE_RANGE_WRITE);
}

void FileHandle::sync() const {
  // EINVAL: a file system that has nothing to synchronise.
  if (::fsync(descriptor_) != 0 && errno != EINVAL) refuse_write(path_, errno, size());
}

void sync_directory(const Path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && (::fsync(descriptor) == 0 || errno == EINVAL);
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!synced) throw EnvironmentError(fmt::format("cannot write folder '{}': {}", path.string(), std::strerror(error)));
}

std::string room_problem(const Path& folder, std::uint64_t needed, std::uint64_t largest_file) {
  const std::optional<std::uint64_t> room = free_bytes(folder);
  if (room && *room < needed) {
    return fmt::format("the disk of '{}' is too full: {} needed, {} free; free some space or choose another place",
                       folder.string(), in_bytes(needed), in_bytes(*room));
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < largest_file) {
    return fmt::format("files in '{}' may have {} (ulimit -f), {} needed", folder.string(),
                       in_bytes(static_cast<std::uint64_t>(limit.rlim_cur)), in_bytes(largest_file));
  }
  return {};
}

std::uint32_t crc32c_outside(const FileHandle& file, std::uint64_t size, std::vector<ByteRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  ranges.push_back({size, 0});
  std::vector<std::byte> buffer(std::size_t{64} << 10);
  std::uint32_t crc = 0;
  std::uint64_t at = 0;
  for (const ByteRange& range : ranges) {
    while (at < range.offset) {
      const std::span part(buffer.data(), std::min<std::uint64_t>(buffer.size(), range.offset - at));
      file.read(at, part);
      crc = crc32c(part, crc);
      at += part.size();
    }
    at = range.offset + range.size;
  }
  return crc;
}

bool is_there(const Path& path) {
  std::error_code error;
  const bool there = std::filesystem::exists(path, error);
  if (error) throw EnvironmentError(fmt::format("cannot look at '{}': {}", path.string(), error.message()));
  return there;
}

}  // namespace convoy::checkpoint

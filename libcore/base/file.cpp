// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/temporary_name.h"

namespace convoy {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr mode_t kFileMode = 0666;  // less the user's umask

// What the system refused. A path that does not exist is the user's to correct; everything else is the machine's.
[[noreturn]] void refuse(int error, std::string_view action, std::string_view what, const Path& path) {
  const std::string named =
      what.empty() ? fmt::format("'{}'", path.string()) : fmt::format("{} '{}'", what, path.string());
  if (error == ENOENT || error == ENOTDIR) {
    throw ConfigError(fmt::format("cannot {} {}: no such file or folder; check the path", action, named));
  }
  if (error == EISDIR && action == "read") throw ConfigError(fmt::format("cannot read {}: it is a folder; name a file", named));
  throw EnvironmentError(fmt::format("cannot {} {}: {}{}", action, named, std::strerror(error), advice_on(error)));
}

int open_or_refuse(const Path& path, int flags, std::string_view action, std::string_view what) {
  int descriptor;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, kFileMode);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) refuse(errno, action, what, path);
  return descriptor;
}

void write_all(int descriptor, std::string_view bytes, const Path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse(errno, "write", "", path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::size_t read_some(int descriptor, char* to, std::size_t size, const Path& path, std::string_view what) {
  ssize_t got;
  do {
    got = ::read(descriptor, to, size);
  } while (got < 0 && errno == EINTR);
  if (got < 0) refuse(errno, "read", what, path);
  return static_cast<std::size_t>(got);
}

void sync_or_refuse(int descriptor, const Path& path) {
  // EINVAL: a file system or special file that has nothing to synchronise.
  if (::fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS) refuse(errno, "write", "", path);
}

Path parent_of(const Path& path) { return path.has_parent_path() ? path.parent_path() : Path("."); }

void sync_path(const Path& path) {
  const int descriptor = open_or_refuse(path, O_RDONLY, "open", "");
  try {
    sync_or_refuse(descriptor, path);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  ::close(descriptor);
}

Path without_trailing_slash(Path path) {
  return path.has_filename() || !path.has_parent_path() ? path : path.parent_path();
}

// rename(2) replaces an empty directory without a word, so the kernel is asked not to, where the file system can.
bool rename_without_replacing(const Path& from, const Path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  if (std::filesystem::exists(std::filesystem::symlink_status(to))) {
    errno = EEXIST;
    return false;
  }
  return ::rename(from.c_str(), to.c_str()) == 0;
}

// A crash may leave the last line without its end; rows of a reader must not continue it.
void drop_torn_line(int descriptor, const Path& path) {
  const off_t size = ::lseek(descriptor, 0, SEEK_END);
  off_t keep = size;
  char last = '\n';
  while (keep > 0 && ::pread(descriptor, &last, 1, keep - 1) == 1 && last != '\n') --keep;
  if (keep == size || size < 0) return;
  log_warning(fmt::format("'{}' ends in an unfinished line of {} bytes; it is dropped", path.string(), size - keep));
  if (::ftruncate(descriptor, keep) != 0) refuse(errno, "shorten", "", path);
}

// Has the disk begin with what a file that grew from `before` to `after` bytes left behind, so that little waits for its last
// synchronisation. A hint: where it is not known, nothing is lost.
void start_writeback(int descriptor, std::size_t before, std::size_t after) {
  constexpr std::size_t kBlock = std::size_t{16} << 20;
  const std::size_t from = before / kBlock * kBlock, to = after / kBlock * kBlock;
  if (from < to) ::sync_file_range(descriptor, static_cast<off_t>(from), static_cast<off_t>(to - from), SYNC_FILE_RANGE_WRITE);
}

}  // namespace

const char* advice_on(int error) {
  if (error == ENOSPC || error == EDQUOT) return "; free some space or choose another place";
  return error == EFBIG ? "; a limit on the size of files is set (ulimit -f), or the file system has one: raise it, or choose another place" : "";
}

std::string read_file(const Path& path, std::string_view what) {
  const int descriptor = open_or_refuse(path, O_RDONLY, "open", what);
  std::string content;
  try {
    struct stat status {};
    if (::fstat(descriptor, &status) == 0 && status.st_size > 0)
      content.reserve(static_cast<std::size_t>(status.st_size) + 1);
    std::array<char, 64 * 1024> buffer;
    while (const std::size_t got = read_some(descriptor, buffer.data(), buffer.size(), path, what)) {
      content.append(buffer.data(), got);
    }
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  ::close(descriptor);
  return content;
}

AtomicFile::AtomicFile(Path path) : path_(std::move(path)) {
  std::error_code unknown;  // what cannot be looked at, the creation refuses
  const std::filesystem::file_status present = std::filesystem::status(path_, unknown);
  if (std::filesystem::is_directory(present)) refuse(EISDIR, "write", "", path_);
  // A rename would put a file in the place of a device or a pipe.
  if (std::filesystem::exists(present) && !std::filesystem::is_regular_file(present)) {
    throw EnvironmentError(
        fmt::format("cannot write '{}': it is a device, a pipe or a socket, which a file cannot replace; name a file",
                    path_.string()));
  }
  do {
    temporary_ = temporary_sibling(path_);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) refuse(errno, "create", "", path_);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      buffer_(std::move(other.buffer_)) {}

void AtomicFile::write(std::span<const std::byte> bytes) {
  check(descriptor_ >= 0, "a sealed file takes no more bytes");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t before = size_;
  size_ += text.size();
  if (buffer_.size() + text.size() >= kBufferBytes) flush();
  if (text.size() >= kBufferBytes) {
    write_all(descriptor_, text, path_);
  } else {
    buffer_ += text;
  }
  start_writeback(descriptor_, before, size_);
}

void AtomicFile::flush() {
  write_all(descriptor_, buffer_, path_);
  buffer_.clear();
}

void AtomicFile::seal() {
  check(descriptor_ >= 0, "a file is sealed once");
  flush();
  sync_or_refuse(descriptor_, path_);
  // close() may report what a network file system could not write.
  if (::close(std::exchange(descriptor_, -1)) != 0) refuse(errno, "write", "", path_);
}

void AtomicFile::commit() {
  check(!temporary_.empty(), "a file is committed once");
  if (descriptor_ >= 0) seal();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) refuse(errno, "write", "", path_);
  temporary_.clear();
  sync_path(parent_of(path_));
}

void write_file_atomically(const Path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

AtomicDirectory::AtomicDirectory(Path path)
    : path_(without_trailing_slash(std::move(path))), temporary_(temporary_sibling(path_)) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path_, error);
  if (!std::filesystem::status_known(status)) refuse(error.value(), "create", "folder", path_);
  if (std::filesystem::exists(status)) {
    throw EnvironmentError(fmt::format("'{}' exists already; remove it or choose another name", path_.string()));
  }
  if (::mkdir(temporary_.c_str(), 0777) != 0) refuse(errno, "create", "folder", path_);
}

AtomicDirectory::~AtomicDirectory() {
  if (committed_) return;
  std::error_code ignored;
  std::filesystem::remove_all(temporary_, ignored);
}

void AtomicDirectory::commit() {
  check(!committed_, "a directory is committed once");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(temporary_)) {
    if (!entry.is_symlink()) sync_path(entry.path());
  }
  sync_path(temporary_);
  if (!rename_without_replacing(temporary_, path_)) refuse(errno, "create", "folder", path_);
  committed_ = true;
  sync_path(parent_of(path_));
}

LineAppender::LineAppender(Path path) : path_(std::move(path)) {
  descriptor_ = open_or_refuse(path_, O_RDWR | O_CREAT | O_APPEND, "open", "");
  drop_torn_line(descriptor_, path_);
}

LineAppender::~LineAppender() { ::close(descriptor_); }

void LineAppender::append(std::string_view line) {
  std::string bytes(line);
  bytes += '\n';
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  ssize_t written;
  do {
    written = ::write(descriptor_, bytes.data(), bytes.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(bytes.size())) return;
  const int error = written < 0 ? errno : ENOSPC;
  if (before >= 0 && ::ftruncate(descriptor_, before) != 0)
    log_warning(fmt::format("'{}' ends in half a line", path_.string()));
  refuse(error, "write", "", path_);
}

MappedFile::MappedFile(const Path& path, std::string_view what) : path_(path) {
  const int descriptor = open_or_refuse(path, O_RDONLY, "open", what);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    throw ConfigError(fmt::format("{} '{}' is not a regular file", what, path.string()));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  const int error = errno;
  ::close(descriptor);
  if (address == MAP_FAILED) refuse(error, "map", what, path);
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void MappedFile::release(std::span<const std::byte> part) const {
  if (part.empty()) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data()) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(part.data()) + part.size();
  // Best effort: what the kernel keeps costs memory alone.
  (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void ensure_directory(const Path& path) {
  std::error_code error, ignored;
  std::filesystem::create_directories(path, error);
  if (!std::filesystem::is_directory(path, ignored)) {
    throw EnvironmentError(fmt::format("cannot create folder '{}': {}", path.string(),
                                       error ? error.message() : "a file of that name is in the way"));
  }
  if (::access(path.c_str(), W_OK | X_OK) != 0) refuse(errno, "write into", "folder", path);
}

FileLock::FileLock(const Path& path, std::string_view holder) : path_(path) {
  descriptor_ = open_or_refuse(path, O_RDWR | O_CREAT, "lock", "");
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    ::close(descriptor_);
    if (error != EWOULDBLOCK) refuse(error, "lock", "", path);
    std::string owner = read_file(path, "lock");
    while (!owner.empty() && owner.back() == '\n') owner.pop_back();
    throw EnvironmentError(fmt::format("'{}' is in use by {}; wait for it to end, or choose another directory",
                                       parent_of(path).string(), owner.empty() ? "another process" : owner));
  }
  const std::string line = fmt::format("{}\n", holder);
  if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, line.data(), line.size(), 0) < 0) {
    const int error = errno;
    ::close(descriptor_);
    refuse(error, "write", "", path);
  }
}

// The file stays: unlinking it would let a third process lock a new one while a second still waits on the old.
FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace convoy

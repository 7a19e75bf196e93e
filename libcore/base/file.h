// SPDX-License-Identifier: Apache-2.0
// Files as the formats need them: checked reads, and writes that commit by rename, so that a crash at any instant
// leaves the previous good state and nothing that looks complete but is not. A refusal of the file system throws
// EnvironmentError with path and reason; a path of the user's that does not exist, or is a folder where a
// file is read, throws ConfigError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace convoy {

using Path = std::filesystem::path;

// The whole file. `what` names it in errors ("model configuration").
std::string read_file(const Path& path, std::string_view what);

// A file being written under a temporary sibling name. commit() seals the file, renames it to `path` and fsyncs the
// folder; without it the destructor removes the temporary file.
class AtomicFile {
 public:
  // EnvironmentError if `path` is anything but a regular file or nothing: renaming over a device would remove it.
  explicit AtomicFile(Path path);
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;

  const Path& path() const { return path_; }
  std::uint64_t size() const { return size_; }   // bytes written so far
  void write(std::span<const std::byte> bytes);  // buffered
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void seal();  // flushes and fsyncs: what a full disk can refuse is behind us, and nothing more is written
  void commit();

 private:
  void flush();

  Path path_;
  Path temporary_;       // empty once committed
  int descriptor_ = -1;  // -1 once sealed
  std::uint64_t size_ = 0;
  std::string buffer_;
};

// Writes `content` to `path` by temporary sibling, fsync, rename.
void write_file_atomically(const Path& path, std::string_view content);

// A directory being filled under a temporary sibling name; commit() fsyncs its files and itself and renames it to
// `path`, which must not exist. Without commit() the destructor removes it.
class AtomicDirectory {
 public:
  explicit AtomicDirectory(Path path);
  ~AtomicDirectory();
  AtomicDirectory(const AtomicDirectory&) = delete;
  AtomicDirectory& operator=(const AtomicDirectory&) = delete;

  const Path& temporary() const { return temporary_; }  // write here
  void commit();

 private:
  Path path_;
  Path temporary_;
  bool committed_ = false;
};

// Appends whole lines to a file, one write(2) a line, so that a reader never sees half a line of ours in the middle.
class LineAppender {
 public:
  explicit LineAppender(Path path);
  ~LineAppender();
  LineAppender(const LineAppender&) = delete;
  LineAppender& operator=(const LineAppender&) = delete;

  void append(std::string_view line);  // without its newline

 private:
  Path path_;
  int descriptor_ = -1;
};

// A file mapped read-only. Keeps the mapping for its lifetime.
class MappedFile {
 public:
  MappedFile(const Path& path, std::string_view what);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }
  const Path& path() const { return path_; }
  // Gives the memory of a part back that was read and is not needed soon; reading it again is allowed.
  void release(std::span<const std::byte> part) const;

 private:
  Path path_;
  std::span<const std::byte> bytes_;
};

// The end of a message about a write that the system refused: what to do about `error`; empty if there is nothing to say.
const char* advice_on(int error);

// Creates `path` and its parents if missing; checks that we may write there.
void ensure_directory(const Path& path);

// An advisory lock on `path` (flock); held until destruction. Throws EnvironmentError naming the holder's line in the
// file.
class FileLock {
 public:
  FileLock(const Path& path, std::string_view holder);  // `holder` (host, job, pid) is written into the file
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  Path path_;
  int descriptor_ = -1;
};

}  // namespace convoy

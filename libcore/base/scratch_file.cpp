// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/scratch_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/temporary_name.h"

namespace convoy {
namespace {

[[noreturn]] void refuse(const char* action, const Path& sibling) {
  const int error = errno;
  throw EnvironmentError(fmt::format("cannot {} a scratch file beside '{}': {}{}", action, sibling.string(), std::strerror(error), advice_on(error)));
}

}  // namespace

ScratchFile::ScratchFile(Path sibling, std::size_t buffer_bytes) : sibling_(std::move(sibling)), buffer_bytes_(buffer_bytes) {
  const Path name = temporary_sibling(sibling_);
  descriptor_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor_ < 0) refuse("create", sibling_);
  if (::unlink(name.c_str()) != 0) {
    const int error = errno;
    ::close(descriptor_);
    errno = error;
    refuse("create", sibling_);
  }
}

ScratchFile::~ScratchFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept
    : sibling_(std::move(other.sibling_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      buffer_bytes_(other.buffer_bytes_),
      buffer_(std::move(other.buffer_)) {}

void ScratchFile::write(std::span<const std::byte> bytes) {
  if (buffer_.empty()) buffer_.reserve(buffer_bytes_);
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  size_ += bytes.size();
  if (buffer_.size() + bytes.size() > buffer_bytes_) flush();
}

void ScratchFile::flush() {
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse("write", sibling_);
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_ = std::string();
}

void ScratchFile::clear() {
  const bool on_disk = size_ > buffer_.size();
  buffer_.clear();
  size_ = 0;
  if (on_disk && (::ftruncate(descriptor_, 0) != 0 || ::lseek(descriptor_, 0, SEEK_SET) != 0)) refuse("write", sibling_);
}

void ScratchFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse("read", sibling_);
    check(got > 0, "a scratch file is read within what was written and flushed");
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

void ScratchReader::read(std::span<std::byte> out) {
  while (!out.empty()) {
    if (at_ >= begin_ + buffer_.size()) {
      begin_ = at_;
      buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(buffer_bytes_, file_.size() - begin_)));
      check(!buffer_.empty(), "a scratch file is read to its end and no further");
      file_.read(begin_, std::as_writable_bytes(std::span(buffer_)));
    }
    const std::size_t from = static_cast<std::size_t>(at_ - begin_), size = std::min(out.size(), buffer_.size() - from);
    std::memcpy(out.data(), buffer_.data() + from, size);
    out = out.subspan(size);
    at_ += size;
  }
}

}  // namespace convoy

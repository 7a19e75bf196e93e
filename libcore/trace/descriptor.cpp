// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace convoy::trace {
namespace {

constexpr mode_t kFileMode = 0666;  // less the user's umask

}  // namespace

Descriptor::Descriptor(const Path& path, int flags) {
  do {
    value_ = ::open(path.c_str(), flags | O_CLOEXEC, kFileMode);
  } while (value_ < 0 && errno == EINTR);
}

Descriptor::~Descriptor() {
  if (value_ >= 0) ::close(value_);
}

std::int64_t Descriptor::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(value_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<std::int64_t>(done);
}

std::int64_t Descriptor::read_some_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  return ::pread(value_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
}

bool Descriptor::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(value_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return true;
}

}  // namespace convoy::trace

// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

#include "libcore/base/error.h"

namespace convoy::data {
namespace {

constexpr std::size_t kRawBytes = std::size_t{256} << 10, kLeastRawBytes = std::size_t{4} << 10;
constexpr std::size_t kUnlimited = ~std::size_t{0};
constexpr int kWaitMilliseconds = 100;
constexpr int kGzipWindow = 15 + 16;   // zlib: the largest window, gzip framing
constexpr int kLongestWindowLog = 31;  // zstd --long=31, the format's largest on 64-bit machines

std::string shown(const InputFile& file) { return file.name == "-" ? "standard input" : file.name; }

// A hundred thousand small files need no large buffer each.
std::size_t buffer_bytes(const InputFile& file) {
  const std::int64_t known = file.bytes_to_read();
  return known > 0 ? static_cast<std::size_t>(std::clamp<std::int64_t>(known, kLeastRawBytes, kRawBytes)) : kRawBytes;
}

// The file's own bytes, buffered.
class RawFile {
 public:
  RawFile(const InputFile& file, std::function<void()> while_waiting)
      : name_(shown(file)), while_waiting_(std::move(while_waiting)), buffer_(buffer_bytes(file)) {
    descriptor_ = file.name == "-" ? STDIN_FILENO : ::open(file.to_open().c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) {
      const std::string message = fmt::format("cannot open input '{}': {}", name_, std::strerror(errno));
      if (errno == ENOENT || errno == ENOTDIR) throw ConfigError(message);
      throw EnvironmentError(message);
    }
    if (file.range) seek(*file.range);
  }
  ~RawFile() {
    if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
  }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  // What is buffered and not taken; empty at the end of the file.
  std::string_view available() {
    if (begin_ == end_) fill();
    return {buffer_.data() + begin_, end_ - begin_};
  }
  // As available(), but with at least `size` bytes unless the file ends before.
  std::string_view at_least(std::size_t size) {
    while (end_ - begin_ < size && fill()) {
    }
    return {buffer_.data() + begin_, end_ - begin_};
  }
  void take(std::size_t bytes) {
    begin_ += bytes;
    offset_ += static_cast<std::int64_t>(bytes);
  }
  std::int64_t offset() const { return offset_; }
  const std::string& name() const { return name_; }

 private:
  bool fill() {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    const std::size_t room = std::min(buffer_.size() - end_, left_);
    if (room == 0) return false;
    wait();
    ssize_t got;
    do {
      got = ::read(descriptor_, buffer_.data() + end_, room);
    } while (got < 0 && errno == EINTR);
    if (got < 0) throw EnvironmentError(fmt::format("cannot read input '{}': {}", name_, std::strerror(errno)));
    if (got == 0 && left_ != kUnlimited) {
      throw DataError(fmt::format("{}: the file ends {} bytes before the range that is to be read: it was changed; plan again", name_, left_));
    }
    end_ += static_cast<std::size_t>(got);
    if (left_ != kUnlimited) left_ -= static_cast<std::size_t>(got);
    return got > 0;
  }

  void seek(const ByteRange& range) {
    if (::lseek(descriptor_, range.begin, SEEK_SET) < 0) {
      const int error = errno;
      ::close(descriptor_);
      throw EnvironmentError(fmt::format("cannot read input '{}' from byte {} on: {}", name_, range.begin, std::strerror(error)));
    }
    left_ = static_cast<std::size_t>(range.size());
  }

  void wait() const {
    pollfd ready{descriptor_, POLLIN, 0};
    while (while_waiting_ && ::poll(&ready, 1, kWaitMilliseconds) <= 0) while_waiting_();
  }

  std::string name_;
  std::function<void()> while_waiting_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::int64_t offset_ = 0;
  std::size_t left_ = kUnlimited;  // of the range
  int descriptor_ = -1;
};

[[noreturn]] void refuse(const RawFile& raw, const std::string& what) {
  throw DataError(fmt::format("{}: {} at byte {}; get a whole copy of the file", raw.name(), what, raw.offset()));
}

bool starts_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

bool starts_zstd(std::string_view bytes) {
  const bool skippable = bytes.size() >= 4 && (static_cast<unsigned char>(bytes[0]) & 0xf0u) == 0x50u &&
                         bytes.substr(1, 3) == "\x2a\x4d\x18";
  return skippable || bytes.starts_with("\x28\xb5\x2f\xfd");
}

bool is_gzip(std::string_view name, std::string_view bytes) {
  return starts_gzip(bytes) || (name.ends_with(".gz") && !starts_zstd(bytes));
}

class Gzip {
 public:
  Gzip() {
    check(::inflateInit2(&stream_, kGzipWindow) == Z_OK, "zlib must start");
  }
  ~Gzip() { ::inflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  std::size_t read(RawFile& raw, std::span<char> out) {
    while (!ended_) {
      if (between_members_ && !next_member(raw)) break;
      const std::size_t got = inflate_some(raw, out);
      if (got > 0) return got;
    }
    return 0;
  }

 private:
  bool next_member(RawFile& raw) {
    if (!first_ && is_padding(raw)) {
      ended_ = true;
      return false;
    }
    if (!starts_gzip(raw.at_least(2))) {
      refuse(raw, first_ ? "gzip data are expected (by the name or the first bytes), but their header is missing or truncated"
                         : "trailing bytes that are no gzip member");
    }
    ::inflateReset(&stream_);
    between_members_ = first_ = false;
    return true;
  }

  // Tape blocks are filled up with zeros, which gzip itself ignores.
  static bool is_padding(RawFile& raw) {
    for (std::string_view bytes = raw.available(); !bytes.empty(); bytes = raw.available()) {
      const std::size_t zeros = std::min(bytes.find_first_not_of('\0'), bytes.size());
      raw.take(zeros);
      if (zeros < bytes.size()) return false;
    }
    return true;
  }

  std::size_t inflate_some(RawFile& raw, std::span<char> out) {
    const std::string_view bytes = raw.available();
    if (bytes.empty()) refuse(raw, "the gzip stream is truncated");
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), 1u << 30));
    const uInt room = stream_.avail_out;
    const int code = ::inflate(&stream_, Z_NO_FLUSH);
    raw.take(bytes.size() - stream_.avail_in);
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
      const bool sum = stream_.msg != nullptr && std::strstr(stream_.msg, "check") != nullptr;
      refuse(raw, fmt::format("the gzip stream is corrupt ({}{})", sum ? "its checksum is wrong: " : "",
                              stream_.msg != nullptr ? stream_.msg : "unknown reason"));
    }
    between_members_ = code == Z_STREAM_END;
    return room - stream_.avail_out;
  }

  z_stream stream_{};
  bool first_ = true, between_members_ = true, ended_ = false;
};

class Zstd {
 public:
  Zstd() : stream_(ZSTD_createDCtx(), &ZSTD_freeDCtx) {
    if (stream_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kLongestWindowLog);
  }

  std::size_t read(RawFile& raw, std::span<char> out) {
    ZSTD_outBuffer target{out.data(), out.size(), 0};
    while (target.pos == 0) {
      const std::string_view bytes = raw.available();
      // The decoder may still hold output, so it is asked once more after the last byte.
      if (bytes.empty() && drained_) {
        if (inside_frame_) refuse(raw, "the zstd stream is truncated");
        break;
      }
      ZSTD_inBuffer source{bytes.data(), bytes.size(), 0};
      const std::size_t code = ZSTD_decompressStream(stream_.get(), &target, &source);
      if (ZSTD_isError(code) != 0) fail(raw, code);
      drained_ = bytes.empty() || target.pos < target.size;
      raw.take(source.pos);
      if (!bytes.empty()) started_ = true;
      if (!bytes.empty() || code == 0) inside_frame_ = code != 0;
    }
    return target.pos;
  }

 private:
  [[noreturn]] void fail(RawFile& raw, std::size_t code) const {
    const bool behind_end = started_ && !inside_frame_ && is_unknown_frame(code);
    if (behind_end) refuse(raw, "trailing bytes that are no zstd frame");
    refuse(raw, fmt::format("the zstd stream is corrupt ({})", ZSTD_getErrorName(code)));
  }
  static bool is_unknown_frame(std::size_t code) {
    return std::string_view(ZSTD_getErrorName(code)).find("nknown frame descriptor") != std::string_view::npos;
  }

  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> stream_;
  bool started_ = false, inside_frame_ = true, drained_ = true;
};

}  // namespace

bool is_compressed(std::string_view name, std::string_view bytes) {
  return is_gzip(name, bytes) || starts_zstd(bytes) || name.ends_with(".zst");
}

struct ByteStream::State {
  State(const InputFile& file, std::function<void()> while_waiting) : raw(file, std::move(while_waiting)) {
    if (file.range) return;
    const std::string_view bytes = raw.at_least(4);
    if (is_gzip(file.name, bytes)) {
      gzip = std::make_unique<Gzip>();
    } else if (is_compressed(file.name, bytes)) {
      zstd = std::make_unique<Zstd>();
    }
  }

  std::size_t read_some(std::span<char> out) {
    if (gzip) return gzip->read(raw, out);
    if (zstd) return zstd->read(raw, out);
    const std::string_view bytes = raw.available();
    const std::size_t size = std::min(bytes.size(), out.size());
    std::memcpy(out.data(), bytes.data(), size);
    raw.take(size);
    return size;
  }

  RawFile raw;
  std::unique_ptr<Gzip> gzip;
  std::unique_ptr<Zstd> zstd;
};

ByteStream::ByteStream(const InputFile& file, std::function<void()> while_waiting)
    : state_(std::make_unique<State>(file, std::move(while_waiting))) {}
ByteStream::~ByteStream() = default;
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;

std::size_t ByteStream::read(std::span<char> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    const std::size_t got = state_->read_some(out.subspan(filled));
    if (got == 0) break;
    filled += got;
  }
  return filled;
}

std::int64_t ByteStream::consumed() const { return state_->raw.offset(); }

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/index_format.h"

#include <fmt/format.h>

#include <bit>
#include <limits>

#include "libcore/base/error.h"

namespace convoy::data {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian and copied as they are");

constexpr std::size_t kVersionOffset = 9, kTypeOffset = 17, kSequencesOffset = 18, kDocumentsOffset = 26;
constexpr const char* kForeignHint = "; a pair that another tool wrote is opened with --foreign";

[[noreturn]] void refuse(const IndexOrigin& origin, const std::string& field, std::size_t offset,
                         const std::string& expected, const std::string& found, const char* hint = "") {
  throw DataError(fmt::format("{}: {} at offset {}: expected {}, found {}{}", origin.index_name, field, offset, expected,
                              found, hint));
}

template <class T>
T header_value(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

void check_header(std::span<const std::byte> bytes, const IndexOrigin& origin) {
  if (bytes.size() < kIndexHeaderBytes) {
    throw DataError(fmt::format("{}: the file has {} bytes, a header alone has {}: it is cut, write the pair again",
                                origin.index_name, bytes.size(), kIndexHeaderBytes));
  }
  if (std::memcmp(bytes.data(), kIndexMagic.data(), kIndexMagic.size()) != 0) {
    refuse(origin, "magic", 0, "MMIDIDX\\0\\0", "other bytes", ": this is no dataset index");
  }
  const auto version = header_value<std::uint64_t>(bytes, kVersionOffset);
  if (version != kIndexVersion) refuse(origin, "version", kVersionOffset, "1", std::to_string(version));
  const auto code = header_value<std::uint8_t>(bytes, kTypeOffset);
  if (code != static_cast<std::uint8_t>(TokenType::kI32) && code != static_cast<std::uint8_t>(TokenType::kU16)) {
    refuse(origin, "dtype code", kTypeOffset, "4 (i32) or 8 (u16)", std::to_string(code));
  }
}

IndexView view_of(std::span<const std::byte> bytes, const IndexOrigin& origin) {
  const auto sequences = header_value<std::uint64_t>(bytes, kSequencesOffset);
  const auto entries = header_value<std::uint64_t>(bytes, kDocumentsOffset);
  const std::uint64_t body = bytes.size() - kIndexHeaderBytes;
  if (sequences > body / 12) {
    refuse(origin, "number of sequences", kSequencesOffset,
           fmt::format("at most {} in a file of {} bytes", body / 12, bytes.size()), std::to_string(sequences),
           ": the file is cut, or the number is corrupt");
  }
  if (entries > body / 8 || entries == 0) {
    refuse(origin, "entries of the document index", kDocumentsOffset,
           fmt::format("1 to {} in a file of {} bytes", body / 8, bytes.size()), std::to_string(entries));
  }
  const std::uint64_t size = kIndexHeaderBytes + 12 * sequences + 8 * entries;
  const bool has_modes = sequences > 0 && bytes.size() == size + sequences;
  if (bytes.size() != size && !(origin.foreign && has_modes)) {
    throw DataError(fmt::format("{}: the file has {} bytes, expected {} for {} sequences and {} document entries{}",
                                origin.index_name, bytes.size(), size, sequences, entries,
                                has_modes ? kForeignHint : ": it is cut or has trailing bytes"));
  }
  IndexView view;
  view.type = static_cast<TokenType>(header_value<std::uint8_t>(bytes, kTypeOffset));
  view.sequences = static_cast<std::int64_t>(sequences);
  view.documents = static_cast<std::int64_t>(entries) - 1;
  view.has_modes = has_modes;
  view.bytes = bytes;
  return view;
}

void check_sequences(IndexView& view, const IndexOrigin& origin) {
  const std::size_t lengths = kIndexHeaderBytes;
  const std::size_t pointers = lengths + 4 * static_cast<std::size_t>(view.sequences);
  const std::int64_t least = origin.foreign ? 0 : 1;
  const std::int64_t item = size_of(view.type);
  std::int64_t at = 0;
  for (std::int64_t s = 0; s < view.sequences; ++s) {
    const std::int64_t length = view.length(s);
    if (length < least) {
      refuse(origin, fmt::format("length of sequence {}", s), lengths + 4 * static_cast<std::size_t>(s),
             fmt::format("at least {} tokens", least), std::to_string(length),
             length == 0 ? kForeignHint : "");
    }
    if (view.pointer(s) != at) {
      refuse(origin, fmt::format("byte pointer of sequence {}", s), pointers + 8 * static_cast<std::size_t>(s),
             std::to_string(at), std::to_string(view.pointer(s)));
    }
    at += length * item;
  }
  view.tokens = at / item;
  if (static_cast<std::uint64_t>(at) != origin.tokens_bytes) {
    throw DataError(fmt::format("{}: the file has {} bytes, but {} describes {} tokens of {} bytes, {} bytes in all: {}",
                                origin.tokens_name, origin.tokens_bytes, origin.index_name, view.tokens, item, at,
                                origin.tokens_bytes < static_cast<std::uint64_t>(at)
                                    ? "it is cut; copy or encode it again"
                                    : "the two files do not belong together"));
  }
}

void check_documents(const IndexView& view, const IndexOrigin& origin) {
  const std::size_t offset = kIndexHeaderBytes + 12 * static_cast<std::size_t>(view.sequences);
  if (view.first_sequence(0) != 0) {
    refuse(origin, "first entry of the document index", offset, "0", std::to_string(view.first_sequence(0)));
  }
  for (std::int64_t d = 1; d <= view.documents; ++d) {
    const std::int64_t before = view.first_sequence(d - 1), here = view.first_sequence(d);
    const bool good = origin.foreign ? here >= before && here <= view.sequences : here == before + 1;
    if (good) continue;
    refuse(origin, fmt::format("entry {} of the document index", d), offset + 8 * static_cast<std::size_t>(d),
           origin.foreign ? fmt::format("{} to {}", before, view.sequences) : std::to_string(before + 1),
           std::to_string(here), origin.foreign ? "" : kForeignHint);
  }
  const std::int64_t last = view.first_sequence(view.documents);
  if (last != view.sequences) {
    refuse(origin, "last entry of the document index", offset + 8 * static_cast<std::size_t>(view.documents),
           fmt::format("the number of sequences, {}", view.sequences), std::to_string(last));
  }
  if (!origin.foreign && view.sequences == 0) {
    refuse(origin, "number of sequences", kSequencesOffset, "at least 1", "0", kForeignHint);
  }
}

}  // namespace

std::string_view name_of(TokenType type) { return type == TokenType::kU16 ? "u16" : "i32"; }

IndexView parse_index(std::span<const std::byte> bytes, const IndexOrigin& origin) {
  check_header(bytes, origin);
  IndexView view = view_of(bytes, origin);
  check_sequences(view, origin);
  check_documents(view, origin);
  return view;
}

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
// The bytes of PREFIX.idx: a checked view over them, and their writer. The arrays start at offset 34, so nothing in the file
// is aligned and every value is copied out. Format: docs/formats.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "libcore/data/indexed_dataset.h"

namespace convoy::data {

constexpr std::size_t kIndexHeaderBytes = 34;
constexpr std::string_view kIndexMagic{"MMIDIDX\0\0", 9};
constexpr std::uint64_t kIndexVersion = 1;

inline std::int64_t size_of(TokenType type) { return type == TokenType::kU16 ? 2 : 4; }
std::string_view name_of(TokenType type);  // "u16", "i32"

// A borrowed index, every invariant of it checked. Sequence s holds length(s) tokens from byte pointer(s) of .bin; document
// d holds the sequences [first_sequence(d), first_sequence(d + 1)).
class IndexView {
 public:
  std::int64_t length(std::int64_t s) const { return at<std::int32_t>(kIndexHeaderBytes, s); }
  std::int64_t pointer(std::int64_t s) const {
    return at<std::int64_t>(kIndexHeaderBytes + 4 * static_cast<std::size_t>(sequences), s);
  }
  std::int64_t first_sequence(std::int64_t d) const {
    return at<std::int64_t>(kIndexHeaderBytes + 12 * static_cast<std::size_t>(sequences), d);
  }

  TokenType type = TokenType::kU16;
  std::int64_t sequences = 0;
  std::int64_t documents = 0;  // entries of the document index, minus one
  std::int64_t tokens = 0;
  bool has_modes = false;  // S trailing bytes of a multimodal index, which we do not interpret
  std::span<const std::byte> bytes;

 private:
  template <class T>
  T at(std::size_t offset, std::int64_t i) const {
    T value;
    std::memcpy(&value, bytes.data() + offset + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    return value;
  }
};

// What the index is checked against, and what messages call the files.
struct IndexOrigin {
  std::string index_name;
  std::string tokens_name;
  std::uint64_t tokens_bytes = 0;  // size of .bin
  bool foreign = false;  // another tool's: empty sequences, documents of any number of sequences, mode bytes
};

// Throws DataError naming file, field, offset, expected and found unless every invariant holds.
IndexView parse_index(std::span<const std::byte> bytes, const IndexOrigin& origin);

}  // namespace convoy::data

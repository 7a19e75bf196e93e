// SPDX-License-Identifier: Apache-2.0
// Megatron's dataset pair, byte for byte: PREFIX.bin (tokens) and PREFIX.idx (lengths, pointers, documents), with our commit
// marker PREFIX.meta.json beside it. Format: docs/formats.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libcore/base/file.h"

namespace convoy::data {

// Stored on disk: never renumber.
enum class TokenType : std::uint8_t { kI32 = 4, kU16 = 8 };

// Megatron's rule: u16 below a vocabulary of 65,500, else i32.
TokenType token_type_for(std::int64_t vocabulary);

// What PREFIX.meta.json says that a reader needs.
struct DatasetMeta {
  std::int64_t vocabulary = 0;
  std::string tokenizer_sha256;
  std::optional<std::int32_t> eos_id;  // present if --append-eos put it after every document
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
  std::optional<std::int64_t> text_bytes;  // of the pair's documents; older metadata do not say
  std::string token_type;  // "u16" or "i32"
  std::int64_t bin_bytes = 0;
  std::int64_t idx_bytes = 0;
  std::string bin_xxh3_128;  // hexadecimal
  std::string idx_xxh3_128;
};

// PREFIX.bin, PREFIX.idx, PREFIX.meta.json. A prefix may hold dots ("corpus.train").
Path bin_path(const Path& prefix);
Path idx_path(const Path& prefix);
Path meta_path(const Path& prefix);

// Reads and checks PREFIX.meta.json; DataError names file and key. The file must exist.
DatasetMeta read_meta(const Path& prefix);

// A pair opened for reading, both files mapped. Every invariant that costs less than reading .bin is checked on opening:
// magic, version, dtype, sizes of both files against the counts, pointers, document index. DataError names file, field,
// expected and found.
class IndexedDataset {
 public:
  // Without `foreign` a missing meta is a DataError: the pair was never committed. A missing pair is a ConfigError.
  IndexedDataset(const Path& prefix, bool foreign);
  ~IndexedDataset();
  IndexedDataset(IndexedDataset&&) noexcept;

  const Path& prefix() const;
  std::int64_t tokens() const;
  std::int64_t sequences() const;
  std::int64_t documents() const;
  TokenType token_type() const;
  const std::optional<DatasetMeta>& meta() const;

  std::int64_t sequence_length(std::int64_t s) const;

  // Tokens [begin, begin + out.size()) of the whole stream, widened. A DataError if an id is negative.
  void read(std::int64_t begin, std::span<std::int32_t> out) const;
  // They will be read soon: the disk may begin. Does not wait.
  void prefetch(std::int64_t begin, std::int64_t count) const;
  // They were read and are not needed soon: their memory is given back. Reading them again is allowed.
  void release(std::int64_t begin, std::int64_t count) const;
  // [begin, end) of document d in the stream.
  std::pair<std::int64_t, std::int64_t> document(std::int64_t d) const;
  // The largest id of the whole stream (reads all of .bin once).
  std::int32_t largest_id() const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace convoy::data

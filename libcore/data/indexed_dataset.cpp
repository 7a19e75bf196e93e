// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/indexed_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "libcore/base/error.h"
#include "libcore/base/prefetch.h"
#include "libcore/data/index_format.h"

namespace convoy::data {
namespace {

constexpr std::int64_t kU16Vocabulary = 65500;  // megatron-core, DType.optimal_dtype

void require(const Path& path, const Path& prefix) {
  if (std::filesystem::exists(path)) return;
  throw ConfigError(fmt::format("{}: no such file: a dataset PREFIX names PREFIX.bin and PREFIX.idx, and PREFIX is \"{}\"",
                                path.string(), prefix.string()));
}

std::optional<DatasetMeta> meta_of(const Path& prefix, bool foreign) {
  if (std::filesystem::exists(meta_path(prefix))) return read_meta(prefix);
  if (foreign) return std::nullopt;
  throw DataError(fmt::format("{}: missing: the pair was never committed (an interrupted run?) or another tool wrote it; "
                              "encode it again, or pass --foreign (convoy-train: --foreign-data) to open it as it is",
                              meta_path(prefix).string()));
}

void compare(const Path& path, const char* key, std::int64_t says, std::int64_t found) {
  if (says == found) return;
  throw DataError(fmt::format("{}: \"{}\" is {}, but the pair has {}: the files do not belong together", path.string(), key,
                              says, found));
}

}  // namespace

struct IndexedDataset::Content {
  Path prefix;
  std::optional<DatasetMeta> meta;
  MappedFile bin, idx;
  IndexView index;

  const std::byte* at(std::int64_t token) const { return bin.bytes().data() + token * size_of(index.type); }
};

namespace {

template <class T>
std::int64_t widen(const std::byte* from, std::span<std::int32_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    T id;
    std::memcpy(&id, from + i * sizeof(T), sizeof(T));
    out[i] = static_cast<std::int32_t>(id);
    if constexpr (std::is_signed_v<T>) {
      if (id < 0) return static_cast<std::int64_t>(i);
    }
  }
  return -1;
}

}  // namespace

TokenType token_type_for(std::int64_t vocabulary) {
  return vocabulary < kU16Vocabulary ? TokenType::kU16 : TokenType::kI32;
}

IndexedDataset::IndexedDataset(const Path& prefix, bool foreign) {
  require(bin_path(prefix), prefix);
  require(idx_path(prefix), prefix);
  content_.reset(new Content{prefix, meta_of(prefix, foreign), MappedFile(bin_path(prefix), "dataset tokens"),
                             MappedFile(idx_path(prefix), "dataset index"), {}});
  Content& c = *content_;
  c.index = parse_index(c.idx.bytes(), {.index_name = idx_path(prefix).string(),
                                        .tokens_name = bin_path(prefix).string(),
                                        .tokens_bytes = c.bin.bytes().size(),
                                        .foreign = foreign});
  if (!c.meta) return;
  const Path path = meta_path(prefix);
  compare(path, "bin_bytes", c.meta->bin_bytes, static_cast<std::int64_t>(c.bin.bytes().size()));
  compare(path, "idx_bytes", c.meta->idx_bytes, static_cast<std::int64_t>(c.idx.bytes().size()));
  compare(path, "documents", c.meta->documents, c.index.documents);
  compare(path, "tokens", c.meta->tokens, c.index.tokens);
  if (c.meta->token_type != name_of(c.index.type)) {
    throw DataError(fmt::format("{}: \"dtype\" is {}, but the index says {}: the files do not belong together", path.string(),
                                c.meta->token_type, name_of(c.index.type)));
  }
}

IndexedDataset::~IndexedDataset() = default;
IndexedDataset::IndexedDataset(IndexedDataset&&) noexcept = default;

const Path& IndexedDataset::prefix() const { return content_->prefix; }
std::int64_t IndexedDataset::tokens() const { return content_->index.tokens; }
std::int64_t IndexedDataset::sequences() const { return content_->index.sequences; }
std::int64_t IndexedDataset::documents() const { return content_->index.documents; }
TokenType IndexedDataset::token_type() const { return content_->index.type; }
const std::optional<DatasetMeta>& IndexedDataset::meta() const { return content_->meta; }
std::int64_t IndexedDataset::sequence_length(std::int64_t s) const { return content_->index.length(s); }

void IndexedDataset::read(std::int64_t begin, std::span<std::int32_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  check(begin >= 0 && count <= tokens() && begin <= tokens() - count, "a read must lie within the token stream");
  if (out.empty()) return;
  const bool narrow = token_type() == TokenType::kU16;
  const std::int64_t bad = narrow ? widen<std::uint16_t>(content_->at(begin), out) : widen<std::int32_t>(content_->at(begin), out);
  if (bad < 0) return;
  throw DataError(fmt::format("{}: token {} at offset {}: expected an id of at least 0, found {}: the file is corrupt",
                              bin_path(prefix()).string(), begin + bad, (begin + bad) * 4,
                              out[static_cast<std::size_t>(bad)]));
}

void IndexedDataset::prefetch(std::int64_t begin, std::int64_t count) const {
  check(begin >= 0 && count >= 0 && begin <= tokens() - count, "a read must lie within the token stream");
  convoy::prefetch({content_->at(begin), static_cast<std::size_t>(count * size_of(token_type()))});
}

void IndexedDataset::release(std::int64_t begin, std::int64_t count) const {
  check(begin >= 0 && count >= 0 && begin <= tokens() - count, "what is given back lies within the token stream");
  content_->bin.release({content_->at(begin), static_cast<std::size_t>(count * size_of(token_type()))});
}

std::pair<std::int64_t, std::int64_t> IndexedDataset::document(std::int64_t d) const {
  check(d >= 0 && d < documents(), "a document's number must be below the number of documents");
  const IndexView& index = content_->index;
  const auto token_of = [&](std::int64_t s) {
    return s == index.sequences ? index.tokens : index.pointer(s) / size_of(index.type);
  };
  return {token_of(index.first_sequence(d)), token_of(index.first_sequence(d + 1))};
}

std::int32_t IndexedDataset::largest_id() const {
  constexpr std::int64_t kBlock = 1 << 16;
  std::vector<std::int32_t> block(static_cast<std::size_t>(std::min(kBlock, tokens())));
  std::int32_t largest = 0;
  for (std::int64_t at = 0; at < tokens(); at += kBlock) {
    const std::span<std::int32_t> part(block.data(), static_cast<std::size_t>(std::min(kBlock, tokens() - at)));
    read(at, part);
    largest = std::max(largest, *std::max_element(part.begin(), part.end()));
    release(at, static_cast<std::int64_t>(part.size()));
  }
  return largest;
}

}  // namespace convoy::data

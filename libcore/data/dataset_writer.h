// SPDX-License-Identifier: Apache-2.0
// Writes a dataset pair document by document and commits it: all files are complete on disk before any has its final name,
// so that a full disk keeps an older pair whole, and the metadata, whose presence says that the pair is whole, come last.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libcore/base/checksum.h"
#include "libcore/base/file.h"
#include "libcore/data/indexed_dataset.h"

namespace convoy::data {

struct PairSums {
  std::int64_t bin_bytes = 0;
  std::int64_t idx_bytes = 0;
  std::string bin_xxh3_128;
  std::string idx_xxh3_128;
};

class DatasetWriter {
 public:
  // Throws EnvironmentError at once if the place cannot be written.
  DatasetWriter(Path prefix, TokenType type);

  // One document, at least one token. DataError beyond 2^31 - 1 documents, or tokens in one of them.
  void add(std::span<const std::int32_t> ids);

  const Path& prefix() const { return prefix_; }
  TokenType type() const { return type_; }
  std::int64_t documents() const { return static_cast<std::int64_t>(lengths_.size()); }
  std::int64_t tokens() const { return tokens_; }
  std::int32_t largest_id() const { return largest_id_; }

  // Completes the pair and PREFIX.meta.json, with what `metadata` returns, on disk under temporary names. On an error an older
  // pair of this name is as it was.
  void prepare(const std::function<std::string(const PairSums&)>& metadata);

  // Gives what is prepared its names. An older pair loses its metadata first, so that no crash leaves old metadata beside new
  // tokens. On an error nothing of the pair keeps its final name.
  void publish();

  // Both, for a pair alone. Of several pairs each is prepared before the first is published.
  void commit(const std::function<std::string(const PairSums&)>& metadata);

 private:
  void write_index(AtomicFile& file, Xxh3Stream& sum) const;

  Path prefix_;
  TokenType type_;
  AtomicFile bin_;
  std::optional<AtomicFile> idx_, meta_;  // from prepare() on
  Xxh3Stream bin_sum_;
  std::vector<std::int32_t> lengths_;
  std::vector<std::uint16_t> narrow_;
  std::int64_t tokens_ = 0;
  std::int32_t largest_id_ = -1;
};

// Refuses (ConfigError) to replace tokens that have no metadata of ours: they may be another tool's only copy. An index
// alone is what an interrupted commit leaves.
void check_replaceable(const Path& prefix);

// Removes PREFIX.meta.json, if it is there: what is left counts as never committed.
void uncommit(const Path& prefix);

}  // namespace convoy::data

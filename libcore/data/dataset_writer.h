// SPDX-License-Identifier: Apache-2.0
// Writes a dataset pair document by document and commits it: all files are complete on disk before any has its final name,
// so that a full disk keeps an older pair whole, and the metadata, whose presence says that the pair is whole, come last.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
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

// One pair of a run.
struct WrittenPair {
  std::size_t split = 0;  // index into the run's splits; 0 without splits
  std::int64_t documents = 0, tokens = 0;
  PairSums sums = {};
  std::string hashes_xxh3_128 = {};  // of PREFIX.hashes; empty where there are none
};

// Calls its argument with the length, in tokens, of each document in order.
using EachLength = std::function<void(const std::function<void(std::int32_t)>& take)>;

// The three files of a pair under their temporary names, and their commit.
class PairFiles {
 public:
  // Throws EnvironmentError at once if the place cannot be written.
  PairFiles(Path prefix, TokenType type);

  void append(std::span<const std::byte> tokens);  // to .bin

  const Path& prefix() const { return prefix_; }
  TokenType type() const { return type_; }

  // Completes the pair of `documents` documents and PREFIX.meta.json, with what `metadata` returns, on disk under temporary
  // names. `lengths` is gone through twice. On an error an older pair of this name is as it was.
  void prepare(std::int64_t documents, const EachLength& lengths, const std::function<std::string(const PairSums&)>& metadata);

  // Gives what is prepared its names. An older pair is withdrawn first, so that no crash leaves old metadata beside new
  // tokens. On an error nothing of the pair keeps its final name.
  void publish();

 private:
  Path prefix_;
  TokenType type_;
  AtomicFile bin_;
  std::optional<AtomicFile> idx_, meta_;  // from prepare() on
  Xxh3Stream bin_sum_;
};

class DatasetWriter {
 public:
  DatasetWriter(Path prefix, TokenType type) : files_(std::move(prefix), type) {}

  // One document, at least one token. DataError beyond 2^31 - 1 documents, or tokens in one of them.
  void add(std::span<const std::int32_t> ids);
  // The same in parts: begin() with the document's tokens, then all of them. Nothing else comes between.
  void begin(std::int64_t tokens);
  void add_part(std::span<const std::int32_t> ids);

  const Path& prefix() const { return files_.prefix(); }
  TokenType type() const { return files_.type(); }
  std::int64_t documents() const { return static_cast<std::int64_t>(lengths_.size()); }
  std::int64_t tokens() const { return tokens_; }
  std::int32_t largest_id() const { return largest_id_; }

  // As PairFiles does.
  void prepare(const std::function<std::string(const PairSums&)>& metadata);
  void publish() { files_.publish(); }

  // Both, for a pair alone. Of several pairs each is prepared before the first is published.
  void commit(const std::function<std::string(const PairSums&)>& metadata);

 private:
  void append_narrow(std::span<const std::int32_t> ids);

  PairFiles files_;
  std::vector<std::int32_t> lengths_;
  std::vector<std::uint16_t> narrow_;
  std::int64_t tokens_ = 0;
  std::int64_t missing_ = 0;  // tokens of the last document that are to come
  std::int32_t largest_id_ = -1;
};

constexpr std::size_t kMostDocuments = std::numeric_limits<std::int32_t>::max();  // in a pair; in Megatron's readers an i32 counts them
// DataError if a document has more tokens than that.
void check_tokens(std::int64_t tokens, const Path& prefix);

// Refuses (ConfigError) to replace tokens that have no metadata of ours: they may be another tool's only copy. What an interrupted
// commit of ours leaves is an index alone, or tokens beside metadata that still have their temporary name: the latter are removed.
void check_replaceable(const Path& prefix);

// Removes PREFIX.bin, then PREFIX.meta.json, if they are there: at no instant are there tokens without metadata.
void withdraw(const Path& prefix);

// Removes PREFIX.meta.json, if it is there: what is left counts as never committed.
void uncommit(const Path& prefix);

// Removes all of a pair, its index last.
void remove_pair(const Path& prefix);

}  // namespace convoy::data

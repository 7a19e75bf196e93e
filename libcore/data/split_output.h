// SPDX-License-Identifier: Apache-2.0
// One pair of a run as its documents come, and what --dedup needs of them. Only at the end is it known what repeats: the keys wait
// in a scratch file beside the pair, and under drop so do the tokens, which are copied to the pair without the duplicates. A shard
// knows a part of the documents alone: it writes all of them, and its keys to PREFIX.hashes for the merge.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libcore/base/scratch_file.h"
#include "libcore/data/dataset_writer.h"
#include "libcore/data/duplicates.h"
#include "libcore/data/encode_options.h"
#include "libcore/data/text_key.h"

namespace convoy::data {

// Documents that repeat an earlier one, and what of them was left out of the pair.
struct FoundDuplicates {
  std::int64_t documents = 0;
  std::int64_t dropped_documents = 0, dropped_tokens = 0, dropped_text_bytes = 0;
};

class SplitOutput {
 public:
  // Throws EnvironmentError at once if the place cannot be written.
  SplitOutput(const Path& prefix, TokenType type, const EncodeOptions& options, bool is_shard);

  void add(std::span<const std::int32_t> ids, const TextKey& key);
  // The same in parts: begin() with the document's tokens, then all of them.
  void begin(std::int64_t tokens, const TextKey& key);
  void add_part(std::span<const std::int32_t> ids);

  // After the last document, and before prepare(): finds the duplicates, and drops them if that is asked for.
  FoundDuplicates finish(const std::function<void()>& poll);

  // As DatasetWriter does, of a pair with documents.
  WrittenPair prepare(std::size_t split, const std::function<std::string(const PairSums&)>& metadata);
  // Gives what is prepared its names; without documents, removes what has them.
  void publish();

  const DatasetWriter& writer() const { return writer_; }
  std::int64_t text_bytes() const { return text_bytes_; }  // of the pair's documents

 private:
  void copy(const Duplicates& duplicates, FoundDuplicates& found, const std::function<void()>& poll);

  DatasetWriter writer_;
  std::int64_t memory_ = 0;
  bool is_shard_ = false;
  std::optional<ScratchFile> keys_, tokens_;  // tokens_: of each document its length (i32), then its ids as they are in .bin
  std::optional<AtomicFile> hashes_;
  std::optional<Xxh3Stream> hashes_sum_;
  std::vector<std::uint16_t> narrow_;
  std::int64_t text_bytes_ = 0;
};

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
// How a corpus is divided over the elements of a job array: each shard reads a run of byte ranges, and all shards, one after
// another, read every byte of the inputs once, in the inputs' order. So the shards' pairs, one after another, are the pair of
// one run over everything. A plan is frozen: it holds all that an element needs, and its id is a sum over it. Pure; the files
// are read by plan_inputs.h. Format of plan.json: docs/formats.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/data/encode_options.h"
#include "libcore/data/input_list.h"

namespace convoy::data {

struct PlannedInput {
  std::string name;  // as the user spelled it, for messages and metadata
  std::string path;  // absolute
  std::int64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since the epoch
  std::string ends_xxh3_128;     // of the first and the last 64 KiB
  bool operator==(const PlannedInput&) const = default;
};

struct ShardPiece {
  std::int64_t input = 0;
  ByteRange range;
  bool operator==(const ShardPiece&) const = default;
};

using Shard = std::vector<ShardPiece>;  // none: the shard is empty, which is legal

struct ShardPlan {
  std::string id;         // see plan_id()
  EncodeOptions options;  // but inputs, threads, verify_every and out, which are not the plan's; tokenizer as the user spelled it
  std::string tokenizer_path;  // absolute
  std::string tokenizer_sha256;
  // Of an element, where it is not told otherwise; no part of the id.
  std::optional<std::int64_t> threads, verify_every;
  std::vector<PlannedInput> inputs;
  std::vector<Shard> shards;
};

constexpr std::int64_t kMostShards = 1'000'000;

// What cut_shards() has to know of an input.
struct CuttableInput {
  std::int64_t bytes = 0;
  bool divisible = false;  // between records; a compressed file, or one that is a document, is not
};

// Looks for the next place to cut in text that comes block by block, from the byte before the wanted offset on: behind the
// first newline, or behind the first blank line that begins after one.
class RecordSearch {
 public:
  explicit RecordSearch(DocumentSeparator separator) : by_blank_line_(separator == DocumentSeparator::kBlankLine) {}
  // Bytes of `block` up to the place; none if it lies behind the block.
  std::optional<std::size_t> find(std::string_view block);

 private:
  bool by_blank_line_;
  bool blank_ = false;  // the line at hand, as far as it was seen
};

// Where a record of input `input` begins at or after `offset`, or the input's end. 0 < offset < bytes.
using NextRecord = std::function<std::int64_t(std::size_t input, std::int64_t offset)>;

// Cuts as near as the inputs let it to `shards` parts of the same number of bytes: a divisible input at the next record, another
// one at its nearer end.
std::vector<Shard> cut_shards(const std::vector<CuttableInput>& inputs, std::int64_t shards, const NextRecord& next_record);

// DataError, naming `where`, unless the shards read every byte of every input once and in order.
void check_shards(const std::vector<PlannedInput>& inputs, const std::vector<Shard>& shards, std::string_view where);

std::string plan_id(const ShardPlan& plan);    // XXH3-128 of what decides the shards' bytes
std::string plan_text(const ShardPlan& plan);  // plan.json
// DataError naming `where` and what is wrong: no JSON, a field that lacks or has an illegal value, shards that check_shards()
// refuses, an id that does not belong to the rest.
ShardPlan parse_plan(std::string_view text, std::string_view where);

// Ascending numbers as Slurm's --array takes them: "3,17,40-42".
std::string array_spec(const std::vector<std::int64_t>& numbers);

}  // namespace convoy::data

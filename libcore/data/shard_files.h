// SPDX-License-Identifier: Apache-2.0
// The files of a shard, all beside plan.json: the pairs shard-00003[.NAME].{bin,idx,meta.json} that have documents,
// shard-00003[.NAME].hashes under --dedup, shard-00003.quarantine.jsonl, and the record shard-00003.json, which is written last and is the commit marker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/data/dataset_writer.h"
#include "libcore/data/encode_report.h"
#include "libcore/data/shard_plan.h"

namespace convoy::data {

struct ShardRecord {
  std::string plan = {};  // its id
  std::int64_t shard = 0;
  EncodeReport report = {};
  std::vector<WrittenPair> pairs = {};
  std::vector<std::int64_t> lines = {};  // of each piece; 0 where a piece is a document
  std::int64_t quarantine_bytes = 0;
};

std::string record_text(const ShardRecord& record);
// DataError naming `where` and the field.
ShardRecord parse_record(std::string_view text, std::string_view where);

Path shard_prefix(const Path& plan_file, std::int64_t shard);  // ".../shard-00003"
Path record_path(const Path& prefix);                          // ".../shard-00003.json"

struct ShardState {
  std::optional<ShardRecord> record;  // of a complete shard
  std::string flaw;                   // why what is there does not count; empty if nothing is there
  bool complete() const { return record.has_value(); }
};

// Looks at record, metadata, sizes, and whether their counts agree; not at the tokens.
ShardState look_at_shard(const ShardPlan& plan, const Path& plan_file, std::int64_t shard);

// The shards that are not complete, ascending, each with its flaw.
struct MissingShard {
  std::int64_t shard = 0;
  std::string flaw;
};
std::vector<MissingShard> missing_shards(const ShardPlan& plan, const Path& plan_file);
std::string array_spec(const std::vector<MissingShard>& missing);

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/shard_merge.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/data/duplicates.h"
#include "libcore/data/encode_checks.h"
#include "libcore/data/encode_output.h"
#include "libcore/data/encoder.h"
#include "libcore/data/json_fields.h"
#include "libcore/data/plan_inputs.h"
#include "libcore/data/shard_files.h"
#include "libcore/data/text_key.h"

namespace convoy::data {
namespace {

[[noreturn]] void refuse_missing(const ShardPlan& plan, const Path& plan_file, const std::vector<MissingShard>& missing) {
  constexpr std::size_t kShown = 3;
  std::string flaws;
  std::size_t shown = 0;
  for (const MissingShard& shard : missing) {
    if (!shard.flaw.empty() && shown++ < kShown) flaws += fmt::format("\nshard {}: {}", shard.shard, shard.flaw);
  }
  const std::string path = std::filesystem::absolute(plan_file).string();
  throw DataError(fmt::format("{}: {} of {} shards are missing: {}; encode them first: sbatch --array={} slurm/preprocess.sbatch --plan '{}', "
                              "or one by one: convoy-preprocess encode --plan '{}' --shard {}{}",
                              plan_file.string(), missing.size(), plan.shards.size(), array_spec(missing), array_spec(missing), path, path,
                              missing.front().shard, flaws));
}

// The records of all shards; refuses unless all are complete.
std::vector<ShardRecord> records_of(const ShardPlan& plan, const Path& plan_file) {
  std::vector<ShardRecord> records;
  std::vector<MissingShard> missing;
  for (std::int64_t shard = 0; shard < static_cast<std::int64_t>(plan.shards.size()); ++shard) {
    ShardState state = look_at_shard(plan, plan_file, shard);
    if (state.complete()) {
      records.push_back(std::move(*state.record));
    } else {
      missing.push_back({shard, state.flaw});
    }
  }
  if (!missing.empty()) refuse_missing(plan, plan_file, missing);
  return records;
}

// What has a shard's name beside the plan is a file of a shard, be it empty or not encoded yet.
void check_target(const Path& plan_file, const Path& out) {
  const auto folder_of = [](const Path& path) { return std::filesystem::weakly_canonical(std::filesystem::absolute(path).parent_path()); };
  if (!out.filename().string().starts_with("shard-") || folder_of(out) != folder_of(plan_file)) return;
  throw ConfigError(fmt::format("--out {}: files of that name beside {} are those of its shards; choose another name or folder", out.string(),
                                plan_file.string()));
}

EncodeReport report_of(const ShardPlan& plan, const std::vector<ShardRecord>& records, const Path& out) {
  EncodeReport report{.dedup = plan.options.dedup, .dtype = records.front().report.dtype};
  for (const ShardRecord& record : records) add_counts(record.report, report);
  for (const Path& prefix : pair_prefixes(out, plan.options.splits)) report.outputs.push_back(prefix.string());
  if (plan.options.max_errors && report.bad_records > *plan.options.max_errors) {
    throw DataError(fmt::format("{} bad records in all shards, more than --max-errors {} of the plan; nothing is written",
                                report.bad_records, *plan.options.max_errors));
  }
  return report;
}

std::vector<InputFile> whole_inputs(const ShardPlan& plan) {
  std::vector<InputFile> files;
  for (const PlannedInput& input : plan.inputs) files.push_back({.name = input.name, .bytes = input.bytes});
  return files;
}

// The prefixes of the shards' pairs of one split.
std::vector<Path> pairs_of(const ShardPlan& plan, const Path& plan_file, const std::vector<ShardRecord>& records, std::size_t split) {
  std::vector<Path> prefixes;
  for (const ShardRecord& record : records) {
    for (const WrittenPair& pair : record.pairs) {
      if (pair.split == split) prefixes.push_back(pair_prefixes(shard_prefix(plan_file, record.shard), plan.options.splits)[split]);
    }
  }
  return prefixes;
}

// The keys of all documents of one split, in the plan's order.
EachKey keys_of_split(const ShardPlan& plan, const Path& plan_file, const std::vector<ShardRecord>& records, std::size_t split) {
  std::vector<KeyFile> files;
  for (const ShardRecord& record : records) {
    for (const WrittenPair& pair : record.pairs) {
      if (pair.split != split) continue;
      const Path prefix = pair_prefixes(shard_prefix(plan_file, record.shard), plan.options.splits)[split];
      files.push_back({hashes_path(prefix), pair.documents, pair.hashes_xxh3_128});
    }
  }
  return [files = std::move(files)](const std::function<void(const TextKey&)>& take) {
    for (const KeyFile& file : files) for_each_key(file, take);
  };
}

// A row of a shard counts lines from the start of its piece; of the merged list, from the start of the file.
void append_quarantine(const Path& path, const std::vector<std::int64_t>& lines_before, AtomicFile& out) {
  const JsonFile file{path.string(), "encode the shard again"};
  std::ifstream rows(path, std::ios::binary);
  if (!rows) throw EnvironmentError(fmt::format("cannot open list of bad records '{}': {}", path.string(), std::strerror(errno)));
  for (std::string row; std::getline(rows, row);) {
    const nlohmann::json json = parse_object(row, file);
    const auto piece = static_cast<std::size_t>(count_field(json, "piece", file));
    if (piece >= lines_before.size()) throw DataError(fmt::format("{}: \"piece\" is {}, expected below {}: {}", file.name, piece, lines_before.size(), file.remedy));
    out.write(JsonObject()
                  .add("file", text_field(json, "file", file))
                  .add("line", lines_before[piece] + count_field(json, "line", file))
                  .add("kind", text_field(json, "kind", file))
                  .add("reason", text_field(json, "reason", file))
                  .text() +
              "\n");
  }
  if (rows.bad()) throw EnvironmentError(fmt::format("cannot read list of bad records '{}': {}", path.string(), std::strerror(errno)));
}

std::int64_t dropped_tokens(const std::vector<Path>& prefixes, const Duplicates& duplicates) {
  std::int64_t tokens = 0, document = 0;
  for (const Path& prefix : prefixes) {
    const IndexedDataset dataset(prefix, false);
    for (std::int64_t s = 0; s < dataset.sequences(); ++s) {
      if (duplicates.contains(document++)) tokens += dataset.sequence_length(s);
    }
  }
  return tokens;
}

// What a run over all inputs would say of them.
void count_duplicates(const Duplicates& duplicates, std::int64_t tokens, bool drop, PairMetadata& pair, EncodeReport& report) {
  report.duplicates += duplicates.documents;
  if (!drop) return;
  report.documents -= duplicates.documents;
  report.tokens -= tokens;
  report.bytes_text -= duplicates.text_bytes;
  pair.documents -= duplicates.documents;
  pair.tokens -= tokens;
  if (pair.text_bytes) *pair.text_bytes -= duplicates.text_bytes;
}

AtomicFile merged_quarantine(const ShardPlan& plan, const Path& plan_file, const std::vector<ShardRecord>& records, const Path& out) {
  AtomicFile file(quarantine_path(out));
  std::int64_t lines = 0;  // of the input at hand, before the piece at hand
  for (const ShardRecord& record : records) {
    const Shard& shard = plan.shards[static_cast<std::size_t>(record.shard)];
    std::vector<std::int64_t> lines_before;
    for (std::size_t i = 0; i < shard.size(); ++i) {
      if (shard[i].range.begin == 0) lines = 0;
      lines_before.push_back(lines);
      lines += record.lines[i];
    }
    append_quarantine(quarantine_path(shard_prefix(plan_file, record.shard)), lines_before, file);
  }
  file.seal();
  return file;
}

}  // namespace

EncodeReport merge_shards(const Path& plan_file, const Path& out, const MergeHooks& hooks) {
  const ShardPlan plan = read_plan(plan_file);
  check_target(plan_file, out);
  if (plan.options.dedup != Dedup::kOff) check_dedup_memory(plan.options.dedup_memory);
  const std::vector<ShardRecord> records = records_of(plan, plan_file);
  EncodeReport report = report_of(plan, records, out);
  const std::vector<Path> outs = pair_prefixes(out, plan.options.splits);
  std::vector<std::vector<Path>> sources;
  std::vector<std::int64_t> documents(outs.size());
  for (std::size_t split = 0; split < outs.size(); ++split) sources.push_back(pairs_of(plan, plan_file, records, split));
  for (const ShardRecord& record : records) {
    for (const WrittenPair& pair : record.pairs) documents[pair.split] += pair.documents;
  }
  check_documents(report, plan.options.splits, documents, plan.inputs.size() == 1 ? plan.inputs[0].name : fmt::format("{} files", plan.inputs.size()));
  check_place(out, plan.options.splits);

  std::vector<PairMetadata> metadata;
  for (const std::vector<Path>& source : sources) {
    metadata.push_back(merged_metadata(compatible_metadata(source)));
    metadata.back().sources = sources_json(whole_inputs(plan));
  }
  std::vector<Duplicates> duplicates(outs.size());
  const bool drop = plan.options.dedup == Dedup::kDrop;
  for (std::size_t split = 0; split < outs.size() && plan.options.dedup != Dedup::kOff; ++split) {
    const DedupSpace space{plan.options.dedup_memory, outs[split], hooks.poll};
    duplicates[split] = find_duplicates(keys_of_split(plan, plan_file, records, split), documents[split], space);
    count_duplicates(duplicates[split], drop ? dropped_tokens(sources[split], duplicates[split]) : 0, drop, metadata[split], report);
  }
  std::vector<PairFiles> pairs;
  for (std::size_t split = 0; split < outs.size(); ++split) {
    metadata[split].report = report;
    pairs.push_back(merged_pair(sources[split], outs[split], metadata[split], hooks, drop ? &duplicates[split] : nullptr));
  }
  std::optional<AtomicFile> quarantine;
  if (plan.options.on_error == OnError::kQuarantine) quarantine.emplace(merged_quarantine(plan, plan_file, records, out));
  if (hooks.poll) hooks.poll();
  if (quarantine) quarantine->commit();
  for (const PairFiles& pair : pairs) withdraw(pair.prefix());
  if (!quarantine) remove_quarantine(out);
  for (PairFiles& pair : pairs) pair.publish();
  return report;
}

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/shard_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/log.h"
#include "libcore/base/temporary_name.h"
#include "libcore/data/encode_checks.h"
#include "libcore/data/encode_output.h"
#include "libcore/data/plan_inputs.h"
#include "libcore/data/shard_files.h"

namespace convoy::data {
namespace {

void check_number(const ShardPlan& plan, const Path& plan_file, std::int64_t shard) {
  const auto shards = static_cast<std::int64_t>(plan.shards.size());
  if (shard >= 0 && shard < shards) return;
  throw ConfigError(fmt::format("--shard {}: {} has {} shards, 0 to {}; an array of all of them is --array=0-{} and starts at 0", shard,
                                plan_file.string(), shards, shards - 1, shards - 1));
}

Tokenizer planned_tokenizer(const ShardPlan& plan) {
  const std::string name = plan.options.tokenizer.string();
  if (!std::filesystem::exists(plan.tokenizer_path)) {
    throw DataError(fmt::format("{}: the tokenizer is gone since it was planned: expected {} with the sha256 {}; bring it back, or make a "
                                "new plan",
                                name, plan.tokenizer_path, plan.tokenizer_sha256));
  }
  Tokenizer tokenizer(plan.tokenizer_path, plan.options.split_special_tokens);
  if (tokenizer.sha256() == plan.tokenizer_sha256) return tokenizer;
  throw DataError(fmt::format("{}: the tokenizer changed since it was planned: expected the sha256 {}, found {}; bring the old one back, or "
                              "make a new plan",
                              name, plan.tokenizer_sha256, tokenizer.sha256()));
}

EncodeOptions options_of(const ShardPlan& plan, const Path& prefix, const ElementOptions& own) {
  EncodeOptions options = plan.options;
  options.out = prefix;
  options.threads = own.threads    ? *own.threads
                    : plan.threads ? static_cast<int>(*plan.threads)
                                   : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  options.verify_every = own.verify_every.value_or(plan.verify_every.value_or(kVerifyEvery));
  return options;
}

std::string origin_text(const ShardPlan& plan, std::int64_t shard) {
  return JsonObject().add("id", plan.id).add("shard", shard).add("shards", static_cast<std::int64_t>(plan.shards.size())).text();
}

void remove_record(const Path& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) throw EnvironmentError(fmt::format("cannot remove '{}': {}", path.string(), error.message()));
}

// Gives what is prepared its names, the record last; unless another process of this shard was faster: then nothing of its work
// is touched.
ShardResult commit(const ShardPlan& plan, const Path& plan_file, std::int64_t shard, EncodeOutput& output) {
  AtomicFile record(record_path(shard_prefix(plan_file, shard)));
  record.write(record_text({.plan = plan.id,
                            .shard = shard,
                            .report = output.report(),
                            .pairs = output.pairs(),
                            .lines = output.lines(),
                            .quarantine_bytes = output.quarantine_bytes()}));
  record.seal();
  if (ShardState state = look_at_shard(plan, plan_file, shard); state.complete()) return {std::move(state.record->report), true};
  remove_record(record.path());
  output.publish();
  record.commit();
  return {output.report(), false};
}

}  // namespace

ShardResult encode_shard(const Path& plan_file, std::int64_t shard, const ElementOptions& own, const EncodeHooks& hooks) {
  const ShardPlan plan = read_plan(plan_file);
  check_number(plan, plan_file, shard);
  const Path prefix = shard_prefix(plan_file, shard);
  // Of a complete shard too: the one of two that was killed may have lost the race.
  remove_abandoned(plan_file.has_parent_path() ? plan_file.parent_path() : Path("."), prefix.filename().string() + ".");
  ShardState state = look_at_shard(plan, plan_file, shard);
  if (state.complete()) return {std::move(state.record->report), true};
  if (!state.flaw.empty()) log_warning(fmt::format("shard {} is encoded again: {}", shard, state.flaw));

  const Shard& pieces = plan.shards[static_cast<std::size_t>(shard)];
  check_unchanged(plan, pieces, Look::kInside);
  const Tokenizer tokenizer = planned_tokenizer(plan);
  const EncodeOptions options = options_of(plan, prefix, own);
  check_options(options, tokenizer);
  tell_if_slow(options, tokenizer);
  const std::vector<InputFile> files = files_of(plan, pieces);
  EncodeOutput output({.options = options, .tokenizer = tokenizer, .files = files, .plan = origin_text(plan, shard)});
  encode_files(options, tokenizer, files, hooks, output);
  check_unchanged(plan, pieces, Look::kAtFile);
  output.prepare();
  return commit(plan, plan_file, shard, output);
}

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
// convoy-preprocess plan: a corpus divided over the elements of a job array.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "apps/preprocess/commands.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/data/plan_inputs.h"

namespace convoy::apps::preprocess {
namespace {

struct Flags {
  EncodeFlags encode;
  std::optional<std::int64_t> shards;
  std::string out_dir;
  std::optional<std::int64_t> threads, verify_every;
};

struct Balance {
  std::int64_t bytes = 0, least = 0, most = 0, empty = 0;
};

Balance balance_of(const data::ShardPlan& plan) {
  Balance balance;
  for (std::size_t i = 0; i < plan.shards.size(); ++i) {
    std::int64_t bytes = 0;
    for (const data::ShardPiece& piece : plan.shards[i]) bytes += piece.range.size();
    balance.bytes += bytes;
    balance.least = i == 0 ? bytes : std::min(balance.least, bytes);
    balance.most = std::max(balance.most, bytes);
    balance.empty += plan.shards[i].empty();
  }
  return balance;
}

// A folder of inputs that holds a plan, too, would be another corpus with each shard.
void check_apart(const data::ShardPlan& plan, const std::string& out_dir) {
  const Path folder = std::filesystem::weakly_canonical(out_dir);
  for (const data::PlannedInput& input : plan.inputs) {
    const Path path = input.path;
    const std::string name = path.filename().string();
    if (name != "plan.json" && !name.starts_with("shard-")) continue;
    if (std::filesystem::weakly_canonical(path.parent_path()) != folder) continue;
    throw ConfigError(fmt::format("--out-dir {}: the input {} is a file of the plan that lies there; choose a folder that is no part of an INPUT",
                                  out_dir, input.name));
  }
}

// A plan that is there already: the same one keeps its shards, another one's no longer count.
void tell_of_older(const Path& path, const data::ShardPlan& plan) {
  if (!std::filesystem::exists(path)) return;
  std::string id;
  try {
    id = data::read_plan(path).id;
  } catch (const DataError& error) {
    log_warning(fmt::format("replacing what is no plan: {}", error.what()));
    return;
  }
  if (id != plan.id) log_warning(fmt::format("{}: another plan is replaced; shards that were encoded for it count as missing", path.string()));
}

void tell(const Path& path, const data::ShardPlan& plan, const Balance& balance) {
  log_info(fmt::format("{}: {} shards of {} to {} from {} inputs of {}", path.string(), plan.shards.size(),
                       format_bytes(static_cast<double>(balance.least)), format_bytes(static_cast<double>(balance.most)), plan.inputs.size(),
                       format_bytes(static_cast<double>(balance.bytes))));
  if (balance.empty > 0) {
    log_warning(fmt::format("{} shards are empty: the inputs cannot be cut into as many parts (a compressed file, or one that is a document, "
                            "is not cut)",
                            balance.empty));
  }
  log_info(fmt::format("the array is --array=0-{}", plan.shards.size() - 1));
}

int run(const Flags& flags, const app::Session& session) {
  if (flags.out_dir.empty()) throw ConfigError("--out-dir is empty: expected a folder; . is this one");
  data::ShardPlan plan = data::make_plan(flags.encode.encode_options(), *flags.shards);
  plan.threads = flags.threads;
  plan.verify_every = flags.verify_every;
  check_apart(plan, flags.out_dir);
  const Path path = Path(flags.out_dir) / "plan.json";
  ensure_directory(flags.out_dir);
  tell_of_older(path, plan);
  write_file_atomically(path, data::plan_text(plan));
  const Balance balance = balance_of(plan);
  tell(path, plan, balance);
  if (session.json) {
    fmt::print("{}\n", JsonObject()
                           .add("plan", path.string())
                           .add("id", plan.id)
                           .add("shards", static_cast<std::int64_t>(plan.shards.size()))
                           .add("array", fmt::format("0-{}", plan.shards.size() - 1))
                           .add("inputs", static_cast<std::int64_t>(plan.inputs.size()))
                           .add("bytes", balance.bytes)
                           .add("smallest_shard_bytes", balance.least)
                           .add("largest_shard_bytes", balance.most)
                           .add("empty_shards", balance.empty)
                           .text());
  }
  return 0;
}

std::vector<app::Option> options_of(Flags& f) {
  std::vector<app::Option> options = f.encode.options();
  for (app::Option& option : options) option.is_required = option.is_positional || option.name == "tokenizer";
  const std::vector<app::Option> own{
      app::count("shards", f.shards, {1, data::kMostShards}, "into how many shards: as many elements as the job array will have").required(),
      app::text("out-dir", "DIR", f.out_dir, "writes DIR/plan.json; the shards will be beside it").required(),
      app::count("threads", f.threads, {1, data::kMostThreads}, "threads of an element, where encode --plan is not told otherwise"),
      app::count("verify-encoder", f.verify_every, {0}, verify_encoder_help()),
  };
  options.insert(options.end(), own.begin(), own.end());
  return options;
}

}  // namespace

app::Command plan_command() {
  const auto flags = std::make_shared<Flags>();
  return {.name = "plan",
          .purpose = "divide inputs over the elements of a job array: encode --plan, status, merge go on from here",
          .details =
              "Every shard reads about as many bytes. A plain file is cut between records; a compressed one, or one that is a document, is "
              "not. The shards, merged, are byte for byte the pair that one run of encode writes.\n"
              "The plan is frozen: an element refuses an input or a tokenizer that changed since. It holds absolute paths, encode's "
              "options, and how many shards there are, whatever part of the array is submitted again.\n"
              "--max-errors counts a shard, and all together again at the merge.",
          .examples = {"convoy-preprocess plan docs/ corpus.jsonl --document-separator line --shards 4 --tokenizer tokenizer.model "
                       "--out-dir shards --append-eos"},
          .options = options_of(*flags),
          .has_json = true,
          .run = [flags](const app::Session& session) { return run(*flags, session); }};
}

}  // namespace convoy::apps::preprocess

// SPDX-License-Identifier: Apache-2.0
// convoy-preprocess encode: text to a dataset pair, or one shard of a plan.
#include "libcore/data/encoder.h"

#include <fmt/format.h>

#include <memory>

#include "apps/preprocess/commands.h"
#include "apps/preprocess/interrupt.h"
#include "libcore/app/progress.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/data/shard_encoder.h"

namespace convoy::apps::preprocess {
namespace {

struct Flags {
  EncodeFlags encode;
  std::optional<std::string> out, plan;
  std::optional<std::int64_t> shard, threads, verify_every;
};

// Of a run over everything: what the options cannot require, because a shard has it from its plan.
std::vector<std::string> missing_of_run(const Flags& flags) {
  std::vector<std::string> problems;
  if (flags.encode.input.inputs.empty()) problems.push_back("INPUT is missing: name a file, folder, glob, @list.txt or -");
  if (flags.encode.tokenizer.empty()) problems.push_back("--tokenizer M.model is missing: a SentencePiece model or a tokenizer.json");
  if (!flags.out) problems.push_back("--out PREFIX is missing: writes PREFIX.bin, PREFIX.idx and PREFIX.meta.json");
  if (flags.shard) problems.push_back("--shard: goes with --plan, which says what the shard is");
  return problems;
}

std::vector<std::string> problems_of_shard(const Flags& flags) {
  std::vector<std::string> problems;
  for (const std::string& name : flags.encode.given) problems.push_back(fmt::format("{}: the plan holds it; leave it out, or make a new plan", name));
  if (flags.out) problems.push_back("--out: a shard is written beside its plan; leave it out");
  if (!flags.shard) problems.push_back("--shard N is missing: which shard of the plan; in a job array \"$SLURM_ARRAY_TASK_ID\"");
  return problems;
}

void check(const Flags& flags) {
  const std::vector<std::string> problems = flags.plan ? problems_of_shard(flags) : missing_of_run(flags);
  if (!problems.empty()) throw ConfigError(problems);
}

void summarize(const data::EncodeReport& report) {
  log_info(fmt::format("{} documents, {} tokens ({}) from {} in {}: {:.1f} MB/s", report.documents, report.tokens, report.dtype,
                       format_bytes(static_cast<double>(report.bytes_in)), format_seconds(report.seconds),
                       report.megabytes_per_second()));
  if (report.empty > 0) log_info(fmt::format("{} documents without tokens were dropped", report.empty));
  tell_duplicates(report);
  if (report.bad_records > 0) log_warning(fmt::format("{} bad records were left out", report.bad_records));
}

int run_all(const Flags& flags, const app::Session& session, const data::EncodeHooks& hooks) {
  data::EncodeOptions options = flags.encode.encode_options();
  options.out = *flags.out;
  options.threads = flags.threads ? static_cast<int>(*flags.threads) : default_threads();
  options.verify_every = flags.verify_every.value_or(data::kVerifyEvery);
  const data::EncodeReport report = data::encode(options, hooks);
  summarize(report);
  for (const std::string& output : report.outputs) log_info(fmt::format("wrote {}.bin, .idx and .meta.json", output));
  if (session.json) fmt::print("{}\n", report.json());
  return 0;
}

int run_shard(const Flags& flags, const app::Session& session, const data::EncodeHooks& hooks) {
  const auto threads = flags.threads ? std::optional(static_cast<int>(*flags.threads)) : std::nullopt;
  const data::ShardResult result = data::encode_shard(*flags.plan, *flags.shard, {.threads = threads, .verify_every = flags.verify_every}, hooks);
  if (result.was_complete) {
    log_info(fmt::format("shard {} of {} is complete already: {} documents, {} tokens; nothing was done", *flags.shard, *flags.plan,
                         result.report.documents, result.report.tokens));
  } else {
    summarize(result.report);
    log_info(fmt::format("shard {} of {} is complete", *flags.shard, *flags.plan));
  }
  if (!session.json) return 0;
  std::string json = result.report.json();
  json.insert(1, fmt::format("\"shard\":{},\"was_complete\":{},", *flags.shard, result.was_complete));
  fmt::print("{}\n", json);
  return 0;
}

int run(const Flags& flags, const app::Session& session) {
  check(flags);
  return run_interruptible([&](const std::function<void()>& poll) {
    std::unique_ptr<app::Progress> progress;
    const auto show = [&](std::int64_t consumed, std::int64_t total, std::int64_t tokens) {
      if (!progress) progress = std::make_unique<app::Progress>("encode", total, "bytes");
      progress->update(consumed, fmt::format("{} tokens", format_count(static_cast<double>(tokens))));
    };
    const data::EncodeHooks hooks{.progress = show, .poll = poll};
    return flags.plan ? run_shard(flags, session, hooks) : run_all(flags, session, hooks);
  });
}

std::vector<app::Option> options_of(Flags& f) {
  std::vector<app::Option> options = f.encode.options();
  for (app::Option& option : options) option.is_required = false;
  const std::vector<app::Option> own{
      app::text("out", "PREFIX", f.out, "writes PREFIX.bin, PREFIX.idx and PREFIX.meta.json"),
      app::count("threads", f.threads, {1, data::kMostThreads},
                 fmt::format("threads that tokenize; the output does not depend on it [default: the processors here, {}]", default_threads())),
      app::count("verify-encoder", f.verify_every, {0}, verify_encoder_help()),
      app::text("plan", "PLAN.json", f.plan, "encode one shard of this plan; inputs and options are the plan's").in("One element of a job array"),
      app::count("shard", f.shard, {0}, "which shard, from 0; in a job array \"$SLURM_ARRAY_TASK_ID\"").in("One element of a job array"),
  };
  options.insert(options.end(), own.begin(), own.end());
  return options;
}

}  // namespace

app::Command encode_command() {
  const auto flags = std::make_shared<Flags>();
  return {.name = "encode",
          .purpose = "tokenize text or JSON Lines into a dataset pair that convoy-train and Megatron read",
          .details =
              "INPUT, --tokenizer and --out are needed; or --plan and --shard, for one element of a job array (see plan).\n"
              "Documents keep the order of the inputs. A document without tokens is dropped and counted. Bytes that are no UTF-8 "
              "are a bad record in JSON Lines and become U+FFFD in text.\n"
              "--dedup compares the text that is tokenized, byte for byte; the first document of each text stays. drop keeps the tokens "
              "in a scratch file beside PREFIX until the end.\n"
              "The pair is committed at the end: files get their names when they are complete, the metadata last. A pair of "
              "this program's under the same name is replaced; one without metadata is not. A shard that is complete already is "
              "left as it is.",
          .examples = {"convoy-preprocess encode corpus.jsonl.zst --tokenizer tokenizer.model --out data/corpus --append-eos",
                       "convoy-preprocess encode docs/ --document-separator blank-line --tokenizer tokenizer.model --out data/docs "
                       "--append-eos --split train=0.9,valid=0.1",
                       "convoy-preprocess encode corpus.jsonl --tokenizer tokenizer.model --out data/corpus --append-eos --dedup drop",
                       "convoy-preprocess encode --plan shards/plan.json --shard 1"},
          .options = options_of(*flags),
          .has_json = true,
          .run = [flags](const app::Session& session) { return run(*flags, session); }};
}

}  // namespace convoy::apps::preprocess

// SPDX-License-Identifier: Apache-2.0
// convoy-preprocess merge: shards, or any pairs, to one pair.
#include <fmt/format.h>

#include <memory>

#include "apps/preprocess/commands.h"
#include "apps/preprocess/interrupt.h"
#include "libcore/app/progress.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/data/pair_merge.h"
#include "libcore/data/shard_merge.h"

namespace convoy::apps::preprocess {
namespace {

struct Flags {
  std::vector<std::string> prefixes;
  std::optional<std::string> plan;
  std::string out;
};

void check(const Flags& flags) {
  if (flags.plan && !flags.prefixes.empty()) throw ConfigError("--plan: it names its shards itself; give either --plan or PREFIX...");
  if (!flags.plan && flags.prefixes.empty()) throw ConfigError("nothing to merge: give --plan PLAN.json, or the PREFIX... of pairs");
}

int run(const Flags& flags, const app::Session& session) {
  check(flags);
  return run_interruptible([&](const std::function<void()>& poll) {
    std::unique_ptr<app::Progress> progress;
    const auto show = [&](std::int64_t bytes, std::int64_t total) {
      if (!progress) progress = std::make_unique<app::Progress>("merge", total, "bytes");
      progress->update(bytes);
    };
    const data::MergeHooks hooks{.progress = show, .poll = poll};
    const std::vector<Path> prefixes(flags.prefixes.begin(), flags.prefixes.end());
    const data::EncodeReport report =
        flags.plan ? data::merge_shards(*flags.plan, flags.out, hooks) : data::merge_pairs(prefixes, flags.out, hooks);
    if (progress) progress->finish();
    log_info(fmt::format("{} documents, {} tokens ({})", report.documents, report.tokens, report.dtype));
    tell_duplicates(report);
    for (const std::string& output : report.outputs) log_info(fmt::format("wrote {}.bin, .idx and .meta.json", output));
    if (session.json) fmt::print("{}\n", report.json());
    return 0;
  });
}

}  // namespace

app::Command merge_command() {
  const auto flags = std::make_shared<Flags>();
  return {.name = "merge",
          .purpose = "make one dataset pair of the shards of a plan, or of any pairs that go together",
          .details =
              "The shards of a plan give byte for byte the tokens and index of one run of encode over all inputs, and its metadata but for "
              "the seconds. Missing shards are exit code 3, with their numbers and what to run. Other pairs follow one another in the order "
              "given; tokenizer, dtype and options must be the same; documents that several of them hold stay.\n"
              "Every byte is checked against its checksum on the way. At most one index is in memory.",
          .examples = {"convoy-preprocess merge data/docs.train data/docs.valid --out data/all",
                       "convoy-preprocess merge --plan shards/plan.json --out data/corpus"},
          .options = {app::positionals("PREFIX", flags->prefixes, "pairs to merge, in this order, unless there is --plan").optional(),
                      app::text("plan", "PLAN.json", flags->plan, "merge the shards of this plan"),
                      app::text("out", "PREFIX", flags->out, "writes PREFIX.bin, PREFIX.idx and PREFIX.meta.json, or PREFIX.NAME.* of each split")
                          .required()},
          .has_json = true,
          .run = [flags](const app::Session& session) { return run(*flags, session); }};
}

}  // namespace convoy::apps::preprocess

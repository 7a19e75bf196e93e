// SPDX-License-Identifier: Apache-2.0
// convoy-preprocess status: which shards of a plan are missing.
#include <fmt/format.h>

#include <memory>

#include "apps/preprocess/commands.h"
#include "libcore/base/exit_code.h"
#include "libcore/base/json.h"
#include "libcore/base/log.h"
#include "libcore/data/plan_inputs.h"
#include "libcore/data/shard_files.h"

namespace convoy::apps::preprocess {
namespace {

using Missing = std::vector<data::MissingShard>;

std::string json_of(std::size_t shards, const Missing& missing) {
  std::vector<std::string> numbers, flaws;
  for (const data::MissingShard& shard : missing) {
    numbers.push_back(std::to_string(shard.shard));
    if (!shard.flaw.empty()) flaws.push_back(JsonObject().add("shard", shard.shard).add("reason", shard.flaw).text());
  }
  return JsonObject()
      .add("shards", static_cast<std::int64_t>(shards))
      .add("complete", static_cast<std::int64_t>(shards - missing.size()))
      .add("missing", data::array_spec(missing))
      .add_raw("missing_shards", json_array(numbers))
      .add_raw("damaged", json_array(flaws))
      .text();
}

void tell(std::size_t shards, const Missing& missing) {
  for (const data::MissingShard& shard : missing) {
    if (!shard.flaw.empty()) log_warning(fmt::format("shard {} counts as missing: {}", shard.shard, shard.flaw));
  }
  log_info(missing.empty() ? fmt::format("all {} shards are complete", shards)
                           : fmt::format("{} of {} shards are missing", missing.size(), shards));
}

int run(const std::string& plan_file, const app::Session& session) {
  const data::ShardPlan plan = data::read_plan(plan_file);
  const Missing missing = data::missing_shards(plan, plan_file);
  tell(plan.shards.size(), missing);
  if (session.json) {
    fmt::print("{}\n", json_of(plan.shards.size(), missing));
  } else if (!missing.empty()) {
    fmt::print("{}\n", data::array_spec(missing));
  }
  return static_cast<int>(missing.empty() ? ExitCode::kDone : ExitCode::kData);
}

}  // namespace

app::Command status_command() {
  const auto plan = std::make_shared<std::string>();
  return {.name = "status",
          .purpose = "print the shards of a plan that are missing, as sbatch --array takes them",
          .details =
              "stdout is one line such as 3,17,40-42, and empty if nothing is missing. Exit code 0: all shards are complete; 3: some are not. "
              "A shard of another plan, or one whose files are not as its record says, counts as missing, and stderr says why.",
          .examples = {"convoy-preprocess status --plan shards/plan.json"},
          .options = {app::text("plan", "PLAN.json", *plan, "the plan; its shards are beside it").required()},
          .has_json = true,
          .run = [plan](const app::Session& session) { return run(*plan, session); }};
}

}  // namespace convoy::apps::preprocess

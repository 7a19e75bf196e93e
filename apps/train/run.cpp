// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/run.h"

#include "apps/train/commands.h"
#include "apps/train/machine.h"
#include "libcore/train/prepare.h"

namespace convoy::apps::train {

app::Command run_command(config::RunOptions& options) {
  app::Command command;
  command.name = "run";
  command.purpose = "train a GPT-2 or Llama model on token shards";
  command.details =
      "Trains on one rank. RUN must be a fresh directory; it receives config.toml (a valid --config), metrics.jsonl, "
      "events.jsonl, "
      "status.json, tensorboard/ and checkpoints/step_NNNNNNNNN (Hugging Face folders with fp32 weights).\n\n"
      "The same seed and number of threads give the same metrics, to the byte.";
  command.examples = {
      "convoy-train run --model llama-15m --data data/docs.train --valid-data data/docs.valid --out runs/second "
      "--global-batch-size 16 --steps 1000 --lr 1e-3 --warmup-steps 100",
      "convoy-train run --config runs/first/config.toml --out runs/third --seed 2",
  };
  command.options = run_options(options);
  command.survives_closed_output = true;  // a pager that is closed must not end a training run
  command.run = [&options](const app::Session& session) {
    const convoy::train::PreparedRun prepared = convoy::train::prepare(options, machine_facts());
    convoy::train::run(prepared, identity(), {session.arguments, session.resolved_config, libraries()});
    return 0;
  };
  return command;
}

}  // namespace convoy::apps::train

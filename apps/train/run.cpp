// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/run.h"

#include <exception>

#include "apps/train/commands.h"
#include "apps/train/machine.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/cluster/signals.h"
#include "libcore/comm/load.h"

namespace convoy::apps::train {
namespace {

// One rank speaks for the job; what only another one knows is an error of its own.
void quieten(int rank) {
  if (rank > 0 && log_level() != LogLevel::kDebug && log_level() != LogLevel::kOff) set_log_level(LogLevel::kError);
}

// Tells for all ranks what every one of them has found.
int refuse(int rank, const std::string& problem) {
  if (rank == 0) log_error(problem);
  return static_cast<int>(ExitCode::kUsage);
}

int run_rank(const config::RunOptions& options, const app::Session& session) {
  const auto start = std::chrono::steady_clock::now();
  const cluster::Launch launch = cluster::read_launch();
  if (const std::string problem = cluster::launch_problem(launch); !problem.empty())
    return refuse(launch.rank, problem);
  const cluster::StopSignals signals(options.stop.signal);
  const std::unique_ptr<comm::Communicator> world = comm::make_world(launch.world);
  quieten(world->rank());
  if (const std::string problem = spread_problem(*world, launch); !problem.empty()) return refuse(launch.rank, problem);
  try {
    const convoy::train::Rank rank{*world, identity(launch), machine_facts(*world, launch), start,
                                   [&signals] { return signals.seen(); }};
    return static_cast<int>(
        convoy::train::run(options, rank, {session.arguments, session.resolved_config, libraries()}));
  } catch (const std::exception& error) {
    if (world->size() == 1) throw;
    return static_cast<int>(exit_code_of(error));  // told of already
  }
}

}  // namespace

app::Command run_command(config::RunOptions& options) {
  app::Command command;
  command.name = "run";
  command.purpose = "train a GPT-2, Llama or Qwen 2 model on token shards";
  command.details =
      "Alone it trains on one rank; started by srun or mpirun on all of theirs, tensor-, pipeline- and data-parallel. "
      "RUN "
      "receives config.toml (a valid --config), run.json, metrics.jsonl, events.jsonl, status.json, tensorboard/, traces/ "
      "and checkpoints/step_NNNNNNNNN.\n\n"
      "The same command goes on from RUN's newest checkpoint, on the same or on another layout. The same seed, layout "
      "and "
      "number of threads give the same metrics, to the byte, whether or not the run was interrupted.";
  command.examples = {
      "convoy-train run --model llama-15m --data data/docs.train --valid-data data/docs.valid --out runs/second "
      "--global-batch-size 16 --steps 1000 --lr 1e-3 --warmup-steps 100",
      "convoy-train run --config runs/first/config.toml --out runs/third --seed 2",
  };
  command.options = run_options(options);
  command.survives_closed_output = true;  // a pager that is closed must not end a training run
  command.run = [&options](const app::Session& session) { return run_rank(options, session); };
  return command;
}

}  // namespace convoy::apps::train

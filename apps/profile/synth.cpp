// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <limits>
#include <map>

#include "apps/profile/commands.h"
#include "apps/profile/flags.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/units.h"

namespace convoy::apps::profile {
namespace {

using analysis::SynthOptions;

// "tp=4,pp=2,dp=8" in any order; what is left out is 1.
std::string parse_layout(std::string_view text, SynthOptions& options) {
  std::map<std::string, int, std::less<>> sizes = {{"tp", 0}, {"pp", 0}, {"dp", 0}};
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    const std::size_t equals = std::min(item.find('='), item.size());
    const auto size = sizes.find(item.substr(0, equals));
    const Parsed<std::int64_t> value = parse_count(item.substr(std::min(equals + 1, item.size())));
    if (size == sizes.end() || !value.ok() || value.value < 1 || value.value > 1'000'000)
      return fmt::format("has '{}'; write tp=4,pp=4,dp=4, sizes of at least 1", item);
    if (size->second != 0) return fmt::format("names {} twice", size->first);
    size->second = static_cast<int>(value.value);
    text.remove_prefix(std::min(text.size(), item.size() + 1));
  }
  options.tensor = std::max(1, sizes["tp"]);
  options.pipeline = std::max(1, sizes["pp"]);
  options.data = std::max(1, sizes["dp"]);
  return "";
}

app::Option layout_flag(SynthArguments& arguments) {
  app::Option option = app::text("layout", "tp=N,pp=N,dp=N", arguments.layout,
                                 "sizes of tensor, pipeline and data parallelism; what is left out is 1. Left out "
                                 "altogether: data parallelism over all ranks");
  option.set = [&arguments](const std::string& text) {
    arguments.layout = text;
    return parse_layout(text, arguments.options);
  };
  return option;
}

app::Option fault_flag(SynthArguments& arguments) {
  app::Option option =
      app::texts("fault", "FAULT", arguments.faults,
                 "make a rank slow: slow:rank=3,factor=1.2,phase=forward[,steps=10-20], or sleep=20ms in place of the "
                 "factor");
  option.set = [&arguments](const std::string& text) {
    analysis::SynthFault fault;
    std::string problem = parse_synth_fault(text, fault);
    if (!problem.empty()) return problem;
    arguments.options.faults.push_back(fault);
    arguments.faults.push_back(text);
    return problem;
  };
  option.clear = [&arguments] {
    arguments.options.faults.clear();
    arguments.faults.clear();
  };
  return option;
}

// --ranks and --layout say the same thing twice, so that a slip of one is noticed.
void settle_layout(SynthArguments& arguments) {
  SynthOptions& options = arguments.options;
  constexpr int kRanks = 8;
  if (arguments.layout.empty()) options.data = static_cast<int>(arguments.ranks.value_or(kRanks));
  const std::int64_t product = std::int64_t{options.tensor} * options.pipeline * options.data;
  if (!arguments.ranks || *arguments.ranks == product) return;
  throw ConfigError(
      fmt::format("--ranks {} and --layout {} disagree: tp {} x pp {} x dp {} are {} ranks; leave one out "
                  "or make them agree",
                  *arguments.ranks, arguments.layout, options.tensor, options.pipeline, options.data, product));
}

int run(SynthArguments& arguments, const app::Session& session) {
  settle_layout(arguments);
  SynthOptions& options = arguments.options;
  options.seed = static_cast<std::uint64_t>(arguments.seed);
  options.window_first = arguments.window.first;
  options.window_last = arguments.window.last;
  analysis::synthesize(options, arguments.out);
  const int ranks = options.tensor * options.pipeline * options.data;
  if (session.json) {
    fmt::print("{}\n", JsonObject()
                           .add("run", arguments.out)
                           .add("ranks", ranks)
                           .add("steps", options.steps)
                           .add("faults", static_cast<std::int64_t>(options.faults.size()))
                           .text());
    return 0;
  }
  fmt::print("{}: {} {} (tp {}, pp {}, dp {}), {} {}, {} {}\n", arguments.out, ranks, ranks == 1 ? "rank" : "ranks",
             options.tensor, options.pipeline, options.data, options.steps, options.steps == 1 ? "step" : "steps",
             options.faults.size(), options.faults.size() == 1 ? "fault" : "faults");
  return 0;
}

}  // namespace

app::Command synth_command(SynthArguments& arguments) {
  SynthOptions& options = arguments.options;
  app::Command command;
  command.name = "synth";
  command.purpose = "make the traces of a run that never was, whose faults are known";
  command.details =
      "Replays the steps of DP x TP x PP training (1F1B, an all_reduce after each half of a layer, gradients reduced "
      "in "
      "two buckets) rank by rank: computations take their time with jitter, collectives and messages wait for who is "
      "late. What `report` finds in the traces can then be held against the faults. The same options give the same "
      "bytes.";
  command.examples = {
      "convoy-profile synth --out runs/made --ranks 64 --steps 200 --layout tp=4,pp=4,dp=4 "
      "--fault slow:rank=3,factor=1.2,phase=forward --jitter 2%",
      "convoy-profile synth --out runs/healthy --ranks 8 --steps 100 --seed 7",
      "convoy-profile synth --out runs/late --layout pp=4,dp=2 --steps 100 --micro-batches 8 "
      "--fault slow:rank=5,sleep=20ms,phase=data,steps=50-100"};
  command.options = {
      app::text("out", "RUN", arguments.out, "run directory to fill; it may exist, its traces/ must not").required(),
      app::count("ranks", arguments.ranks, {1, 16384},
                 "of the whole run; must agree with --layout. Default: what --layout says, 8 without it"),
      layout_flag(arguments),
      app::count("steps", options.steps, {1, 10'000'000}, "to make"),
      fault_flag(arguments),
      share("jitter", options.jitter, {0.0, 0.5},
            "standard deviation of the logarithm of each computation's time, drawn once a rank, step and phase"),
      app::count("seed", arguments.seed, {0, std::numeric_limits<std::int64_t>::max()},
                 "of the jitter and the loss curve"),
      app::seconds("step-time", options.step_seconds, {1e-3, 3600.0}, "of a healthy step, roughly"),
      app::count("micro-batches", options.micro_batches, {1, 4096}, "a step and replica"),
      app::count("layers", options.layers, {1, 1024}, "of a stage"),
      app::count("ranks-per-host", options.ranks_per_host, {1, 16384}, "which share a host name and a clock"),
      app::count("evaluate-every", options.evaluate_every, {0, 10'000'000}, "steps; 0: never"),
      app::count("checkpoint-every", options.checkpoint_every, {0, 10'000'000}, "steps; 0: never"),
      step_range("trace-window", arguments.window, "steps whose events are kept"),
  };
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) { return run(arguments, session); };
  return command;
}

}  // namespace convoy::apps::profile

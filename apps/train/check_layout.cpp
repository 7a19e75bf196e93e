// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/check_layout.h"

#include <fmt/format.h>

#include <cstdio>

#include "apps/train/commands.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"

namespace convoy::apps::train {
namespace {

using convoy::train::Compared;
using convoy::train::Comparison;
using convoy::train::Difference;
using convoy::train::LayoutReport;
using convoy::train::SmallRun;

constexpr Compared kAll[] = {Compared::kLoss, Compared::kGradient, Compared::kStepLoss, Compared::kNorm,
                             Compared::kRate, Compared::kWeight,   Compared::kCopy};

const char* key_of(Compared what) {
  switch (what) {
    case Compared::kLoss:
      return "losses";
    case Compared::kGradient:
      return "gradients";
    case Compared::kStepLoss:
      return "step_losses";
    case Compared::kNorm:
      return "norms";
    case Compared::kRate:
      return "rates";
    case Compared::kWeight:
      return "weights";
    case Compared::kCopy:
      return "copies";
  }
  throw InternalError("unknown comparison");
}

const Comparison& of(const LayoutReport& report, Compared what) {
  return report.comparisons[static_cast<std::size_t>(what)];
}

void print_text(const SmallRun& run, int steps, const LayoutReport& report) {
  const parallel::Layout& layout = run.layout;
  fmt::print("model   cut down to {} layers, width {}, {} heads ({} key/value), ffn {}, vocabulary {}, {} head; fp32\n",
             run.model.layers, run.model.width, run.model.heads, run.model.key_value_heads, run.model.ffn_width,
             run.model.vocabulary, run.model.tied_embeddings ? "tied" : "untied");
  fmt::print("layout  tensor {} x pipeline {} x data {} on {} thread ranks, zero {}, {}{}\n", layout.tensor,
             layout.pipeline, layout.data, layout.world(), layout.zero, parallel::name_of(layout.schedule),
             layout.virtual_stages > 1 ? fmt::format(" of {} chunks a stage", layout.virtual_stages) : "");
  if (layout.sequence_parallel) fmt::print("rows    shared by the tensor ranks (sequence parallel)\n");
  if (run.model.dropout.largest() > 0.0) fmt::print("dropout {}\n", model::text_of(run.model.dropout));
  if (run.recompute != model::Recompute::kNone)
    fmt::print("memory  recomputes: {} (one rank keeps everything)\n", model::name_of(run.recompute));
  if (layout.rank_order != parallel::kTensorPipelineData)
    fmt::print("ranks   neighbours {}\n", parallel::text_of(layout.rank_order));
  fmt::print("steps   {} of {} micro-batches of {} x {} tokens a replica\n\n", steps, run.micro_batches,
             run.micro_batch, run.sequence_length);
  fmt::print("{:<30}  {:>12}  {:>18}  {:>9}  {:>9}\n", "compared with one rank", "values", "largest difference",
             "allowed", "different");
  for (const Compared what : kAll) {
    const Comparison& comparison = of(report, what);
    fmt::print("{:<30}  {:>12}  {:>18.2g}  {:>9.0e}  {:>9}\n", convoy::train::text_of(what), comparison.compared,
               comparison.largest, comparison.tolerance, comparison.different);
  }
  if (report.first) {
    fmt::print("\ndifferent, and first so at {}\n", convoy::train::text_of(*report.first));
  } else {
    fmt::print("\nequal but for rounding\n");
  }
}

std::string json_of(const Difference& first) {
  return JsonObject()
      .add("step", first.step)
      .add("compared", key_of(first.what))
      .add("name", first.name)
      .add("place", first.place)
      .add("rank", first.rank)
      .add("dp", first.at.data)
      .add("pp", first.at.pipeline)
      .add("tp", first.at.tensor)
      .add("found", first.found)
      .add("expected", first.expected)
      .add("allowed", first.allowed)
      .text();
}

void print_json(const SmallRun& run, int steps, const LayoutReport& report) {
  JsonObject json;
  json.add("equal", report.equal())
      .add("ranks", run.layout.world())
      .add("tensor_parallel", run.layout.tensor)
      .add("pipeline_parallel", run.layout.pipeline)
      .add("data_parallel", run.layout.data)
      .add("zero", run.layout.zero)
      .add("sequence_parallel", run.layout.sequence_parallel)
      .add("recompute", std::string(model::name_of(run.recompute)))
      .add("rank_order", parallel::text_of(run.layout.rank_order))
      .add("schedule", std::string(parallel::name_of(run.layout.schedule)))
      .add("virtual_stages", run.layout.virtual_stages)
      .add("steps", steps);
  for (const Compared what : kAll) {
    const Comparison& comparison = of(report, what);
    json.add_raw(key_of(what), JsonObject()
                                   .add("values", comparison.compared)
                                   .add("largest_difference", comparison.largest)
                                   .add("allowed", comparison.tolerance)
                                   .add("different", comparison.different)
                                   .text());
  }
  json.add_raw("first", report.first ? json_of(*report.first) : "null");
  fmt::print("{}\n", json.text());
}

int check(const config::RunOptions& options, const app::Session& session) {
  const SmallRun run = convoy::train::small_run(options);
  convoy::train::CheckSettings settings;
  settings.seed = static_cast<std::uint64_t>(options.data.seed);
  settings.overlap = options.layout.overlap;
  settings.tree = options.layout.reduction == "tree";
  const LayoutReport report = convoy::train::check_layout(run, settings);
  session.json ? print_json(run, settings.steps, report) : print_text(run, settings.steps, report);
  return static_cast<int>(report.equal() ? ExitCode::kDone : ExitCode::kAnswerIsNo);
}

}  // namespace

app::Command check_layout_command(config::RunOptions& options) {
  app::Command command;
  command.name = "check-layout";
  command.purpose = "train a small copy of a model in a layout and on one rank, and compare";
  command.details =
      "Takes the options of run and looks at model, layout, batch and seed. The model is cut down to a few narrow "
      "layers "
      "with as many kinds of everything as it has; each rank is a thread of this process, in fp32, on made-up tokens. "
      "Losses, gradients, gradient norm, rate and weights of three steps must be those of one rank but for rounding: "
      "relative to "
      "the loss, to a tensor's largest gradient, to the norm, and to the learning rate. The first that is not is "
      "named, with "
      "its step, tensor and rank, and the exit code is 6.\n\n"
      "--expect-world is the number of ranks. Without it there are two replicas, if the batch divides into them.";
  command.examples = {
      "convoy-train check-layout --model llama-1b --tensor-parallel 2 --pipeline-parallel 2",
      "convoy-train check-layout --model gpt2-124m --pipeline-parallel 3 --schedule gpipe --zero 1 --json",
  };
  command.options = run_options(options);
  command.has_json = true;
  command.run = [&options](const app::Session& session) { return check(options, session); };
  return command;
}

}  // namespace convoy::apps::train

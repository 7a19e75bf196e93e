// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "apps/train/commands.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/units.h"
#include "libcore/config/validate.h"
#include "libcore/model/shard.h"
#include "libcore/parallel/mesh.h"

namespace convoy::apps::train {
namespace {

constexpr std::int64_t kMostRanks = 1 << 14;  // a product of two of them fits

std::string_view split_text(model::Split split) {
  switch (split) {
    case model::Split::kReplicated:
      return "replicated";
    case model::Split::kRows:
      return "rows";
    case model::Split::kColumns:
      return "columns";
  }
  throw InternalError("unknown split");
}

std::string layer_text(const model::Parameter& parameter, std::int64_t layers) {
  if (parameter.layer < 0) return "embedding";
  return parameter.layer >= layers ? "head" : fmt::format("{}", parameter.layer);
}

struct Totals {
  std::int64_t parameters = 0, embedding = 0, decayed = 0;
  double flops_per_token = 0.0;
  std::int64_t sequence_length = 0;
};

Totals totals_of(const model::Config& config, const std::vector<model::Parameter>& table, std::int64_t length) {
  Totals totals;
  for (const model::Parameter& parameter : table) {
    totals.parameters += parameter.shape.count();
    if (parameter.layer < 0) totals.embedding += parameter.shape.count();
    if (parameter.decays) totals.decayed += parameter.shape.count();
  }
  totals.sequence_length = length;
  totals.flops_per_token = model::training_flops_per_token(config, length);
  return totals;
}

// What one stage of the pipeline holds; `parameters` of its first tensor-parallel rank, which has the most.
struct Stage {
  parallel::Range layers;
  std::vector<model::LocalParameter> table;
  std::int64_t parameters = 0;
};

std::vector<Stage> stages_of(const model::Config& config, const parallel::Layout& layout) {
  std::vector<Stage> stages;
  for (int index = 0; index < layout.pipeline; ++index) {
    const model::Shard shard{.tensor_size = layout.tensor,
                             .layers = parallel::layers_of(layout, config.layers, index),
                             .first = index == 0,
                             .last = index == layout.pipeline - 1};
    Stage stage{.layers = shard.layers, .table = model::local_parameters(config, shard)};
    for (const model::LocalParameter& parameter : stage.table) stage.parameters += parameter.box.count();
    stages.push_back(std::move(stage));
  }
  return stages;
}

// One, but for a tied embedding, which the ends of the pipeline share.
std::vector<int> stages_with(const std::vector<Stage>& stages, const std::string& name) {
  std::vector<int> holders;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const auto& table = stages[i].table;
    const bool holds = std::any_of(table.begin(), table.end(), [&](const auto& entry) { return entry.name == name; });
    if (holds) holders.push_back(static_cast<int>(i));
  }
  return holders;
}

struct Description {
  model::Config config;
  parallel::Layout layout;
  std::vector<model::Parameter> table;
  std::vector<Stage> stages;
  Totals totals;
};

void print_stages(const Description& described) {
  if (described.layout.world() == 1) return;
  fmt::print("\n");
  for (std::size_t i = 0; i < described.stages.size(); ++i) {
    const Stage& stage = described.stages[i];
    fmt::print("stage {}: layers {} to {}, {} parameters a rank{}\n", i, stage.layers.begin, stage.layers.end - 1,
               stage.parameters,
               described.layout.tensor > 1 ? fmt::format(" of {}, at most", described.layout.tensor) : "");
  }
}

void print_table(const Description& described) {
  std::size_t width = 4;
  for (const model::Parameter& parameter : described.table) width = std::max(width, parameter.name.size());
  fmt::print("{:<{}}  {:>16}  {:>13}  {:<10}  {:<5}  {:<9}  {}\n", "name", width, "shape", "parameters", "split",
             "decay", "layer", "stage");
  for (const model::Parameter& parameter : described.table) {
    fmt::print("{:<{}}  {:>16}  {:>13}  {:<10}  {:<5}  {:<9}  {}\n", parameter.name, width, parameter.shape.text(),
               parameter.shape.count(), split_text(parameter.split), parameter.decays ? "yes" : "no",
               layer_text(parameter, described.config.layers),
               fmt::join(stages_with(described.stages, parameter.name), ", "));
  }
  const Totals& totals = described.totals;
  fmt::print("\n{} tensors, {} parameters ({}), of them {} in embeddings; weight decay on {}\n", described.table.size(),
             totals.parameters, format_count(static_cast<double>(totals.parameters)), totals.embedding, totals.decayed);
  fmt::print("{} FLOPs a token, forward and backward, at {} tokens a sequence\n", format_count(totals.flops_per_token),
             totals.sequence_length);
  if (described.config.dropout.largest() > 0.0)
    fmt::print("dropout in training, unless --dropout says otherwise: {}\n", model::text_of(described.config.dropout));
  print_stages(described);
}

std::string parameter_json(const model::Parameter& parameter, const Description& described) {
  std::vector<std::int64_t> extents;
  for (int d = 0; d < parameter.shape.rank(); ++d) extents.push_back(parameter.shape[d]);
  const std::vector<int> stages = stages_with(described.stages, parameter.name);
  JsonObject row;
  row.add("name", parameter.name)
      .add_raw("shape", fmt::format("[{}]", fmt::join(extents, ",")))
      .add("parameters", parameter.shape.count())
      .add("split", split_text(parameter.split))
      .add("decay", parameter.decays)
      .add("stage", stages.front())
      .add("layer", layer_text(parameter, described.config.layers));
  if (stages.size() > 1) row.add("copy_in_stage", stages.back());
  return row.text();
}

std::string stage_json(const Stage& stage) {
  return JsonObject()
      .add_raw("layers", fmt::format("[{},{}]", stage.layers.begin, stage.layers.end))
      .add("parameters_per_rank", stage.parameters)
      .text();
}

void print_json(const Description& described) {
  std::vector<std::string> rows, stages;
  for (const model::Parameter& parameter : described.table) rows.push_back(parameter_json(parameter, described));
  for (const Stage& stage : described.stages) stages.push_back(stage_json(stage));
  fmt::print("{}\n", JsonObject()
                         .add_raw("config", model::to_json(described.config, "float32"))
                         .add_raw("tensors", fmt::format("[{}]", fmt::join(rows, ",")))
                         .add_raw("stages", fmt::format("[{}]", fmt::join(stages, ",")))
                         .add("parameters", described.totals.parameters)
                         .add("embedding_parameters", described.totals.embedding)
                         .add("decayed_parameters", described.totals.decayed)
                         .add("sequence_length", described.totals.sequence_length)
                         .add("flops_per_token", described.totals.flops_per_token)
                         .text());
}

parallel::Layout layout_of(const ShowModelArguments& arguments, const model::Config& config) {
  parallel::Layout layout;
  layout.tensor = arguments.tensor_parallel;
  layout.pipeline = arguments.pipeline_parallel;
  const std::vector<std::string> problems = parallel::layout_problems(
      layout, layout.world(),
      {config.layers, config.heads, config.key_value_heads, config.ffn_width, config.vocabulary}, 1, 1);
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n")));
  return layout;
}

int show(const ShowModelArguments& arguments, const app::Session& session) {
  Description described;
  described.config = model::resolve(arguments.model);
  if (arguments.tie_embeddings != "auto") described.config.tied_embeddings = arguments.tie_embeddings == "yes";
  const std::int64_t positions = described.config.positions;
  const std::int64_t length = arguments.sequence_length.value_or(std::min(positions, config::kLongestDefaultSequence));
  if (length > positions) {
    throw ConfigError(
        fmt::format("--sequence-length {} is beyond the {} positions of model '{}': the largest legal value is {}",
                    length, positions, arguments.model, positions));
  }
  described.layout = layout_of(arguments, described.config);
  described.table = model::parameter_table(described.config);
  described.stages = stages_of(described.config, described.layout);
  described.totals = totals_of(described.config, described.table, length);
  session.json ? print_json(described) : print_table(described);
  return 0;
}

}  // namespace

app::Command show_model_command(ShowModelArguments& arguments) {
  app::Command command;
  command.name = "show-model";
  command.purpose = "print a model's parameter table, its size and its FLOPs a token";
  command.examples = {"convoy-train show-model --model gpt2-124m",
                      "convoy-train show-model --model llama-1b --tensor-parallel 8 --pipeline-parallel 2",
                      "convoy-train show-model --model llama-1b --json"};
  command.options = {
      app::text("model", "PRESET|FILE", arguments.model, "a preset, a config.json, or a folder that holds one")
          .required(),
      app::choice("tie-embeddings", arguments.tie_embeddings, {"auto", "yes", "no"},
                  "share the embedding with the head; auto: as the model says"),
      app::count("sequence-length", arguments.sequence_length, {.least = 1},
                 "tokens a sample, for the FLOPs (default: the model's positions, at most 2048)"),
      app::count("tensor-parallel", arguments.tensor_parallel, {.least = 1, .most = kMostRanks},
                 "ranks that share every matrix"),
      app::count("pipeline-parallel", arguments.pipeline_parallel, {.least = 1, .most = kMostRanks},
                 "stages of the pipeline"),
  };
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) { return show(arguments, session); };
  return command;
}

}  // namespace convoy::apps::train

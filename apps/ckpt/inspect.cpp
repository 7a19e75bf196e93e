// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "apps/ckpt/commands.h"
#include "apps/ckpt/weights.h"
#include "libcore/base/json.h"
#include "libcore/base/units.h"

namespace convoy::apps::ckpt {
namespace {

std::string architecture(const model::Config& config) {
  return config.architecture == model::Architecture::kGpt2 ? "GPT2LMHeadModel" : "LlamaForCausalLM";
}

void print_text(const Weights& weights) {
  const double parameters = static_cast<double>(model::parameter_count(weights.table));
  fmt::print("folder      {}\n", weights.folder.string());
  fmt::print("step        {}\n", weights.step ? fmt::format("{}", *weights.step) : "none (not a step directory)");
  fmt::print("model       {}, {} layers, width {}, vocabulary {}, {} head\n", architecture(weights.config),
             weights.config.layers, weights.config.width, weights.config.vocabulary,
             weights.config.tied_embeddings ? "tied" : "untied");
  fmt::print("layout      one folder with every weight\n");
  fmt::print("parameters  {} in {} tensors\n\n", format_count(parameters), weights.table.size());
  std::size_t width = 4;
  for (const model::Parameter& parameter : weights.table) width = std::max(width, parameter.name.size());
  fmt::print("{:<{}}  {:>16}  {:>13}\n", "name", width, "shape", "parameters");
  for (const model::Parameter& parameter : weights.table) {
    fmt::print("{:<{}}  {:>16}  {:>13}\n", parameter.name, width, parameter.shape.text(), parameter.shape.count());
  }
}

void print_json(const Weights& weights) {
  std::vector<std::string> rows;
  for (const model::Parameter& parameter : weights.table) {
    std::vector<std::int64_t> extents;
    for (int d = 0; d < parameter.shape.rank(); ++d) extents.push_back(parameter.shape[d]);
    rows.push_back(JsonObject()
                       .add("name", parameter.name)
                       .add_raw("shape", fmt::format("[{}]", fmt::join(extents, ",")))
                       .add("parameters", parameter.shape.count())
                       .text());
  }
  fmt::print("{}\n", JsonObject()
                         .add("folder", weights.folder.string())
                         .add_raw("step", weights.step ? fmt::format("{}", *weights.step) : "null")
                         .add_raw("layout", R"({"tensor_parallel":1,"pipeline_parallel":1,"zero_shards":1})")
                         .add("architecture", architecture(weights.config))
                         .add("parameters", model::parameter_count(weights.table))
                         .add_raw("tensors", fmt::format("[{}]", fmt::join(rows, ",")))
                         .text());
}

}  // namespace

app::Command inspect_command(InspectArguments& arguments) {
  app::Command command;
  command.name = "inspect";
  command.purpose = "print what a checkpoint holds: step, model, tensors";
  command.examples = {"convoy-ckpt inspect runs/first",
                      "convoy-ckpt inspect runs/first/checkpoints/step_000001000 --json"};
  command.options = {
      app::positional("CKPT", arguments.checkpoint,
                      "a run directory (its newest step), a step directory, or a Hugging Face folder"),
  };
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) {
    const Weights weights = open_weights(arguments.checkpoint);
    session.json ? print_json(weights) : print_text(weights);
    return 0;
  };
  return command;
}

}  // namespace convoy::apps::ckpt

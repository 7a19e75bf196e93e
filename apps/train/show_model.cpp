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
#include "libcore/model/parameters.h"

namespace convoy::apps::train {
namespace {

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

void print_table(const model::Config& config, const std::vector<model::Parameter>& table, const Totals& totals) {
  std::size_t width = 4;
  for (const model::Parameter& parameter : table) width = std::max(width, parameter.name.size());
  fmt::print("{:<{}}  {:>16}  {:>13}  {:<10}  {:<5}  {}\n", "name", width, "shape", "parameters", "split", "decay",
             "layer");
  for (const model::Parameter& parameter : table) {
    fmt::print("{:<{}}  {:>16}  {:>13}  {:<10}  {:<5}  {}\n", parameter.name, width, parameter.shape.text(),
               parameter.shape.count(), split_text(parameter.split), parameter.decays ? "yes" : "no",
               layer_text(parameter, config.layers));
  }
  fmt::print("\n{} tensors, {} parameters ({}), of them {} in embeddings; weight decay on {}\n", table.size(),
             totals.parameters, format_count(static_cast<double>(totals.parameters)), totals.embedding, totals.decayed);
  fmt::print("{} FLOPs a token, forward and backward, at {} tokens a sequence\n", format_count(totals.flops_per_token),
             totals.sequence_length);
}

std::string parameter_json(const model::Parameter& parameter, std::int64_t layers) {
  std::vector<std::int64_t> extents;
  for (int d = 0; d < parameter.shape.rank(); ++d) extents.push_back(parameter.shape[d]);
  return JsonObject()
      .add("name", parameter.name)
      .add_raw("shape", fmt::format("[{}]", fmt::join(extents, ",")))
      .add("parameters", parameter.shape.count())
      .add("split", split_text(parameter.split))
      .add("decay", parameter.decays)
      .add("stage", 0)
      .add("layer", layer_text(parameter, layers))
      .text();
}

void print_json(const model::Config& config, const std::vector<model::Parameter>& table, const Totals& totals) {
  std::vector<std::string> rows;
  for (const model::Parameter& parameter : table) rows.push_back(parameter_json(parameter, config.layers));
  fmt::print("{}\n", JsonObject()
                         .add_raw("config", model::to_json(config, "float32"))
                         .add_raw("tensors", fmt::format("[{}]", fmt::join(rows, ",")))
                         .add("parameters", totals.parameters)
                         .add("embedding_parameters", totals.embedding)
                         .add("decayed_parameters", totals.decayed)
                         .add("sequence_length", totals.sequence_length)
                         .add("flops_per_token", totals.flops_per_token)
                         .text());
}

int show(const ShowModelArguments& arguments, const app::Session& session) {
  model::Config described = model::resolve(arguments.model);
  if (arguments.tie_embeddings != "auto") described.tied_embeddings = arguments.tie_embeddings == "yes";
  const std::int64_t length =
      arguments.sequence_length.value_or(std::min(described.positions, config::kLongestDefaultSequence));
  if (length > described.positions) {
    throw ConfigError(
        fmt::format("--sequence-length {} is beyond the {} positions of model '{}': the largest legal value is {}",
                    length, described.positions, arguments.model, described.positions));
  }
  const std::vector<model::Parameter> table = model::parameter_table(described);
  const Totals totals = totals_of(described, table, length);
  session.json ? print_json(described, table, totals) : print_table(described, table, totals);
  return 0;
}

}  // namespace

app::Command show_model_command(ShowModelArguments& arguments) {
  app::Command command;
  command.name = "show-model";
  command.purpose = "print a model's parameter table, its size and its FLOPs a token";
  command.examples = {"convoy-train show-model --model gpt2-124m", "convoy-train show-model --model llama-1b --json"};
  command.options = {
      app::text("model", "PRESET|FILE", arguments.model, "a preset, a config.json, or a folder that holds one")
          .required(),
      app::choice("tie-embeddings", arguments.tie_embeddings, {"auto", "yes", "no"},
                  "share the embedding with the head; auto: as the model says"),
      app::count("sequence-length", arguments.sequence_length, {.least = 1},
                 "tokens a sample, for the FLOPs (default: the model's positions, at most 2048)"),
  };
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) { return show(arguments, session); };
  return command;
}

}  // namespace convoy::apps::train

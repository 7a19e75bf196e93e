// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "apps/ckpt/commands.h"
#include "apps/ckpt/statistics.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/units.h"

namespace convoy::apps::ckpt {
namespace {

using checkpoint::Manifest;
using checkpoint::StoredTensor;

// The tensors that the pattern names, in model order, a tensor's states one after another.
std::vector<std::size_t> chosen(const Source& source, const Manifest& inventory, const std::string& pattern) {
  std::vector<std::size_t> rows;
  for (const model::Parameter& parameter : source.table) {
    if (fnmatch(pattern.c_str(), parameter.name.c_str(), 0) != 0) continue;
    const std::size_t before = rows.size();
    for (std::size_t i = 0; i < inventory.tensors.size(); ++i) {
      if (inventory.tensors[i].name == parameter.name) rows.push_back(i);
    }
    std::stable_partition(rows.begin() + static_cast<std::ptrdiff_t>(before), rows.end(),
                          [&](std::size_t i) { return inventory.tensors[i].state == checkpoint::kWeight; });
  }
  return rows;
}

void expect_any(const Source& source, const Manifest& inventory, const std::string& pattern) {
  if (!chosen(source, inventory, pattern).empty()) return;
  throw ConfigError(fmt::format("--tensors '{}': none of {} tensors has such a name; the first is {}", pattern,
                                source.table.size(), source.table.front().name));
}

std::string step_text(const Source& source, const checkpoint::Progress& progress) {
  if (source.checkpoint() == nullptr) return "none (a Hugging Face folder)";
  std::string text =
      fmt::format("{}, update {}, {} samples consumed", progress.step, progress.update, progress.consumed_samples);
  if (progress.skipped_in_a_row > 0) text += fmt::format(", {} skipped in a row", progress.skipped_in_a_row);
  if (progress.loss_scale) text += fmt::format(", loss scale {}", *progress.loss_scale);
  if (const auto& history = progress.loss_scale_history)
    text += fmt::format(" ({} finite steps in a row, {} overflows until it falls)", history->finite_steps,
                        history->overflows_left);
  return text;
}

std::string layout_text(const Manifest& inventory) {
  const checkpoint::StoredLayout& layout = inventory.description.layout;
  return fmt::format("tensor {} x pipeline {} x {} shards, {} files", layout.tensor, layout.pipeline,
                     layout.zero_shards, inventory.files.size());
}

void print_head(const Source& source, const Manifest& inventory) {
  fmt::print("folder      {}\n", source.folder().string());
  fmt::print("step        {}\n", step_text(source, inventory.description.progress));
  fmt::print("model       {}, {} layers, width {}, vocabulary {}, {} head\n", model::architecture_name(source.config),
             source.config.layers, source.config.width, source.config.vocabulary,
             source.config.tied_embeddings ? "tied" : "untied");
  const double parameters = static_cast<double>(model::parameter_count(source.table));
  fmt::print("parameters  {} in {} tensors\n", format_count(parameters), source.table.size());
  if (source.checkpoint() == nullptr) return;
  fmt::print("layout      {}\n", layout_text(inventory));
  if (!inventory.description.origin.empty()) fmt::print("origin      {}\n", inventory.description.origin);
  fmt::print("digest      {}\n", source.checkpoint()->digest());
}

void print_row(const StoredTensor& tensor, std::size_t width, const std::optional<Statistics>& numbers) {
  fmt::print("{:<{}}  {:<10}  {:<5}  {:>16}  {:>13}", tensor.name, width, tensor.state, tensor::name_of(tensor.dtype),
             tensor.shape.text(), tensor.shape.count());
  if (numbers) {
    fmt::print("  {:>12.5g}  {:>12.5g}  {:>12.5g}  {:>12.5g}  {:>10}", numbers->min, numbers->max, numbers->mean,
               numbers->norm, numbers->not_finite);
  }
  fmt::print("\n");
}

std::optional<Statistics> numbers_of(const Source& source, const Manifest& inventory, std::size_t tensor, bool asked) {
  if (!asked) return std::nullopt;
  return statistics_of(source, inventory, tensor);
}

void print_text(const Source& source, const Manifest& inventory, const InspectArguments& arguments) {
  print_head(source, inventory);
  std::size_t width = 4;
  const std::vector<std::size_t> rows = chosen(source, inventory, arguments.tensors);
  for (const std::size_t row : rows) width = std::max(width, inventory.tensors[row].name.size());
  fmt::print("\n{:<{}}  {:<10}  {:<5}  {:>16}  {:>13}", "name", width, "state", "dtype", "shape", "elements");
  if (arguments.statistics)
    fmt::print("  {:>12}  {:>12}  {:>12}  {:>12}  {:>10}", "min", "max", "mean", "norm", "not finite");
  fmt::print("\n");
  for (const std::size_t row : rows)
    print_row(inventory.tensors[row], width, numbers_of(source, inventory, row, arguments.statistics));
}

std::string row_json(const Source& source, const Manifest& inventory, std::size_t row, bool statistics) {
  const StoredTensor& tensor = inventory.tensors[row];
  std::vector<std::int64_t> extents;
  for (int d = 0; d < tensor.shape.rank(); ++d) extents.push_back(tensor.shape[d]);
  JsonObject json;
  json.add("name", tensor.name).add("state", tensor.state).add("dtype", tensor::name_of(tensor.dtype));
  json.add_raw("shape", fmt::format("[{}]", fmt::join(extents, ","))).add("parameters", tensor.shape.count());
  if (has_digests(source)) json.add("digest", fmt::format("{:016x}", tensor.digest));
  if (const std::optional<Statistics> numbers = numbers_of(source, inventory, row, statistics)) {
    const bool any = numbers->finite > 0;
    json.add_raw("min", any ? json_number(numbers->min) : "null")
        .add_raw("max", any ? json_number(numbers->max) : "null");
    json.add_raw("mean", any ? json_number(numbers->mean) : "null").add("norm", numbers->norm);
    json.add("not_finite", numbers->not_finite);
  }
  return json.text();
}

void add_checkpoint(JsonObject& json, const checkpoint::Checkpoint& opened) {
  const checkpoint::Description& description = opened.manifest().description;
  const checkpoint::Progress& progress = description.progress;
  json.add("update", progress.update).add("consumed_samples", progress.consumed_samples);
  json.add("skipped_in_a_row", progress.skipped_in_a_row);
  json.add_raw("loss_scale", progress.loss_scale ? json_number(*progress.loss_scale) : "null");
  if (const auto& history = progress.loss_scale_history) {
    json.add("loss_scale_finite_steps", history->finite_steps);
    json.add("loss_scale_overflows_left", history->overflows_left);
  }
  json.add("digest", opened.digest()).add("origin", description.origin);
  std::vector<std::string> files;
  for (const checkpoint::StoredFile& file : opened.manifest().files) {
    files.push_back(JsonObject().add("name", file.name).add("bytes", static_cast<std::int64_t>(file.size)).text());
  }
  json.add_raw("files", fmt::format("[{}]", fmt::join(files, ",")));
  JsonObject aliases, fingerprint;
  for (const auto& [name, target] : description.aliases) aliases.add(name, target);
  for (const auto& [key, value] : description.fingerprint) fingerprint.add(key, value);
  json.add_raw("aliases", aliases.text()).add_raw("fingerprint", fingerprint.text());
}

void print_json(const Source& source, const Manifest& inventory, const InspectArguments& arguments) {
  const checkpoint::StoredLayout& layout = inventory.description.layout;
  JsonObject json;
  json.add("folder", source.folder().string());
  json.add("kind", source.checkpoint() == nullptr ? "huggingface" : "checkpoint");
  json.add_raw("step", source.weights.step() ? fmt::format("{}", *source.weights.step()) : "null");
  json.add_raw("layout", JsonObject()
                             .add("tensor_parallel", layout.tensor)
                             .add("pipeline_parallel", layout.pipeline)
                             .add("zero_shards", layout.zero_shards)
                             .text());
  json.add("architecture", model::architecture_name(source.config))
      .add("parameters", model::parameter_count(source.table));
  if (source.checkpoint() != nullptr) add_checkpoint(json, *source.checkpoint());
  std::vector<std::string> rows;
  for (const std::size_t row : chosen(source, inventory, arguments.tensors))
    rows.push_back(row_json(source, inventory, row, arguments.statistics));
  json.add_raw("tensors", fmt::format("[{}]", fmt::join(rows, ",")));
  fmt::print("{}\n", json.text());
}

}  // namespace

app::Command inspect_command(InspectArguments& arguments) {
  app::Command command;
  command.name = "inspect";
  command.purpose = "print what a checkpoint holds: step, layout, model, tensors, digest";
  command.details =
      "The digest is that of the content: two checkpoints with the same digest hold the same bits, whatever layouts "
      "wrote them.";
  command.examples = {"convoy-ckpt inspect runs/first",
                      "convoy-ckpt inspect runs/first --tensors '*.embed_tokens.*' --stats",
                      "convoy-ckpt inspect runs/first/checkpoints/step_000001000 --json"};
  command.options = {
      source_operand(arguments.checkpoint),
      app::text("tensors", "GLOB", arguments.tensors, "only tensors whose names match, as a shell matches file names"),
      app::toggle("stats", arguments.statistics,
                  "smallest, largest and mean value, norm, and how many values are not finite; reads the tensors"),
  };
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) {
    const Source source = open_source(arguments.checkpoint);
    const Manifest inventory = inventory_of(source);
    expect_any(source, inventory, arguments.tensors);
    session.json ? print_json(source, inventory, arguments) : print_text(source, inventory, arguments);
    return 0;
  };
  return command;
}

}  // namespace convoy::apps::ckpt

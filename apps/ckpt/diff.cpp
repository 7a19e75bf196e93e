// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "apps/ckpt/commands.h"
#include "apps/ckpt/compare.h"
#include "libcore/app/progress.h"
#include "libcore/base/exit_code.h"
#include "libcore/base/json.h"

namespace convoy::apps::ckpt {
namespace {

constexpr std::size_t kListed = 20;  // of a message for people

std::string text_of(const TensorDifference& found) {
  if (!found.reason.empty()) return fmt::format("{} of {} {}", found.state, found.name, found.reason);
  return fmt::format("{} of {}: {} of {} values differ, the most at {}: {:.9g} in A, {:.9g} in B, |A - B| = {:.3g}",
                     found.state, found.name, found.differing, found.elements, found.place, found.a, found.b,
                     found.largest);
}

const TensorDifference* largest_of(const Comparison& result) {
  const TensorDifference* largest = nullptr;
  for (const TensorDifference& found : result.tensors) {
    if (found.reason.empty() && (largest == nullptr || found.largest > largest->largest)) largest = &found;
  }
  return largest;
}

void print_text(const Comparison& result) {
  for (const std::string& line : result.other) fmt::print("{}\n", line);
  for (std::size_t i = 0; i < std::min(kListed, result.tensors.size()); ++i)
    fmt::print("{}\n", text_of(result.tensors[i]));
  if (result.tensors.size() > kListed) fmt::print("and {} more\n", result.tensors.size() - kListed);
  if (result.equal()) {
    fmt::print("equal: {} states of tensors, {} of them by digest\n", result.compared, result.by_digest);
    return;
  }
  fmt::print("different: {} of {} states of tensors", result.tensors.size(),
             std::max(result.compared, static_cast<std::int64_t>(result.tensors.size())));
  if (const TensorDifference* largest = largest_of(result))
    fmt::print("; the largest difference is {:.3g}, in {} of {} at {}", largest->largest, largest->state, largest->name,
               largest->place);
  fmt::print("\n");
}

std::string json_of(const TensorDifference& found) {
  JsonObject json;
  json.add("name", found.name).add("state", found.state);
  if (!found.reason.empty()) return json.add("reason", found.reason).text();
  json.add("elements", found.elements).add("differing", found.differing);
  json.add_raw("largest_difference", json_number(found.largest)).add("place", found.place);
  return json.add_raw("a", json_number(found.a)).add_raw("b", json_number(found.b)).text();
}

void print_json(const Source& a, const Source& b, const CompareOptions& options, const Comparison& result) {
  std::vector<std::string> tensors, other;
  for (const TensorDifference& found : result.tensors) tensors.push_back(json_of(found));
  for (const std::string& line : result.other) other.push_back(json_quoted(line));
  fmt::print("{}\n", JsonObject()
                         .add("a", a.folder().string())
                         .add("b", b.folder().string())
                         .add("equal", result.equal())
                         .add("states", options.all_states ? "all" : "weights")
                         .add("compared", result.compared)
                         .add("by_digest", result.by_digest)
                         .add_raw("tensors", fmt::format("[{}]", fmt::join(tensors, ",")))
                         .add_raw("other", fmt::format("[{}]", fmt::join(other, ",")))
                         .text());
}

int run(const DiffArguments& arguments, const app::Session& session) {
  const Source a = open_source(arguments.a), b = open_source(arguments.b);
  const bool checkpoints = a.checkpoint() != nullptr && b.checkpoint() != nullptr;
  const CompareOptions options{
      .all_states = arguments.states == "all" || (arguments.states.empty() && checkpoints),
      .absolute = arguments.absolute,
      .relative = arguments.relative,
  };
  std::optional<app::Progress> bar;
  const Comparison result = compare(a, b, options, [&](std::int64_t done, std::int64_t total) {
    if (!bar) bar.emplace("diff", total, "values");
    bar->update(done);
  });
  if (bar) bar->finish();
  session.json ? print_json(a, b, options, result) : print_text(result);
  return result.equal() ? 0 : static_cast<int>(ExitCode::kAnswerIsNo);
}

}  // namespace

app::Command diff_command(DiffArguments& arguments) {
  app::Command command;
  command.name = "diff";
  command.purpose = "say whether two checkpoints hold the same, whatever their layouts";
  command.details =
      "Compares tensor by tensor, by digest where both sides have one (then nothing is read), else value by value, and "
      "the models that "
      "both sides describe; with the optimizer states, also step, update, consumed samples and loss scale. Exit code "
      "0: equal. 6: "
      "different; the tensors are named, with the largest difference and its place.\n\n"
      "Without tolerances values are equal if their bits are. With them, if |A - B| <= atol + rtol |B|.";
  command.examples = {
      "convoy-ckpt merge runs/first --out merged && convoy-ckpt diff runs/first merged",
      "convoy-ckpt export runs/first --out hf --to hf --dtype bf16 && convoy-ckpt diff runs/first hf --atol 0.01"};
  command.options = {
      source_operand(arguments.a, "A"),
      source_operand(arguments.b, "B"),
      app::choice(
          "states", arguments.states, {"weights", "all"},
          "what to compare. Left out: all between two checkpoints, weights where a side is a Hugging Face folder"),
      app::real("atol", arguments.absolute, {0.0, std::numeric_limits<double>::max()}, "absolute tolerance"),
      app::real("rtol", arguments.relative, {0.0, std::numeric_limits<double>::max()}, "relative tolerance"),
  };
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) { return run(arguments, session); };
  return command;
}

}  // namespace convoy::apps::ckpt

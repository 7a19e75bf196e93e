// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/metrics_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>

namespace convoy::analysis {
namespace {

constexpr std::size_t kPicturePoints = 1200;

struct Step {
  std::optional<double> loss, learning_rate;
};

std::optional<double> finite(const nlohmann::json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool is_kind(const nlohmann::json& row, const char* kind) {
  const auto found = row.find("kind");
  return found != row.end() && found->is_string() && found->get_ref<const std::string&>() == kind;
}

// A step that occurs again (a run put together from two) counts as it was last.
void read_line(const std::string& line, const StepRange& range, MetricsFile& file,
               std::map<std::int64_t, Step>& steps) {
  const nlohmann::json row = nlohmann::json::parse(line, nullptr, false);
  if (!row.is_object()) {
    ++file.unreadable;
    return;
  }
  if (!is_kind(row, "step")) return;
  const auto number = row.find("step");
  if (number == row.end() || !number->is_number_integer()) {
    ++file.unreadable;
    return;
  }
  const auto step = number->get<std::int64_t>();
  if (step < range.first || step > range.last) return;
  steps[step] = {finite(row, "loss"), finite(row, "lr")};
}

void append(Curve& curve, std::int64_t step, const std::optional<double>& value) {
  if (!value) return;
  curve.steps.push_back(step);
  curve.values.push_back(*value);
}

bool is_blank(const std::string& line) { return line.find_first_not_of(" \t\r") == std::string::npos; }

}  // namespace

MetricsFile read_metrics(const Path& run, const StepRange& range) {
  MetricsFile file;
  const Path path = run / "metrics.jsonl";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return file;
  file.found = true;
  std::ifstream in(path, std::ios::binary);
  file.is_broken = !in;
  std::map<std::int64_t, Step> steps;
  for (std::string line; std::getline(in, line);) {
    if (is_blank(line)) continue;
    ++file.lines;
    read_line(line, range, file, steps);
  }
  file.is_broken = file.is_broken || in.bad();
  for (const auto& [step, row] : steps) {
    if (!row.loss) ++file.not_finite;
    append(file.loss, step, row.loss);
    append(file.learning_rate, step, row.learning_rate);
  }
  return file;
}

Curve thinned(const Curve& curve, std::size_t points) {
  const std::size_t count = std::min(curve.steps.size(), curve.values.size());
  const std::size_t stretches = std::max<std::size_t>(1, points / 2);
  if (count <= points) return curve;
  Curve thin;
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t first = i * count / stretches, end = (i + 1) * count / stretches;
    if (first == end) continue;
    const auto begin = curve.values.begin();
    const auto [least, most] =
        std::minmax_element(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end));
    const auto [early, late] = std::minmax(least, most);
    for (const auto& at : {early, late}) {
      const std::int64_t step = curve.steps[static_cast<std::size_t>(at - begin)];
      if (!thin.steps.empty() && thin.steps.back() == step) continue;
      thin.steps.push_back(step);
      thin.values.push_back(*at);
    }
  }
  return thin;
}

void add_metrics(const Path& run, const StepRange& range, Report& report) {
  const MetricsFile file = read_metrics(run, range);
  report.loss = thinned(file.loss, kPicturePoints);
  report.learning_rate = thinned(file.learning_rate, kPicturePoints);
  if (file.is_broken) report.incomplete.push_back("metrics.jsonl cannot be read to its end");
  if (file.unreadable > 0) {
    report.incomplete.push_back(
        fmt::format("metrics.jsonl: {} of {} lines are no rows of metrics", file.unreadable, file.lines));
  }
  if (file.not_finite > 0) {
    report.incomplete.push_back(
        fmt::format("metrics.jsonl: the loss of {} steps is not finite and not drawn", file.not_finite));
  }
}

}  // namespace convoy::analysis

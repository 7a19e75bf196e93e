// SPDX-License-Identifier: Apache-2.0
#include "libcore/config/run_options.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "libcore/base/lists.h"
#include "libcore/base/units.h"
#include "libcore/trace/recorder.h"

namespace convoy::config {

std::pair<std::string, std::string> named_prefix(const std::string& text) {
  const std::size_t equals = text.find('=');
  // An equals sign after a slash belongs to the path.
  if (equals != std::string::npos && equals < text.find('/')) return {text.substr(0, equals), text.substr(equals + 1)};
  return {std::filesystem::path(text).filename().string(), text};
}

std::int64_t wsd_decay_start(std::int64_t decay_steps, double share) {
  const std::int64_t decaying = std::llround(share * static_cast<double>(decay_steps));
  return decay_steps - std::clamp<std::int64_t>(decaying, 1, std::max<std::int64_t>(1, decay_steps));
}

std::string parse_loss_scale(const std::string& text, std::optional<double>& fixed) {
  fixed.reset();
  if (text == "dynamic") return "";
  const Parsed<double> scale = parse_real(text);
  if (!scale.ok() || !(scale.value > 0.0)) return "is neither dynamic nor a number above zero (65536)";
  fixed = scale.value;
  return "";
}

std::string parse_cadence(const std::string& text, Cadence& cadence) {
  const std::string problem = "is neither a number of steps (100, 1K) nor a time (90s, 10m, 2h30m), both above zero";
  const bool is_time = !text.empty() && std::string("smhd").find(text.back()) != std::string::npos;
  cadence = {};
  if (is_time) {
    const Parsed<double> seconds = parse_seconds(text);
    if (!seconds.ok() || !(seconds.value > 0.0)) return problem;
    cadence.seconds = seconds.value;
    return "";
  }
  const Parsed<std::int64_t> steps = parse_count(text);
  if (!steps.ok() || steps.value < 1) return problem;
  cadence.steps = steps.value;
  return "";
}

std::string parse_split(const std::string& text, std::vector<std::int64_t>& split) {
  split.clear();
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const Parsed<std::int64_t> layers = parse_count(std::string_view(text).substr(begin, end - begin));
    if (!layers.ok() || layers.value < 1) return "is no list of layers a stage, each at least 1 (5,6,6,5)";
    split.push_back(layers.value);
    begin = end + 1;
  }
  return "";
}

std::string parse_steps(const std::string& text, trace::Window& steps) {
  const Parsed<NumberRange> range = parse_range(text);
  if (!range.ok() || range.value.first < 1) return "is no range of steps FIRST-LAST, from 1 (100-110)";
  steps = {range.value.first, range.value.last};
  return "";
}

}  // namespace convoy::config

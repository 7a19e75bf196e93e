// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/job_settings.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <sstream>

#include "libcore/base/error.h"
#include "libcore/base/version.h"
#include "libcore/train/fingerprint.h"
#include "libcore/train/record.h"

namespace convoy::train {
namespace {

constexpr std::string_view kEquals = " = ", kUnset = "# ";

std::map<std::string, std::string> values_of(const std::string& lines) {
  std::map<std::string, std::string> values;
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    const std::size_t equals = line.find(kEquals);
    if (equals != std::string::npos) values[line.substr(0, equals)] = line.substr(equals + kEquals.size());
  }
  return values;
}

// The lines of a TOML file as it is printed: what is not set stands there as a comment, and so do headings.
std::string flags_of(const std::string& config) {
  std::string lines;
  for (const auto& [key, value] : values_of(config)) {
    if (key == "threads" || key == "oversubscribe") continue;
    lines += key.starts_with(kUnset) ? fmt::format("--{}{}nothing\n", key.substr(kUnset.size()), kEquals)
                                     : fmt::format("--{}{}{}\n", key, kEquals, value);
  }
  return lines;
}

}  // namespace

std::string job_settings(const PreparedRun& run, const std::string& resolved_config) {
  std::string lines = fmt::format("version{}{}\n", kEquals, version()) + flags_of(resolved_config);
  const auto add = [&lines](const std::string& key, const std::string& value) {
    lines += fmt::format("{}{}{}\n", key, kEquals, value);
  };
  add("model", on_one_line(model::to_json(run.model, "float32")));
  add("tokens of --data", data_identity(run));
  for (const NamedDataset& valid : run.valid) add("tokens of --valid-data " + valid.name, data_identity(valid.dataset));
  return lines;
}

void expect_settings_of_root(const std::string& root, const std::string& mine) {
  if (mine == root) return;
  const std::map<std::string, std::string> theirs = values_of(root), own = values_of(mine);
  std::set<std::string> keys;
  for (const auto* side : {&theirs, &own}) {
    for (const auto& [key, value] : *side) keys.insert(key);
  }
  std::string problems;
  const auto shown = [](const auto& side, const std::string& key) {
    return side.contains(key) ? side.at(key) : std::string("nothing");
  };
  for (const std::string& key : keys) {
    const std::string here = shown(own, key), there = shown(theirs, key);
    if (here != there) problems += fmt::format("\n  - {}: {} here, {} on rank 0", key, here, there);
  }
  throw ConfigError(
      "this rank was given other settings than rank 0; give all ranks of a job the same command line, files and "
      "program:" +
      problems);
}

}  // namespace convoy::train

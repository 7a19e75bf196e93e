// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/error.h"

#include <fmt/format.h>

namespace convoy {
namespace {

std::string joined(const std::vector<std::string>& problems) {
  if (problems.size() == 1) return problems.front();
  std::string text = fmt::format("{} problems:", problems.size());
  for (const std::string& problem : problems) text += "\n  - " + problem;
  return text;
}

}  // namespace

ConfigError::ConfigError(const std::vector<std::string>& problems)
    : Error(ExitCode::kUsage, joined(problems)), problems_(problems) {}

void check(bool condition, std::string_view why, std::source_location where) {
  if (condition) return;
  throw InternalError(
      fmt::format("{}:{}: {}: this is a bug in convoy, please report it", where.file_name(), where.line(), why));
}

}  // namespace convoy

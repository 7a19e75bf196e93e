// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/error.h"

#include <fmt/format.h>

#include <filesystem>
#include <new>
#include <system_error>

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

ExitCode exit_code_of(const std::exception& error) {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) return ours->code();
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return ExitCode::kEnvironment;
  const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
  if (file != nullptr && file->code() == std::errc::no_such_file_or_directory) return ExitCode::kUsage;
  if (dynamic_cast<const std::system_error*>(&error) != nullptr) return ExitCode::kEnvironment;
  return ExitCode::kInternal;
}

void throw_error(ExitCode code, const std::string& message) {
  switch (code) {
    case ExitCode::kUsage:
      throw ConfigError(message);
    case ExitCode::kData:
      throw DataError(message);
    case ExitCode::kNumerics:
      throw NumericsError(message);
    case ExitCode::kCommunication:
      throw ClusterError(message);
    case ExitCode::kEnvironment:
      throw EnvironmentError(message);
    default:
      throw InternalError(message);
  }
}

void check(bool condition, std::string_view why, std::source_location where) {
  if (condition) return;
  throw InternalError(
      fmt::format("{}:{}: {}: this is a bug in convoy, please report it", where.file_name(), where.line(), why));
}

}  // namespace convoy

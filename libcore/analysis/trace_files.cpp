// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/trace_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "libcore/base/error.h"

namespace convoy::analysis {

std::vector<Path> trace_files_below(const Path& run) {
  std::error_code error;
  if (!std::filesystem::exists(run, error)) throw ConfigError(fmt::format("{}: no such run folder", run.string()));
  const Path traces = run / "traces";
  const Path& folder = std::filesystem::is_directory(traces, error) ? traces : run;
  std::vector<Path> files;
  std::filesystem::directory_iterator entries(folder, error);
  if (error) throw EnvironmentError(fmt::format("{}: cannot be listed: {}", folder.string(), error.message()));
  for (const auto& entry : entries)
    if (entry.path().extension() == ".trace" && entry.is_regular_file(error)) files.push_back(entry.path());
  if (files.empty())
    throw DataError(fmt::format("{}: no traces (files *.trace in it or in its folder traces): train with --trace steps",
                                run.string()));
  std::ranges::sort(files);
  return files;
}

}  // namespace convoy::analysis

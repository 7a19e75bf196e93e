// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/trace_folder.h"

#include <fmt/format.h>

#include <system_error>

#include "libcore/base/error.h"
#include "libcore/trace/format.h"

namespace convoy::analysis {

TraceFolder::TraceFolder(const Path& run) : run_(run), created_run_(!std::filesystem::exists(run)) {
  const Path traces = run / "traces";
  if (std::filesystem::exists(traces))
    throw EnvironmentError(fmt::format("'{}' exists; choose another folder, or remove it first", traces.string()));
  ensure_directory(run);
  folder_.emplace(traces);
}

TraceFolder::~TraceFolder() {
  if (!folder_) return;
  folder_.reset();
  std::error_code ignored;
  if (created_run_) std::filesystem::remove(run_, ignored);  // refuses what is not empty
}

Path TraceFolder::file_of(int rank) const { return folder_->temporary() / trace::trace_file_name(rank, 1); }

void TraceFolder::commit() {
  folder_->commit();
  folder_.reset();
}

}  // namespace convoy::analysis

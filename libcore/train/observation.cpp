// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/observation.h"

#include <fmt/format.h>

#include "libcore/base/log.h"
#include "libcore/model/parameters.h"
#include "libcore/parallel/groups.h"

namespace convoy::train {

void make_traces_folder(const RunDirectory& directory) noexcept {
  try {
    ensure_directory(directory.traces());
  } catch (const std::exception& error) {
    log_warning(fmt::format("the run goes on without traces: {}", error.what()));
  }
}

trace::Header trace_header(const PreparedRun& run, const RunDirectory& directory, const Identity& identity, int rank,
                           int attempt) {
  const parallel::Layout& layout = run.resolved.layout;
  const parallel::Coordinates at = parallel::coordinates_of(layout, rank);
  trace::Header header;
  header.run = std::filesystem::absolute(directory.path()).lexically_normal().string();
  header.attempt = attempt;
  header.world = layout.world();
  header.rank = rank;
  header.at = {at.tensor, at.pipeline, at.data};
  header.tensor = layout.tensor;
  header.pipeline = layout.pipeline;
  header.data = layout.data;
  header.virtual_stages = layout.virtual_stages;
  header.micro_batches = static_cast<int>(run.resolved.micro_batches);
  header.threads = run.resolved.threads;
  header.tokens_per_step = run.resolved.global_batch * run.resolved.sequence_length;
  header.flops_per_token = model::training_flops_per_token(run.model, run.resolved.sequence_length);
  header.flops_convention = model::kFlopsConvention;
  header.host = identity.host;
  header.job_id = identity.job_id;
  header.process_id = identity.pid;
  header.groups = parallel::recorded_groups(layout, rank);
  return header;
}

trace::RecorderOptions recorder_options(const config::Resolved& run, const RunDirectory& directory) {
  trace::RecorderOptions options;
  if (run.writes_traces) options.directory = directory.traces();
  options.window = run.trace_window;
  return options;
}

}  // namespace convoy::train

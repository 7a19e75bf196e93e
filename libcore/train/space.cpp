// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/space.h"

#include <fmt/format.h>

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/model/parameters.h"

namespace convoy::train {
namespace {

constexpr double kBytesAParameter = 12.0;  // weight and two moments, fp32

}  // namespace

std::int64_t checkpoints_to_come(const config::Resolved& resolved, const config::OutputOptions& output,
                                 std::int64_t step) {
  const std::int64_t every = resolved.checkpoint_every.steps;
  std::int64_t saves = 1;  // the last
  if (every > 0) saves = (resolved.steps + every - 1) / every - step / every;
  // By time: how many there will be is not known, but that two lie there at once is.
  if (resolved.checkpoint_every.seconds > 0.0) saves = 2;
  if (output.keep_last == 0) return std::max<std::int64_t>(1, saves);
  const std::int64_t kept_for_good =
      output.keep_every > 0 ? resolved.steps / output.keep_every - step / output.keep_every : 0;
  const std::int64_t kept = std::min(output.keep_last, saves) + 1 + kept_for_good;
  return std::clamp<std::int64_t>(kept, 1, std::max<std::int64_t>(1, saves));
}

void refuse_without_space(const PreparedRun& run, const RunDirectory& directory, std::int64_t step) {
  if (run.options.output.ignore_space) return;
  const double parameters = static_cast<double>(model::parameter_count(model::parameter_table(run.model)));
  const std::int64_t count = checkpoints_to_come(run.resolved, run.options.output, step);
  const double needed = kBytesAParameter * parameters * static_cast<double>(count);
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space(directory.path(), unknown);
  if (unknown || static_cast<double>(space.available) >= needed) return;
  throw EnvironmentError(
      fmt::format("{}: {} checkpoint{} of {} need {}, but its disk has {} free: give another --out, save less often "
                  "(--checkpoint-every), keep fewer (--keep-last), free space, or add --ignore-space",
                  directory.path().string(), count, count == 1 ? "" : "s", format_bytes(kBytesAParameter * parameters),
                  format_bytes(needed), format_bytes(static_cast<double>(space.available))));
}

}  // namespace convoy::train

// SPDX-License-Identifier: Apache-2.0
// Where a run directory keeps its checkpoints, and which folder a path of the user's means. The names are built and
// parsed here alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/file.h"

namespace convoy::checkpoint {

// "step_000001000".
std::string step_directory_name(std::int64_t step);
// The step of such a name; empty for any other name (temporary siblings included).
std::optional<std::int64_t> parse_step_directory(std::string_view name);

// The steps whose directories lie in a folder of checkpoints, whatever is in them; none if there is no such folder. In
// no order. EnvironmentError if the folder is there and cannot be listed.
std::vector<std::int64_t> step_directories(const Path& checkpoints);

// The file that a rank writes: "shard_tp000_pp000_dp00000.h5". (shard_file_name() of save.h builds it.)
struct ShardCoordinates {
  int tensor = 0, pipeline = 0, data = 0;
};
std::optional<ShardCoordinates> parse_shard_file_name(std::string_view name);  // empty for any other name

// RUN/checkpoints.
Path checkpoints_folder(const Path& run);

// A folder that holds weights: `path` itself if it is a step directory or a Hugging Face folder, else the newest step
// of the run directory `path` that opens (newer ones that do not are named in a warning). ConfigError if `path` does
// not exist, DataError if it holds neither.
Path resolve_checkpoint(const Path& path);

// ConfigError if a folder above `path`, which need not exist, is a step directory.
void refuse_inside_checkpoint(const Path& path);

}  // namespace convoy::checkpoint

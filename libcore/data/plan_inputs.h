// SPDX-License-Identifier: Apache-2.0
// Plans and files: makes a plan of the files that a command line names, and holds files against a plan.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/data/shard_plan.h"

namespace convoy::data {

// Looks at every input and reads a little of each. ConfigError: options, missing inputs, an input that can be read only once.
ShardPlan make_plan(const EncodeOptions& options, std::int64_t shards);

// DataError if it is no plan (see parse_plan()); ConfigError if there is no such file.
ShardPlan read_plan(const Path& path);

// What an element reads for `shard`.
std::vector<InputFile> files_of(const ShardPlan& plan, const Shard& shard);

enum class Look : std::uint8_t { kAtFile, kInside };  // size and time; or the first and last bytes, too

// DataError, with what was expected and found, for every input of `shard` that is no longer as it was planned.
void check_unchanged(const ShardPlan& plan, const Shard& shard, Look look);

}  // namespace convoy::data

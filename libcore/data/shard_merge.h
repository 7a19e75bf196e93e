// SPDX-License-Identifier: Apache-2.0
// The shards of a plan as the pairs that one run over all inputs would have written: tokens, index, list of bad records, and
// metadata but for the seconds.
#pragma once

#include "libcore/base/file.h"
#include "libcore/data/pair_merge.h"

namespace convoy::data {

// DataError: shards that are missing or damaged, with their numbers and what to run; more bad records in all than max_errors;
// no documents in all, or in a split.
EncodeReport merge_shards(const Path& plan_file, const Path& out, const MergeHooks& hooks);

}  // namespace convoy::data

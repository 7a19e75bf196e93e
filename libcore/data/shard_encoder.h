// SPDX-License-Identifier: Apache-2.0
// One element of a job array: a shard of a plan.
#pragma once

#include <cstdint>
#include <optional>

#include "libcore/base/file.h"
#include "libcore/data/encoder.h"

namespace convoy::data {

struct ShardResult {
  EncodeReport report;
  bool was_complete = false;  // nothing was done
};

// What an element is told beside its plan.
struct ElementOptions {
  std::optional<int> threads = {};
  std::optional<std::int64_t> verify_every = {};
};

// Encodes shard `shard` of the plan in `plan_file`, beside it. Safe to repeat: a complete shard stays as it is, anything else
// there is replaced; of processes that encode the same shard at once each leaves it whole. ConfigError: no such shard;
// DataError: an input or the tokenizer is no longer as it was planned, and what encode() throws it for, but a shard may lack
// documents.
ShardResult encode_shard(const Path& plan_file, std::int64_t shard, const ElementOptions& own, const EncodeHooks& hooks);

}  // namespace convoy::data

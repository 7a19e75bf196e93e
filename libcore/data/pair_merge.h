// SPDX-License-Identifier: Apache-2.0
// Several committed pairs as one: their documents one after another, every byte of them checked on the way. Tokens are streamed,
// and lengths are read from the indexes again instead of being kept: at most one index is mapped at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/data/duplicates.h"
#include "libcore/data/encode_metadata.h"

namespace convoy::data {

struct MergeHooks {
  std::function<void(std::int64_t bytes, std::int64_t total)> progress = {};
  std::function<void()> poll = {};  // throws to stop
};

// The metadata of each pair. ConfigError: no such pair; DataError: not committed, damaged, or pairs that do not go together, with
// both of them and what differs: tokenizer, vocabulary, dtype, end-of-document id, options.
std::vector<PairMetadata> compatible_metadata(const std::vector<Path>& prefixes);

// Of all together, the counts summed, as one run over all of their sources would write it.
PairMetadata merged_metadata(const std::vector<PairMetadata>& parts);

// Completes the pair of `out`, ready to be published; `out` may not be one of `prefixes`. `dropped`: documents of all of them to
// leave out, which `metadata` do not count; or null.
PairFiles merged_pair(const std::vector<Path>& prefixes, const Path& out, const PairMetadata& metadata, const MergeHooks& hooks,
                      const Duplicates* dropped = nullptr);

// merge PREFIX...: the whole of it, published. Nothing is known of equal documents in several pairs: they stay, which a warning
// says if the pairs were made with --dedup. DataError for shards of a plan with --dedup, whose duplicates only the plan's merge finds.
EncodeReport merge_pairs(const std::vector<Path>& prefixes, const Path& out, const MergeHooks& hooks);

}  // namespace convoy::data

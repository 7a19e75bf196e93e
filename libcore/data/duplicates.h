// SPDX-License-Identifier: Apache-2.0
// Which documents repeat an earlier one's text, in bounded memory. The keys go through one set as long as it has room; beyond
// that they are dealt out to scratch files by their leading bits, and each file is looked through by itself, dealt out again if
// need be. Only distinct keys take room, so many equal documents cost nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "libcore/data/text_key.h"

namespace convoy::data {

struct Duplicates {
  std::vector<bool> is_duplicate;              // of each document in order: an earlier one has the same text
  std::int64_t documents = 0, text_bytes = 0;  // of those

  bool contains(std::int64_t document) const { return is_duplicate[static_cast<std::size_t>(document)]; }
};

constexpr std::int64_t kLeastDedupMemory = std::int64_t{1} << 20;

struct DedupSpace {
  std::int64_t memory = 0;  // bytes of the set, or of the scratch files' buffers; a bit a document comes on top
  Path sibling;             // scratch files lie in its folder: 20 bytes a document, where the set does not hold all
  std::function<void()> poll = {};  // throws to stop
};

// ConfigError if this machine does not have as much memory at all.
void check_dedup_memory(std::int64_t memory);

// Goes through `keys`, of `count` documents (fewer than 2^31), at most three times. EnvironmentError: what the file system
// refuses, or memory that cannot be had.
Duplicates find_duplicates(const EachKey& keys, std::int64_t count, const DedupSpace& space);

}  // namespace convoy::data

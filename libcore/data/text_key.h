// SPDX-License-Identifier: Apache-2.0
// What --dedup knows a document by, and the files of these keys: one a pair, in the order of the documents. Format of the shards'
// PREFIX.hashes: docs/formats.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "libcore/base/checksum.h"
#include "libcore/base/file.h"
#include "libcore/base/scratch_file.h"

namespace convoy::data {

// 24 bytes, as they lie on disk.
struct TextKey {
  Hash128 hash;                 // XXH3-128 of the text that is tokenized
  std::int64_t text_bytes = 0;  // of that text
};

inline TextKey key_of(std::string_view text) { return {xxh3_128(text), static_cast<std::int64_t>(text.size())}; }

// Calls its argument with the key of each document in order.
using EachKey = std::function<void(const std::function<void(const TextKey&)>& take)>;

Path hashes_path(const Path& prefix);  // PREFIX.hashes

// The keys of a file that is written and flushed; it must live on.
EachKey keys_of(const ScratchFile& file);

// Those of a shard's pair. DataError if the file has another size than `documents` keys or another XXH3-128 than `sum`.
struct KeyFile {
  Path path;
  std::int64_t documents = 0;
  std::string sum;  // hexadecimal
};
void for_each_key(const KeyFile& file, const std::function<void(const TextKey&)>& take);

}  // namespace convoy::data

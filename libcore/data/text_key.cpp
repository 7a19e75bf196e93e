// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/text_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "libcore/base/error.h"

namespace convoy::data {
namespace {

static_assert(sizeof(TextKey) == 24, "stored on disk");
constexpr std::size_t kBlock = sizeof(TextKey) << 16;

}  // namespace

Path hashes_path(const Path& prefix) { return prefix.string() + ".hashes"; }

EachKey keys_of(const ScratchFile& file) {
  return [&file](const std::function<void(const TextKey&)>& take) {
    ScratchReader reader(file);
    TextKey key;
    while (!reader.at_end()) {
      reader.read(std::as_writable_bytes(std::span(&key, 1)));
      take(key);
    }
  };
}

void for_each_key(const KeyFile& file, const std::function<void(const TextKey&)>& take) {
  const MappedFile mapped(file.path, "hashes of a shard");
  const std::size_t bytes = mapped.bytes().size(), expected = static_cast<std::size_t>(file.documents) * sizeof(TextKey);
  if (bytes != expected) {
    throw DataError(fmt::format("{} has {} bytes, expected {} for {} documents; encode the shard again", file.path.string(), bytes, expected,
                                file.documents));
  }
  Xxh3Stream sum;
  for (std::size_t at = 0; at < bytes; at += kBlock) {
    const auto block = mapped.bytes().subspan(at, std::min(kBlock, bytes - at));
    sum.update(block);
    for (std::size_t i = 0; i < block.size(); i += sizeof(TextKey)) {
      TextKey key;
      std::memcpy(&key, block.data() + i, sizeof key);
      take(key);
    }
    mapped.release(block);
  }
  if (const std::string found = sum.hex(); found != file.sum) {
    throw DataError(fmt::format("{}: the XXH3-128 is {}, the shard's record says {}: the file was changed or damaged; remove it and encode the shard again",
                                file.path.string(), found, file.sum));
  }
}

}  // namespace convoy::data

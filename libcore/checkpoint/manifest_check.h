// SPDX-License-Identifier: Apache-2.0
// What a manifest must satisfy beyond its fields' types. Private to the module.
#pragma once

#include <string_view>

#include "libcore/checkpoint/manifest.h"

namespace convoy::checkpoint {

// DataError naming `where` and the entry: names that repeat or are no plain names, tensors out of order, boxes that
// leave their tensor, overlap or leave a hole, ranges that leave their file or share bytes, a wrong number of
// checksums.
void check_manifest(const Manifest& manifest, std::string_view where);

// Bytes of a fragment, and of it under checksum `block`.
std::uint64_t bytes_of(const Manifest& manifest, const StoredFragment& fragment);
std::size_t blocks_of(std::uint64_t bytes);

}  // namespace convoy::checkpoint

// SPDX-License-Identifier: Apache-2.0
// What writer and reader of a trace agree on beyond the layout. Private to the module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "libcore/base/checksum.h"
#include "libcore/trace/format.h"

namespace convoy::trace {

static_assert(offsetof(BlockHeader, crc) == sizeof(BlockHeader::magic));

// Of a block: first its payload, then its header without the CRC, so that an append extends the CRC of the payload.
inline std::uint32_t crc_of(const BlockHeader& header, std::uint32_t payload_crc) {
  const auto bytes = std::as_bytes(std::span(&header, 1));
  const std::size_t behind = offsetof(BlockHeader, bytes);
  return crc32c(bytes.subspan(behind), crc32c(bytes.first(sizeof header.magic), payload_crc));
}

}  // namespace convoy::trace

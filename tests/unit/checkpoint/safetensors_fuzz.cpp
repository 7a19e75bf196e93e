// SPDX-License-Identifier: Apache-2.0
// Whatever bytes a file holds, reading it as safetensors gives entries that tile its data, or a DataError.
#include <cstdint>
#include <span>

#include "libcore/base/error.h"
#include "libcore/checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace convoy;
  try {
    const auto entries = checkpoint::parse_safetensors(std::as_bytes(std::span(data, size)), "fuzzed.safetensors");
    std::uint64_t position = 0;
    for (const auto& entry : entries) {
      check(entry.begin == position && entry.end >= entry.begin, "accepted entries follow one another");
      position = entry.end;
    }
    check(position <= size, "accepted entries lie in the file");
  } catch (const DataError&) {
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Whatever bytes manifest.json holds, reading it gives a manifest that writes and reads back as the same, or a
// DataError.
#include <cstdint>
#include <string_view>

#include "libcore/base/error.h"
#include "libcore/checkpoint/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace convoy;
  try {
    const checkpoint::Manifest manifest =
        checkpoint::parse_manifest({reinterpret_cast<const char*>(data), size}, "fuzzed.json");
    const std::string text = checkpoint::to_json(manifest);
    check(checkpoint::to_json(checkpoint::parse_manifest(text, "again")) == text,
          "what is written reads back the same");
  } catch (const DataError&) {
  }
  return 0;
}

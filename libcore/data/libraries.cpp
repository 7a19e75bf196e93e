// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/libraries.h"

#include <fmt/format.h>
#include <simdjson.h>
#include <zlib.h>
#include <zstd.h>

namespace convoy::data {

std::vector<std::pair<std::string, std::string>> libraries() {
  return {{"sentencepiece", CONVOY_SENTENCEPIECE_VERSION},
          {"simdjson", fmt::format("{}.{}.{}", simdjson::SIMDJSON_VERSION_MAJOR, simdjson::SIMDJSON_VERSION_MINOR,
                                   simdjson::SIMDJSON_VERSION_REVISION)},
          {"zlib", ::zlibVersion()},
          {"zstd", ::ZSTD_versionString()}};
}

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/libraries.h"

#include <zlib.h>
#include <zstd.h>

namespace convoy::data {

std::vector<std::pair<std::string, std::string>> libraries() {
  return {{"sentencepiece", CONVOY_SENTENCEPIECE_VERSION}, {"zlib", ::zlibVersion()}, {"zstd", ::ZSTD_versionString()}};
}

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
// What a config.json may ask for: wide enough for any model, narrow enough that no product of two extents overflows.
// Private to the module.
#pragma once

#include <cstdint>

#include "libcore/model/config_reader.h"

namespace convoy::model {

inline constexpr std::int64_t kMaxWidth = std::int64_t{1} << 20;
inline constexpr IntegerRange kWidthRange{1, kMaxWidth};
inline constexpr IntegerRange kFfnRange{1, 4 * kMaxWidth};
inline constexpr IntegerRange kLayerRange{1, std::int64_t{1} << 14};
inline constexpr IntegerRange kPositionRange{1, std::int64_t{1} << 30};
inline constexpr IntegerRange kVocabularyRange{1, (std::int64_t{1} << 31) - 1};

}  // namespace convoy::model

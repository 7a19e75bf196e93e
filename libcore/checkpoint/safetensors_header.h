// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file as it is written, before its entries are held against the data. Parsed event by
// event, so that memory stays proportional to the header. Private to the module.
#pragma once

#include <string_view>
#include <vector>

#include "libcore/checkpoint/safetensors.h"

namespace convoy::checkpoint {

// DataError, naming `where`, for text that is no such header: no JSON, a name twice, an entry that lacks a field or has
// another.
std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view json, std::string_view where);

}  // namespace convoy::checkpoint

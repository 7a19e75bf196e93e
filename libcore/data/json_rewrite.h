// SPDX-License-Identifier: Apache-2.0
// JSON that RFC 8259 allows and our JSON library refuses, in words that it takes: numbers beyond its ranges (1e999,
// integers of more than 64 bits) and lone surrogate escapes, which are bad in a wanted text only.
#pragma once

#include <string>
#include <string_view>

namespace convoy::data {

// `line` with a 0 for each number and `escape` (six characters, such as \ue000) for each lone surrogate escape. It
// keeps its size and its places, and what is no JSON stays none: nothing else changes, and only whole, well-formed
// numbers do.
std::string without_numbers_and_lone_surrogates(std::string_view line, std::string_view escape);

}  // namespace convoy::data

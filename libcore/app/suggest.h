// SPDX-License-Identifier: Apache-2.0
// What the user probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convoy::app {

// The word of `words` with the smallest edit distance to `text`; empty if there are no words.
std::string closest(std::string_view text, const std::vector<std::string>& words);

// The same, but empty if nothing is close enough to be worth proposing (a third of its letters may differ).
std::string close_enough(std::string_view text, const std::vector<std::string>& words);

}  // namespace convoy::app

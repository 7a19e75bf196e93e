// SPDX-License-Identifier: Apache-2.0
// Text from outside (host names, paths) made fit for a terminal: what it holds of control characters is shown, not
// obeyed, and columns are counted as the terminal counts them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convoy::analysis {

// `text` in valid UTF-8 without control characters: "\n" becomes \x0a in four letters, U+202E \u{202e}, a byte that is
// no UTF-8 U+FFFD.
std::string printable(std::string_view text);

// Columns that printable text takes on a terminal: 2 for East Asian wide letters and emoji, 0 for combining marks.
int display_width(std::string_view text);

// "rank 3", "ranks 2, 3 and 9 more": of more than 16, the rest is counted.
std::string named_ranks(const std::vector<int>& ranks);

// At most `columns` wide; what is cut off leaves "...".
std::string shortened(std::string_view text, int columns);

// Filled with blanks to `columns`, on the right or on the left.
std::string padded_right(std::string_view text, int columns);
std::string padded_left(std::string_view text, int columns);

}  // namespace convoy::analysis

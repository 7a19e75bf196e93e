// SPDX-License-Identifier: Apache-2.0
// Columns of text for a terminal, aligned by display width.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convoy::analysis {

struct TextColumn {
  std::string title;
  bool right = false;    // aligned
  bool shrinks = false;  // gives way where the table is too wide
};

// The lines of a table with its titles, at most `columns` wide if those that shrink give enough. Cells must be
// printable.
std::vector<std::string> table_lines(const std::vector<TextColumn>& titles,
                                     const std::vector<std::vector<std::string>>& rows, int columns);

// The lines of a text, broken at blanks; all but the first begin with `indent` blanks.
std::vector<std::string> wrapped(std::string_view text, int columns, int indent = 0);

}  // namespace convoy::analysis

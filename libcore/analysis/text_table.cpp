// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/text_table.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "libcore/analysis/display.h"

namespace convoy::analysis {
namespace {

constexpr int kGap = 2;
constexpr int kLeastColumn = 8;

// Narrows the widest column that shrinks until the table fits, or nothing is left to give.
void fit(std::vector<int>& widths, const std::vector<TextColumn>& titles, int columns) {
  const auto gaps = kGap * (static_cast<int>(widths.size()) - 1);
  int excess = std::accumulate(widths.begin(), widths.end(), gaps) - columns;
  while (excess > 0) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (titles[i].shrinks && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    }
    if (widest == widths.size() || widths[widest] <= kLeastColumn) return;
    const int given = std::min(excess, widths[widest] - kLeastColumn);
    widths[widest] -= given;
    excess -= given;
  }
}

std::string line_of(const std::vector<std::string>& cells, const std::vector<TextColumn>& titles,
                    const std::vector<int>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line.append(kGap, ' ');
    const std::string cell = shortened(cells[i], widths[i]);
    line += titles[i].right ? padded_left(cell, widths[i]) : padded_right(cell, widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::vector<std::string> table_lines(const std::vector<TextColumn>& titles,
                                     const std::vector<std::vector<std::string>>& rows, int columns) {
  std::vector<std::string> heads;
  std::vector<int> widths;
  for (const TextColumn& column : titles) {
    heads.push_back(column.title);
    widths.push_back(display_width(column.title));
  }
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  fit(widths, titles, columns);
  std::vector<std::string> lines = {line_of(heads, titles, widths)};
  for (const std::vector<std::string>& row : rows) lines.push_back(line_of(row, titles, widths));
  return lines;
}

std::vector<std::string> wrapped(std::string_view text, int columns, int indent) {
  std::vector<std::string> lines;
  std::string line;
  const auto finish = [&lines, &line, indent] {
    lines.push_back(line);
    line.assign(static_cast<std::size_t>(indent), ' ');
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string word = shortened(text.substr(0, end), columns - indent);
    const bool blank = line.find_first_not_of(' ') == std::string::npos;
    if (!blank && display_width(line) + 1 + display_width(word) > columns) {
      finish();
      line += word;
    } else {
      if (!blank && !word.empty()) line += ' ';
      line += word;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (line.find_first_not_of(' ') != std::string::npos) lines.push_back(line);
  return lines;
}

}  // namespace convoy::analysis

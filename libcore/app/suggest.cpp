// SPDX-License-Identifier: Apache-2.0
#include "libcore/app/suggest.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace convoy::app {
namespace {

// Levenshtein's distance, one row at a time; a common prefix costs nothing, so that "learn" is near "learning-rate".
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return a.size() >= 3 && b.starts_with(a) ? 1 : row.back();
}

}  // namespace

std::string closest(std::string_view text, const std::vector<std::string>& words) {
  const auto nearer = [text](const std::string& a, const std::string& b) {
    return distance(text, a) < distance(text, b);
  };
  const auto found = std::min_element(words.begin(), words.end(), nearer);
  return found == words.end() ? "" : *found;
}

std::string close_enough(std::string_view text, const std::vector<std::string>& words) {
  std::string word = closest(text, words);
  const std::size_t allowed = std::max<std::size_t>(1, word.size() / 3);
  return !word.empty() && distance(text, word) <= allowed ? word : "";
}

}  // namespace convoy::app

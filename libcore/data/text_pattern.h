// SPDX-License-Identifier: Apache-2.0
// A regular expression as tokenizers reads it, by the same engine, Oniguruma. Thread-safe once compiled.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::data {

class TextPattern {
 public:
  // DataError, with a clause, if it is no regular expression. EnvironmentError if the library is not there.
  explicit TextPattern(const std::string& regex);
  ~TextPattern();
  TextPattern(TextPattern&&) noexcept;

  // Appends begin and end of all matches in `text`, valid UTF-8, from left to right; no empty one right behind another match.
  void find(std::string_view text, std::vector<std::pair<std::size_t, std::size_t>>& matches) const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace convoy::data

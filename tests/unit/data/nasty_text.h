// SPDX-License-Identifier: Apache-2.0
// Texts that are hard to tokenize, drawn from a grammar: combining and joined characters, every kind of blank, the mark of a
// blank, NUL, long runs, bytes that are no UTF-8, names of control symbols, pieces of the model and parts of them.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::data::golden {

class NastyText {
 public:
  // `words`: what the texts are made of beside the grammar's own atoms, such as a model's pieces.
  NastyText(std::uint64_t seed, std::vector<std::string> words) : random_(seed), words_(std::move(words)) {}
  std::string next();  // some ten atoms; one of a thousand is tens of KiB

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::string atom();
  std::string word();
  std::string monotone();

  std::mt19937_64 random_;
  std::vector<std::string> words_;
};

}  // namespace convoy::data::golden

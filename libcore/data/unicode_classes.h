// SPDX-License-Identifier: Apache-2.0
// Classes of characters as Hugging Face's tokenizers 0.23 sees them (Unicode 16), which are no installed library's: the table
// is made from that package, so that what is split is the same whatever Unicode the machine has.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::data {

enum CharacterClass : std::uint8_t {
  kLetter = 1,    // \p{L}
  kNumber = 2,    // \p{N}
  kSpace = 4,     // \s
  kWord = 8,      // \w as single_word of an added token means it
  kNumeric = 16,  // what Digits splits
};

class CharacterClasses {
 public:
  CharacterClasses();
  std::uint8_t of(std::uint32_t code) const { return classes_[code]; }

 private:
  std::vector<std::uint8_t> classes_;  // a byte a character; only the pages that texts use are ever read
};

// The text with each character that the linked Oniguruma may not know, being newer, replaced by one of the same category and
// of as many bytes. Offsets stay as they are.
std::string with_known_characters(std::string_view text);  // valid UTF-8

// The generated table.
struct ClassRun {
  std::uint32_t first = 0;  // to the next run's
  std::uint8_t classes = 0;
};
struct StandIn {
  std::uint32_t first = 0, last = 0;
  std::uint32_t code = 0;
};
std::span<const ClassRun> class_runs();
std::span<const StandIn> stand_ins();  // in order of their characters

}  // namespace convoy::data

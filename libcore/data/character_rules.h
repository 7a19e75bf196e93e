// SPDX-License-Identifier: Apache-2.0
// The rewriting rules of a SentencePiece normaliser (normalizer_spec.precompiled_charsmap): a serialized double array of
// darts-clone (S. Yata, https://github.com/s-yata/darts-clone), whose values are offsets of replacements that end with NUL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::data {

class CharacterRules {
 public:
  CharacterRules() = default;  // no rule
  // nullopt: the bytes are cut, a replacement lies outside or is no UTF-8, or a rule is very long (an array may run in a circle).
  static std::optional<CharacterRules> parse(std::string_view bytes);

  struct Match {
    std::size_t bytes = 0;  // 0: no rule matches where the text begins
    std::string_view replacement;
  };
  Match longest(std::string_view text) const;  // of all rules that match there

  bool empty() const { return units_.empty(); }
  std::size_t longest_rule() const { return longest_rule_; }  // what it replaces, in bytes
  // Whether a rule is `byte` alone or begins with it and another ASCII byte.
  bool rewrites_within_ascii(unsigned char byte) const;

 private:
  bool step(std::uint32_t& position, unsigned char byte, std::uint32_t& unit) const;

  std::optional<std::size_t> depth() const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
  std::size_t longest_rule_ = 0;
};

}  // namespace convoy::data

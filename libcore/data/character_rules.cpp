// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/character_rules.h"

#include <algorithm>
#include <cstring>

#include "libcore/base/utf8.h"

namespace convoy::data {
namespace {

// A unit is a node (label, offset to its children, whether a value is among them) or a value (highest bit set).
constexpr std::uint32_t kIsValue = 1U << 31;
constexpr std::size_t kMostRuleBytes = 256;

std::uint32_t label_of(std::uint32_t unit) { return unit & (kIsValue | 0xFFU); }
std::uint32_t offset_of(std::uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); }
bool has_value(std::uint32_t unit) { return ((unit >> 8) & 1U) != 0; }
std::uint32_t value_of(std::uint32_t unit) { return unit & ~kIsValue; }

}  // namespace

std::optional<CharacterRules> CharacterRules::parse(std::string_view bytes) {
  std::uint32_t trie_bytes = 0;
  if (bytes.size() <= sizeof trie_bytes) return std::nullopt;
  std::memcpy(&trie_bytes, bytes.data(), sizeof trie_bytes);
  bytes.remove_prefix(sizeof trie_bytes);
  if (trie_bytes >= bytes.size() || trie_bytes % sizeof(std::uint32_t) != 0 || trie_bytes == 0) return std::nullopt;
  CharacterRules rules;
  rules.units_.resize(trie_bytes / sizeof(std::uint32_t));
  std::memcpy(rules.units_.data(), bytes.data(), trie_bytes);
  rules.replacements_ = bytes.substr(trie_bytes);
  const std::string& text = rules.replacements_;
  if (text.empty() || text.back() != '\0' || find_invalid_utf8(text) != std::string_view::npos) return std::nullopt;
  for (const std::uint32_t unit : rules.units_) {
    if ((unit & kIsValue) == 0) continue;
    const std::uint32_t at = value_of(unit);
    if (at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) return std::nullopt;
  }
  const auto depth = rules.depth();
  if (!depth) return std::nullopt;
  rules.longest_rule_ = *depth;
  return rules;
}

// Of the trie, level by level. Levels may meet: darts-clone shares what is equal.
std::optional<std::size_t> CharacterRules::depth() const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> children;  // where a node's children are reckoned from, and a child
  for (std::uint32_t unit = 0; unit < units_.size(); ++unit) {
    if ((units_[unit] & kIsValue) == 0) children.emplace_back(unit ^ label_of(units_[unit]), unit);
  }
  std::sort(children.begin(), children.end());
  std::vector<std::uint32_t> level{offset_of(units_[0])}, next;
  for (std::size_t depth = 0; depth <= kMostRuleBytes; ++depth) {
    next.clear();
    for (const std::uint32_t position : level) {
      auto child = std::lower_bound(children.begin(), children.end(), std::pair(position, std::uint32_t{0}));
      for (; child != children.end() && child->first == position; ++child) next.push_back(child->second ^ offset_of(units_[child->second]));
    }
    if (next.empty()) return depth;
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    std::swap(level, next);
  }
  return std::nullopt;
}

bool CharacterRules::step(std::uint32_t& position, unsigned char byte, std::uint32_t& unit) const {
  position ^= byte;
  if (position >= units_.size()) return false;
  unit = units_[position];
  if (label_of(unit) != byte) return false;
  position ^= offset_of(unit);
  return true;
}

CharacterRules::Match CharacterRules::longest(std::string_view text) const {
  Match match;
  if (empty()) return match;
  std::uint32_t position = offset_of(units_[0]), unit = 0;
  for (std::size_t i = 0; i < text.size() && step(position, static_cast<unsigned char>(text[i]), unit); ++i) {
    if (!has_value(unit) || position >= units_.size() || (units_[position] & kIsValue) == 0) continue;
    match = {i + 1, std::string_view(replacements_.c_str() + value_of(units_[position]))};
  }
  return match;
}

bool CharacterRules::rewrites_within_ascii(unsigned char byte) const {
  if (empty()) return false;
  std::uint32_t position = offset_of(units_[0]), unit = 0;
  if (!step(position, byte, unit)) return false;
  if (has_value(unit)) return true;
  for (unsigned int next = 0; next < 0x80; ++next) {
    std::uint32_t at = position, child = 0;
    if (step(at, static_cast<unsigned char>(next), child)) return true;
  }
  return false;
}

}  // namespace convoy::data

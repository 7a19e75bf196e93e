// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/character_rules.h"

#include <gtest/gtest.h>

#include <cstring>

#include "golden.h"
#include "libcore/data/byte_trie.h"
#include "libcore/data/model_proto.h"

namespace convoy::data {
namespace {

std::string nmt_nfkc() { return parse_model(golden::content(golden::folder() / "models" / "uni.model")).character_map; }

TEST(CharacterRules, FindsTheLongestRule) {
  const CharacterRules rules = CharacterRules::parse(nmt_nfkc()).value();
  EXPECT_EQ(rules.longest("\xef\xac\x81x").replacement, "fi");
  EXPECT_EQ(rules.longest("\xef\xac\x81x").bytes, 3u);
  EXPECT_EQ(rules.longest("e\xcc\x81").replacement, "\xc3\xa9");
  EXPECT_EQ(rules.longest("e\xcc\x81").bytes, 3u);
  // Half-width HA is a rule, and so is it with a voiced mark: they give HA and BA.
  EXPECT_EQ(rules.longest("\xef\xbe\x8a").replacement, "\xe3\x83\x8f");
  EXPECT_EQ(rules.longest("\xef\xbe\x8a\xef\xbe\x9e").replacement, "\xe3\x83\x90");
  EXPECT_EQ(rules.longest("\xef\xbe\x8a\xef\xbe\x9e").bytes, 6u);
  EXPECT_EQ(rules.longest("ex").bytes, 0u);
  EXPECT_EQ(rules.longest("").bytes, 0u);
  EXPECT_EQ(rules.longest("\t").replacement, " ");
}

TEST(CharacterRules, KnowsWhichAsciiIsRewritten) {
  const CharacterRules rules = CharacterRules::parse(nmt_nfkc()).value();
  EXPECT_TRUE(rules.rewrites_within_ascii('\t'));
  EXPECT_FALSE(rules.rewrites_within_ascii('e'));
  EXPECT_FALSE(CharacterRules().rewrites_within_ascii('\t'));
}

TEST(CharacterRules, RefusesBytesThatAreCut) {
  const std::string whole = nmt_nfkc();
  for (const std::size_t bytes : {0u, 3u, 4u, 100u}) EXPECT_FALSE(CharacterRules::parse(whole.substr(0, bytes))) << bytes;
  EXPECT_FALSE(CharacterRules::parse(whole.substr(0, whole.size() - 1))) << "the last replacement has no end";
}

TEST(CharacterRules, KnowsTheLongestRule) {
  // U+1112 U+1161 U+11AB, a syllable of three, is nine bytes; a letter with two marks is no longer.
  EXPECT_GE(CharacterRules::parse(nmt_nfkc())->longest_rule(), 9u);
  EXPECT_LE(CharacterRules::parse(nmt_nfkc())->longest_rule(), 32u);
}

// Unit 0 leads to the children from 1 on, of which 'a', at 1 ^ 'a', leads there again.
TEST(CharacterRules, RefusesAnArrayThatRunsInACircle) {
  std::vector<std::uint32_t> units(256, 0x80000000U);
  units[0] = 1U << 10;
  const std::uint32_t child = 1U ^ 'a';
  units[child] = ((child ^ 1U) << 10) | 'a';
  std::string bytes(4, '\0');
  const auto trie_bytes = static_cast<std::uint32_t>(units.size() * 4);
  std::memcpy(bytes.data(), &trie_bytes, 4);
  bytes.append(reinterpret_cast<const char*>(units.data()), trie_bytes);
  bytes.push_back('\0');
  EXPECT_FALSE(CharacterRules::parse(bytes));
  units[child] = 200U << 10 | 'a';
  bytes.replace(4, trie_bytes, reinterpret_cast<const char*>(units.data()), trie_bytes);
  ASSERT_TRUE(CharacterRules::parse(bytes));
  EXPECT_EQ(CharacterRules::parse(bytes)->longest_rule(), 1u);
}

TEST(ByteTrie, FindsTheLongestKeyThatBeginsAText) {
  const ByteTrie trie({{"a", 0}, {"ab", 1}, {"abcd", 2}, {"\xff", 3}, {std::string("\0x", 2), 4}});
  EXPECT_EQ(trie.longest_prefix("abc").value, 1);
  EXPECT_EQ(trie.longest_prefix("abc").bytes, 2u);
  EXPECT_EQ(trie.longest_prefix("abcde").value, 2);
  EXPECT_EQ(trie.longest_prefix("\xff").value, 3);
  EXPECT_EQ(trie.longest_prefix(std::string_view("\0x", 2)).value, 4);
  EXPECT_EQ(trie.longest_prefix("b").bytes, 0u);
  EXPECT_EQ(ByteTrie().longest_prefix("a").bytes, 0u);
}

TEST(ByteTrie, HoldsEveryKeyOfMany) {
  std::vector<std::pair<std::string, std::int32_t>> keys;
  for (int i = 0; i < 20000; ++i) keys.emplace_back(std::to_string(i * 7919 % 20011) + "/" + std::string(1, static_cast<char>(i)), i);
  const ByteTrie trie(keys);
  for (const auto& [text, value] : keys) ASSERT_EQ(trie.longest_prefix(text).value, value) << text;
}

}  // namespace
}  // namespace convoy::data

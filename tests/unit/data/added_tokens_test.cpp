// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/added_tokens.h"

#include <gmock/gmock.h>

#include <ctime>

namespace convoy::data {
namespace {

using testing::ElementsAre;

std::vector<std::string> parts_of(std::string_view text, std::vector<AddedToken> tokens) {
  const CharacterClasses classes;
  const AddedTokens added(std::move(tokens), classes);
  std::vector<std::string> parts;
  added.split(text, [&](std::string_view part) { parts.emplace_back(part); }, [&](const AddedToken& token) { parts.push_back(std::to_string(token.id)); });
  return parts;
}

TEST(AddedTokens, ATokenTakesTheBlanksBeforeItThatNoOtherOneHas) {
  EXPECT_THAT(parts_of("a  <x>  <y>  b", {{.content = "<x>", .id = 1, .rstrip = true}, {.content = "<y>", .id = 2, .lstrip = true}}),
              ElementsAre("a  ", "1", "2", "  b"));
  EXPECT_THAT(parts_of("a  <x>  <y>", {{.content = "<x>", .id = 1}, {.content = "<y>", .id = 2, .lstrip = true}}), ElementsAre("a  ", "1", "2"));
}

// Looked through from its beginning for each token, the run would take minutes.
TEST(AddedTokens, ARunOfTokensThatAreBlanksCostsItsLength) {
  constexpr std::size_t kTokens = 400'000;
  const std::clock_t start = std::clock();
  const auto parts = parts_of(std::string(kTokens, ' '), {{.content = " ", .id = 7, .lstrip = true}});
  EXPECT_LT(std::clock() - start, 5 * CLOCKS_PER_SEC);
  EXPECT_EQ(parts, std::vector<std::string>(kTokens, "7"));
}

}  // namespace
}  // namespace convoy::data

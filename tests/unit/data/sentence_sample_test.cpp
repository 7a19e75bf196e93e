// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/sentence_sample.h"

#include <gmock/gmock.h>

namespace convoy::data {
namespace {

using testing::ElementsAre;

std::vector<std::string> parts(std::string_view line, std::size_t most) {
  std::vector<std::string> found;
  split_at_blanks(line, most, [&](std::string_view part) { found.emplace_back(part); });
  return found;
}

TEST(SplitAtBlanks, CutsAtTheLastBlankThatFits) {
  EXPECT_THAT(parts("aa bb cc", 5), ElementsAre("aa bb", "cc"));
  EXPECT_THAT(parts("aa bb cc", 4), ElementsAre("aa", "bb", "cc"));
  EXPECT_THAT(parts("aa bb cc", 8), ElementsAre("aa bb cc"));
  EXPECT_THAT(parts("", 8), ElementsAre());
}

TEST(SplitAtBlanks, CutsBetweenCharactersWhereThereIsNoBlank) {
  EXPECT_THAT(parts("abcdefgh", 3), ElementsAre("abc", "def", "gh"));
  EXPECT_THAT(parts("\xe6\xb5\xb7\xe6\xb5\xb7\xe6\xb5\xb7", 7), ElementsAre("\xe6\xb5\xb7\xe6\xb5\xb7", "\xe6\xb5\xb7"));
  EXPECT_THAT(parts("    x", 2), ElementsAre("  ", " x"));
}

TEST(SentenceSample, TakesLinesWithoutTheirEnds) {
  SentenceSample sample(1000, 1);
  sample.add_text("one\n\n two\r\nthree");
  EXPECT_EQ(sample.counts().lines, 3);
  EXPECT_EQ(sample.kept_bytes(), 3 + 4 + 5);
  EXPECT_THAT(sample.take(), ElementsAre("one", " two", "three"));
}

TEST(SentenceSample, CountsWhatItLeavesOut) {
  SentenceSample sample(100000, 1);
  sample.add_text("good\nbad \xff\nreserved \xe2\x96\x85\n" + std::string(5000, 'x'));
  EXPECT_EQ(sample.counts().invalid_utf8, 1);
  EXPECT_EQ(sample.counts().reserved, 1);
  EXPECT_EQ(sample.counts().split_lines, 1);
  EXPECT_THAT(sample.take(), ElementsAre("good", std::string(4096, 'x'), std::string(904, 'x')));
}

std::string numbered_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(100000 + i) + "\n";
  return text;
}

TEST(SentenceSample, KeepsTheWantedBytesInTheTextsOrder) {
  SentenceSample sample(600, 1);
  sample.add_text(numbered_lines(1000));
  EXPECT_EQ(sample.counts().sampled_out, 900);
  const std::vector<std::string> kept = sample.take();
  EXPECT_EQ(kept.size(), 100u);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  // The mean of 100 numbers uniform in [0, 1000) lies within 5 standard deviations (29) of 499.5.
  double sum = 0;
  for (const std::string& line : kept) sum += std::stod(line) - 100000;
  EXPECT_NEAR(sum / 100, 499.5, 5 * 29);
}

TEST(SentenceSample, DependsOnTheSeedAndNotOnHowTheTextArrives) {
  const std::string text = numbered_lines(1000);
  SentenceSample a(600, 1), b(600, 1), other(600, 2);
  a.add_text(text);
  b.add_text(text.substr(0, 3500));
  b.add_text(text.substr(3500));
  other.add_text(text);
  const auto kept = a.take();
  EXPECT_EQ(b.take(), kept);
  EXPECT_NE(other.take(), kept);
}

}  // namespace
}  // namespace convoy::data

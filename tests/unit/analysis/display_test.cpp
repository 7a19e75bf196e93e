// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/display.h"

#include <gtest/gtest.h>

#include "libcore/analysis/text_table.h"

namespace convoy::analysis {
namespace {

TEST(Printable, ShowsControlCharactersAndKeepsOtherText) {
  EXPECT_EQ(printable("n01"), "n01");
  EXPECT_EQ(printable("a\nb\x1b[31m"), "a\\x0ab\\x1b[31m");
  EXPECT_EQ(printable("n\u0153ud-07"), "n\u0153ud-07");
  EXPECT_EQ(printable("a\u202Eb"), "a\\u{202e}b");
  EXPECT_EQ(printable("\u0085"), "\\x85");
}

TEST(Printable, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(printable("a\xff"
                      "b"),
            "a\uFFFD"
            "b");
  EXPECT_EQ(printable("\xe8\xa8"), "\uFFFD\uFFFD");            // cut off
  EXPECT_EQ(printable("\xc0\xaf"), "\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
}

TEST(DisplayWidth, CountsColumnsOfTheTerminal) {
  EXPECT_EQ(display_width("n01"), 3);
  EXPECT_EQ(display_width("n\u0153ud-07"), 7);
  EXPECT_EQ(display_width("\u8A08\u7B97-1"), 6);  // two wide letters
  EXPECT_EQ(display_width("e\u0301"), 1);         // a combining accent
}

TEST(Shortened, CutsAtALetterAndSaysSo) {
  EXPECT_EQ(shortened("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(shortened("abcdefghi", 8), "abcde...");
  EXPECT_EQ(display_width(shortened("\u8A08\u7B97\u8A08\u7B97\u8A08\u7B97", 8)),
            7);  // a wide letter does not fit in half
  EXPECT_EQ(shortened("abcdef", 2), "..");
}

TEST(TextTable, AlignsByDisplayWidth) {
  const auto lines = table_lines({{"host"}, {"ms", true}}, {{"\u8A08\u7B97-1", "1.5"}, {"n", "12.5"}}, 80);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "host      ms");
  EXPECT_EQ(lines[1], "\u8A08\u7B97-1   1.5");
  EXPECT_EQ(lines[2], "n       12.5");
}

TEST(TextTable, ShortensWhatMayShrinkToFit) {
  const auto lines = table_lines({{"host", false, true}, {"ms", true}}, {{std::string(255, 'h'), "1.5"}}, 30);
  for (const std::string& line : lines) EXPECT_LE(display_width(line), 30);
  EXPECT_TRUE(lines[1].ends_with("...  1.5")) << lines[1];
}

TEST(Wrapped, BreaksAtBlanksAndIndents) {
  const auto lines = wrapped("one two three four", 9, 2);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "one two");
  EXPECT_EQ(lines[1], "  three");
  EXPECT_EQ(lines[2], "  four");
  EXPECT_TRUE(wrapped("", 20).empty());
}

}  // namespace
}  // namespace convoy::analysis

// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/utf8.h"

#include <gtest/gtest.h>

namespace convoy {
namespace {

TEST(Utf8, CodesAtTheEdgesOfEachLengthComeBack) {
  for (const std::uint32_t code :
       {0x0u, 0x41u, 0x7fu, 0x80u, 0x7ffu, 0x800u, 0xd7ffu, 0xe000u, 0xffffu, 0x10000u, 0x10ffffu}) {
    std::string text;
    append_character(code, text);
    const DecodedCharacter found = decode_character(text + "x");
    EXPECT_EQ(found.code, code);
    EXPECT_EQ(found.bytes, text.size());
    EXPECT_EQ(decode_last_character("x" + text).code, code);
    EXPECT_EQ(decode_last_character("x" + text).bytes, text.size());
  }
}

TEST(Utf8, RefusesOverlongSurrogateCutAndStrayBytes) {
  for (const char* bad : {"\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\x80", "\xe4\xb8", "\xe4", "\xf0\x9f\x98"}) {
    EXPECT_EQ(decode_character(bad).bytes, 0u) << bad;
    EXPECT_EQ(find_invalid_utf8(std::string("0123456789") + bad), 10u) << bad;
  }
}

TEST(Utf8, ValidTextHasNoInvalidOffset) {
  EXPECT_EQ(find_invalid_utf8(""), std::string_view::npos);
  EXPECT_EQ(find_invalid_utf8("plain ascii, longer than a word"), std::string_view::npos);
  EXPECT_EQ(find_invalid_utf8("a\xc3\xa9\xe6\xb5\xb7\xf0\x9f\x9a\xa2z"), std::string_view::npos);
  EXPECT_EQ(find_invalid_utf8(std::string_view("\0\0", 2)), std::string_view::npos);
}

TEST(Utf8, LastCharacterNeedsAWholeOne) {
  EXPECT_EQ(decode_last_character("").bytes, 0u);
  EXPECT_EQ(decode_last_character("\x80").bytes, 0u);
  EXPECT_EQ(decode_last_character("a\x80").bytes, 0u);
  EXPECT_EQ(decode_last_character("\xe4\xb8").bytes, 0u);
}

// Against the check of the whole text, for every place of a cut and a second one.
TEST(Utf8Check, CutsDoNotShow) {
  for (const char* text : {"", "a\xc3\xa9\xe6\xb5\xb7\xf0\x9f\x9a\xa2z", "ab\xe4\xb8", "\xf0\x9f\x98", "\xe4 xyz", "ok\xff", "\xed\xa0\x80", "\xf0\x9f\x9a\xa2\xf0\x9f\x9a\xc3\xa9"}) {
    const std::string_view whole = text;
    for (std::size_t first = 0; first <= whole.size(); ++first) {
      for (std::size_t second = first; second <= whole.size(); ++second) {
        Utf8Check check;
        check.add(whole.substr(0, first));
        check.add(whole.substr(first, second - first));
        check.add(whole.substr(second));
        EXPECT_EQ(check.first_invalid(), find_invalid_utf8(whole)) << testing::PrintToString(text) << " cut at " << first << " and " << second;
      }
    }
  }
}

}  // namespace
}  // namespace convoy

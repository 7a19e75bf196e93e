// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/json.h"

#include <cmath>
#include <cstdlib>
#include <limits>

namespace convoy {
namespace {

TEST(JsonQuoted, EscapesWhatRfc8259Demands) {
  EXPECT_EQ(json_quoted("a\"b\\c/\n\t\r\b\f\x01"), R"("a\"b\\c/\n\t\r\b\f\u0001")");
  EXPECT_EQ(json_quoted(std::string_view("\0", 1)), R"("\u0000")");
}

TEST(JsonQuoted, LeavesUtf8AsItIs) {
  EXPECT_EQ(json_quoted("é€😀"), "\"é€😀\"");
  EXPECT_EQ(json_quoted("\xF4\x8F\xBF\xBF"), "\"\xF4\x8F\xBF\xBF\"");  // U+10FFFF, the last one
}

TEST(JsonQuoted, ReplacesBytesThatAreNoUtf8) {
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(json_quoted("a\xFF"), "\"a" + replacement + "\"");
  EXPECT_EQ(json_quoted("\xE2\x82"), "\"" + replacement + replacement + "\"");                    // cut
  EXPECT_EQ(json_quoted("\xC0\x80"), "\"" + replacement + replacement + "\"");                    // overlong
  EXPECT_EQ(json_quoted("\xE0\x80\xAF"), "\"" + replacement + replacement + replacement + "\"");  // overlong
  EXPECT_EQ(json_quoted("\xF0\x82\x82\xAC").size(), 2 + 4 * replacement.size());                  // overlong
  EXPECT_EQ(json_quoted("\xED\xA0\x80"), "\"" + replacement + replacement + replacement + "\"");  // a surrogate
  EXPECT_EQ(json_quoted("\xF4\x90\x80\x80").size(), 2 + 4 * replacement.size());                  // beyond U+10FFFF
}

TEST(JsonNumber, IsTheShortestThatReadsBack) {
  EXPECT_EQ(json_number(0.1), "0.1");
  EXPECT_EQ(json_number(0.1f), "0.1");
  EXPECT_EQ(json_number(3.0), "3");
  EXPECT_EQ(json_number(-0.0), "-0");
  for (const double value : {1.0 / 3, 1e300, 5e-324, 123456789.123456789, std::numeric_limits<double>::max()}) {
    EXPECT_EQ(std::strtod(json_number(value).c_str(), nullptr), value);
  }
  for (const float value : {1.0f / 3, 1e-40f, 16777217.0f})
    EXPECT_EQ(std::strtof(json_number(value).c_str(), nullptr), value);
}

TEST(JsonNumber, OfWhatIsNotFiniteIsNull) {
  EXPECT_EQ(json_number(std::nan("")), "null");
  EXPECT_EQ(json_number(-std::numeric_limits<float>::infinity()), "null");
}

TEST(JsonObjects, KeepTheOrderOfTheirKeys) {
  JsonObject object;
  EXPECT_EQ(object.text(), "{}");
  object.add("z", 1)
      .add("a", "text")
      .add("t", true)
      .add("x", 0.5)
      .add("n", std::int64_t{1} << 60)
      .add_raw("list", "[1,2]");
  EXPECT_EQ(object.text(), R"({"z":1,"a":"text","t":true,"x":0.5,"n":1152921504606846976,"list":[1,2]})");
}

}  // namespace
}  // namespace convoy

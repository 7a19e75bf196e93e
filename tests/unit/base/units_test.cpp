// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/units.h"

namespace convoy {
namespace {

using testing::HasSubstr;

TEST(ParseCount, ReadsPowersOfThousandAndOf1024) {
  const std::vector<std::pair<std::string, std::int64_t>> known = {{"0", 0},
                                                                   {"1000", 1000},
                                                                   {"64Ki", 65536},
                                                                   {"1.5B", 1500000000},
                                                                   {"3e9", 3000000000},
                                                                   {"300M", 300000000},
                                                                   {"2T", 2000000000000},
                                                                   {"1.5Ki", 1536},
                                                                   {"-3", -3},
                                                                   {"+7", 7},
                                                                   {"1e3K", 1000000},
                                                                   {"9223372036854775807", 9223372036854775807},
                                                                   {"1.0", 1},
                                                                   {".5K", 500}};
  for (const auto& [text, value] : known) {
    EXPECT_TRUE(parse_count(text).ok()) << text << ": " << parse_count(text).problem;
    EXPECT_EQ(parse_count(text).value, value) << text;
  }
}

TEST(ParseCount, RefusesWhatIsNotAWholeNumberAndSaysTheRule) {
  for (const char* text : {"", "x", "1.5", "0.1Ki", "1 0", "10 K", "1e", "--1", "1.2.3", "9223372036854775808", "1e19",
                           "10000000T", "12Q", "0x10", "1,000", "nan", "."}) {
    EXPECT_THAT(parse_count(text).problem, HasSubstr("whole number")) << "'" << text << "'";
  }
}

TEST(ParseBytes, ReadsBothFamiliesWithAndWithoutB) {
  const std::vector<std::pair<std::string, std::int64_t>> known = {
      {"4096", 4096},       {"64KiB", 65536},     {"64Ki", 65536}, {"200M", 200000000},
      {"200MB", 200000000}, {"4GiB", 4294967296}, {"12B", 12},     {"0.1GiB", 107374182}};
  for (const auto& [text, value] : known)
    EXPECT_EQ(parse_bytes(text).value, value) << text << parse_bytes(text).problem;
  EXPECT_THAT(parse_bytes("4 apples").problem, HasSubstr("size in bytes"));
  EXPECT_FALSE(parse_bytes("GiB").ok());
}

TEST(ParseSeconds, ReadsPlainSecondsAndFallingUnits) {
  const std::vector<std::pair<std::string, double>> known = {
      {"90", 90},      {"90s", 90},   {"500ms", 0.5}, {"10m", 600},
      {"2h30m", 9000}, {"1d", 86400}, {"1.5h", 5400}, {"1d2h3m4s5ms", 93784.005}};
  for (const auto& [text, value] : known) EXPECT_DOUBLE_EQ(parse_seconds(text).value, value) << text;
  for (const char* text : {"", "s", "10x", "-5", "5m2h", "5m5m", "10m5", "1 h"}) {
    EXPECT_THAT(parse_seconds(text).problem, HasSubstr("duration")) << "'" << text << "'";
  }
}

TEST(ParseReal, TakesFiniteDecimalsOnly) {
  EXPECT_EQ(parse_real("3e-4").value, 3e-4);
  EXPECT_EQ(parse_real("-0.5").value, -0.5);
  EXPECT_EQ(parse_real("+2").value, 2);
  for (const char* text : {"", "inf", "nan", "1e999", "1x", "0.1 ", "0,1"})
    EXPECT_FALSE(parse_real(text).ok()) << "'" << text << "'";
}

TEST(FormatCount, ShowsThreeDigits) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1530000), "1.53 M");
  EXPECT_EQ(format_count(999600), "1.00 M");
  EXPECT_EQ(format_count(124e6), "124 M");
}

TEST(FormatBytes, UsesPowersOf1024) {
  EXPECT_EQ(format_bytes(12), "12 B");
  EXPECT_EQ(format_bytes(1.5 * 1024 * 1024 * 1024), "1.50 GiB");
}

TEST(FormatSeconds, UsesTwoUnitsAtMost) {
  EXPECT_EQ(format_seconds(0.25), "250 ms");
  EXPECT_EQ(format_seconds(4.1), "4.1 s");
  EXPECT_EQ(format_seconds(59.7), "1m 0s");
  EXPECT_EQ(format_seconds(125), "2m 5s");
  EXPECT_EQ(format_seconds(7380), "2h 3m");
  EXPECT_EQ(format_seconds(90000), "1d 1h");
}

}  // namespace
}  // namespace convoy

// SPDX-License-Identifier: Apache-2.0
#include "libcore/config/run_options.h"

#include "libcore/trace/recorder.h"

namespace convoy::config {
namespace {

using Pair = std::pair<std::string, std::string>;

TEST(NamedPrefix, TakesTheNameBeforeTheEqualsSign) { EXPECT_EQ(named_prefix("news=data/n"), Pair("news", "data/n")); }

TEST(NamedPrefix, NamesASetAfterItsLastComponent) {
  EXPECT_EQ(named_prefix("data/docs.valid"), Pair("docs.valid", "data/docs.valid"));
}

TEST(NamedPrefix, LeavesAnEqualsSignInsideAPathAlone) {
  EXPECT_EQ(named_prefix("data/lr=3/x"), Pair("x", "data/lr=3/x"));
}

TEST(WsdDecayStart, LeavesTheLastShareToTheNearestUpdateAndAtLeastOne) {
  EXPECT_EQ(wsd_decay_start(100, 0.2), 80);
  EXPECT_EQ(wsd_decay_start(10, 0.25), 7);  // 2.5 updates decay: three
  EXPECT_EQ(wsd_decay_start(10, 0.01), 9);
  EXPECT_EQ(wsd_decay_start(10, 1.0), 0);
  EXPECT_EQ(wsd_decay_start(1, 0.2), 0);
}

TEST(Cadence, ReadsStepsWithUnits) {
  Cadence cadence;
  EXPECT_EQ(parse_cadence("1K", cadence), "");
  EXPECT_EQ(cadence.steps, 1000);
  EXPECT_EQ(cadence.seconds, 0.0);
}

TEST(Cadence, ReadsATime) {
  Cadence cadence;
  EXPECT_EQ(parse_cadence("2h30m", cadence), "");
  EXPECT_EQ(cadence.steps, 0);
  EXPECT_EQ(cadence.seconds, 9000.0);
}

TEST(Cadence, RefusesZeroAndNonsense) {
  Cadence cadence;
  for (const char* text : {"0", "0s", "-3", "often", "m", ""}) {
    EXPECT_THAT(parse_cadence(text, cadence), testing::HasSubstr("number of steps")) << text;
  }
}

TEST(Split, ReadsNumbersWithCommas) {
  std::vector<std::int64_t> split;
  EXPECT_EQ(parse_split("5,6,6,5", split), "");
  EXPECT_THAT(split, testing::ElementsAre(5, 6, 6, 5));
  for (const char* text : {"", "5,", ",5", "5,0", "5;6", "5,-1"}) EXPECT_NE(parse_split(text, split), "") << text;
}

TEST(Steps, AreARangeOrOne) {
  trace::Window steps;
  EXPECT_EQ(parse_steps("100-110", steps), "");
  EXPECT_EQ(steps.first, 100);
  EXPECT_EQ(steps.last, 110);
  EXPECT_EQ(parse_steps("1K", steps), "");
  EXPECT_EQ(steps.first, 1000);
  EXPECT_EQ(steps.last, 1000);
  for (const char* text : {"", "0", "0-5", "5-3", "-3", "3-", "3-4-5", "a-b", "3..5"})
    EXPECT_THAT(parse_steps(text, steps), testing::HasSubstr("FIRST-LAST")) << text;
}

}  // namespace
}  // namespace convoy::config

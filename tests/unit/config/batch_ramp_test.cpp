// SPDX-License-Identifier: Apache-2.0
#include "libcore/config/batch_ramp.h"

#include <limits>

namespace convoy::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<RampPoint> read(const std::string& text) {
  std::vector<RampPoint> ramp;
  EXPECT_EQ(parse_ramp(text, ramp), "") << text;
  return ramp;
}

std::string problem_of(const std::string& text) {
  std::vector<RampPoint> ramp;
  return parse_ramp(text, ramp);
}

TEST(ParseRamp, ReadsTokensAndSequencesWithUnits) {
  EXPECT_THAT(read("0:32,1B:64"), ElementsAre(RampPoint{0, 32}, RampPoint{1000000000, 64}));
  EXPECT_THAT(read("0:1K"), ElementsAre(RampPoint{0, 1000}));
}

TEST(ParseRamp, RefusesWhatIsNoListOfPairs) {
  for (const char* text : {"", "32", "0:", ":32", "0:32,", "0:0", "0:-1", "-1:8", "0:32;1B:64", "0:32,x:64"})
    EXPECT_THAT(problem_of(text), HasSubstr("no list of TOKENS:SEQUENCES")) << text;
}

TEST(ParseRamp, BeginsAtTokenZeroAndRises) {
  EXPECT_THAT(problem_of("1:32"), HasSubstr("does not begin at token 0"));
  for (const char* text : {"0:32,0:64", "0:32,10:64,5:128", "0:32,10:32", "0:32,10:16"})
    EXPECT_THAT(problem_of(text), HasSubstr("does not rise")) << text;
}

TEST(GlobalBatches, OfOneSizeAreAllAlike) {
  const GlobalBatches batches(8);
  EXPECT_EQ(batches.at(0), 8);
  EXPECT_EQ(batches.at(1000000), 8);
  EXPECT_EQ(batches.largest(), 8);
  EXPECT_EQ(batches.advance(16, 3), 40);
  EXPECT_EQ(batches.steps_to(0), 0);
  EXPECT_EQ(batches.steps_to(17), 3);
}

// T 10; 4 sequences from token 0, 8 from token 95 (sample 9.5: from 10 samples on), 16 from token 300. By hand: steps
// begin at samples 0 4 8 | 12 20 28 | 36 52.
TEST(GlobalBatches, GrowWithTheFirstStepBeforeWhichTheTokensWereRead) {
  const GlobalBatches batches(read("0:4,95:8,300:16"), 10);
  for (const auto& [consumed, batch] : {std::pair{0, 4}, {8, 4}, {9, 4}, {10, 8}, {12, 8}, {29, 8}, {30, 16}, {36, 16}})
    EXPECT_EQ(batches.at(consumed), batch) << consumed;
  std::int64_t consumed = 0;
  for (const std::int64_t start : {0, 4, 8, 12, 20, 28, 36, 52}) {
    EXPECT_EQ(consumed, start);
    consumed += batches.at(consumed);
  }
  EXPECT_EQ(batches.largest(), 16);
}

TEST(GlobalBatches, AdvanceAndStepsToAreWhatOneStepAfterAnotherGives) {
  const GlobalBatches batches(read("0:4,95:8,300:16"), 10);
  std::int64_t consumed = 0;
  for (std::int64_t step = 0; step < 20; ++step) {
    EXPECT_EQ(batches.advance(0, step), consumed) << step;
    EXPECT_EQ(batches.steps_to(consumed), step) << step;
    EXPECT_EQ(batches.steps_to(consumed + 1), step + 1) << step;
    EXPECT_EQ(batches.advance(consumed, 3), batches.advance(0, step + 3)) << step;
    consumed += batches.at(consumed);
  }
}

TEST(GlobalBatches, ASizeThatNoStepBeginsWithinIsPassedOver) {
  const GlobalBatches batches(read("0:8,20:16,60:32"), 10);  // from samples 0, 2 and 6 on; the first step reads 8
  EXPECT_EQ(batches.at(0), 8);
  EXPECT_EQ(batches.at(8), 32);
  EXPECT_EQ(batches.advance(0, 2), 40);
}

TEST(GlobalBatches, CountToTheEndOfTheNumbers) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();  // 2^63 - 1
  EXPECT_EQ(GlobalBatches(32).steps_to(kMost), std::int64_t{1} << 58);
  EXPECT_EQ(GlobalBatches(std::vector<RampPoint>{{0, 1}, {kMost, 2}}, 1).steps_to(kMost), kMost);
}

}  // namespace
}  // namespace convoy::config

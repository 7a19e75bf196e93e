// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/console.h"

#include <limits>

namespace convoy::train {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(StepLine, HasTheSameWidthAtTheFirstAndTheLastStep) {
  const Timing timing{.step = 1,
                      .step_seconds = 1.0,
                      .tokens_per_second = 12345.0,
                      .tflops_per_device = 0.5,
                      .mfu = std::nullopt,
                      .memory_bytes = 0};
  const std::string first = step_line({.step = 1,
                                       .update = 1,
                                       .loss = 11.5,
                                       .grad_norm = 0.5,
                                       .lr = 1e-4,
                                       .tokens = 1,
                                       .consumed_samples = 1,
                                       .skipped = 0},
                                      timing, 1000, std::nullopt);
  const std::string last = step_line({.step = 1000,
                                      .update = 1000,
                                      .loss = 3.25,
                                      .grad_norm = 10.5,
                                      .lr = 1e-5,
                                      .tokens = 1,
                                      .consumed_samples = 1,
                                      .skipped = 0},
                                     timing, 1000, std::nullopt);
  EXPECT_EQ(first.size(), last.size());
  EXPECT_THAT(first, HasSubstr("step    1/1000"));
}

TEST(StepLine, SaysNoneForANonFiniteLossAndCountsSkippedSteps) {
  StepMetrics metrics{.step = 2,
                      .update = 1,
                      .loss = std::numeric_limits<double>::quiet_NaN(),
                      .grad_norm = 1.0,
                      .lr = 1e-4,
                      .tokens = 1,
                      .consumed_samples = 1,
                      .skipped = 1};
  const std::string line = step_line(metrics, {}, 10, 60.0);
  EXPECT_THAT(line, HasSubstr("none"));
  EXPECT_THAT(line, HasSubstr("skipped 1"));
  EXPECT_THAT(line, HasSubstr("eta"));
  EXPECT_THAT(line, Not(HasSubstr("mfu")));
}

TEST(LinePacer, DrawsTheFirstTheLastAndEveryNth) {
  LinePacer pacer(4, 1e9);
  std::vector<std::int64_t> drawn;
  for (std::int64_t step = 1; step <= 10; ++step) {
    if (pacer.due(step, 10)) drawn.push_back(step);
  }
  EXPECT_THAT(drawn, testing::ElementsAre(1, 4, 8, 10));
}

TEST(LinePacer, WithoutANumberGoesByTime) {
  LinePacer never(0, 1e9), always(0, 0.0);
  EXPECT_FALSE(never.due(2, 10));
  EXPECT_TRUE(always.due(2, 10));
}

}  // namespace
}  // namespace convoy::train

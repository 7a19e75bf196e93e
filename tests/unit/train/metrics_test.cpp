// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/metrics.h"

#include <cmath>
#include <limits>

namespace convoy::train {
namespace {

TEST(MetricsRow, HasTheDocumentedKeysInOrder) {
  const StepMetrics step{.step = 3,
                         .update = 2,
                         .loss = 0.1,
                         .grad_norm = 0.25,
                         .lr = 0.125,
                         .tokens = 128,
                         .consumed_samples = 12,
                         .skipped = 1};
  EXPECT_EQ(
      metrics_row(step),
      R"({"kind":"step","step":3,"update":2,"loss":0.1,"grad_norm":0.25,"lr":0.125,"tokens":128,"consumed_samples":12,"skipped":1})");
}

TEST(MetricsRow, WritesNullWhereAStepWasNotFinite) {
  StepMetrics step;
  step.loss = std::numeric_limits<double>::quiet_NaN();
  step.grad_norm = std::numeric_limits<double>::infinity();
  EXPECT_THAT(metrics_row(step), testing::HasSubstr(R"("loss":null,"grad_norm":null)"));
}

TEST(MetricsRow, HasTheLossScaleOfFp16) {
  StepMetrics step;
  EXPECT_THAT(metrics_row(step), testing::Not(testing::HasSubstr("loss_scale")));
  step.loss_scale = 65536.0;
  EXPECT_THAT(metrics_row(step), testing::HasSubstr("\"skipped\":0,\"loss_scale\":65536"));
}

TEST(MetricsRow, LossesReadBackToTheSameBits) {
  StepMetrics step;
  step.loss = std::nextafter(5.4321, 6.0);
  const std::string row = metrics_row(step);
  const std::size_t start = row.find("\"loss\":") + 7;
  EXPECT_EQ(std::stod(row.substr(start)), step.loss);
}

TEST(MetricsRow, PerplexityOfAnEvaluationIsTheExponentialOfItsLoss) {
  const EvalMetrics evaluation{.step = 4, .set = "valid", .loss = 0.0, .tokens = 10};
  EXPECT_EQ(metrics_row(evaluation), R"({"kind":"eval","step":4,"set":"valid","loss":0,"perplexity":1,"tokens":10})");
}

TEST(EventRow, UtilisationIsNullWithoutAKnownPeak) {
  Timing timing{.step = 1,
                .step_seconds = 0.5,
                .tokens_per_second = 4.0,
                .tflops_per_device = 0.25,
                .mfu = std::nullopt,
                .memory_bytes = 7};
  EXPECT_EQ(
      event_row(timing),
      R"({"kind":"timing","step":1,"step_seconds":0.5,"tokens_per_second":4,"tflops_per_device":0.25,"mfu":null,"memory_bytes":7})");
  timing.mfu = 0.5;
  EXPECT_THAT(event_row(timing), testing::HasSubstr(R"("mfu":0.5)"));
}

}  // namespace
}  // namespace convoy::train

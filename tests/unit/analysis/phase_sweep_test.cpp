// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/phase_sweep.h"

namespace convoy::analysis {
namespace {

using trace::GroupKind;
using trace::Phase;

TEST(PhaseSweep, TakesWhatIsInsideFromWhatEncloses) {
  PhaseSweep sweep;
  EXPECT_EQ(sweep.phase(100, 50, Phase::kForward), Phase::kForward);      // [100, 150)
  EXPECT_EQ(sweep.call(110, 10, GroupKind::kTensor), Phase::kForward);    // [110, 120)
  EXPECT_EQ(sweep.call(130, 20, GroupKind::kPipeline), Phase::kForward);  // [130, 150)
  EXPECT_EQ(sweep.phase(160, 30, Phase::kOptimizer), Phase::kOptimizer);  // [160, 190)
  const auto record = sweep.finish(7);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->step, 7u);
  EXPECT_EQ(record->start_ns, 100u);
  EXPECT_EQ(record->duration_ns, 90u);
  EXPECT_EQ((*record)[Phase::kForward].wall_ns, 20u);
  EXPECT_EQ((*record)[Phase::kTensorComm].wall_ns, 10u);
  EXPECT_EQ((*record)[Phase::kPipelineComm].wall_ns, 20u);
  EXPECT_EQ((*record)[Phase::kOther].wall_ns, 10u);
  EXPECT_EQ((*record)[Phase::kOptimizer].wall_ns, 30u);
}

TEST(PhaseSweep, GivesWhatOverlapsToTheLater) {
  PhaseSweep sweep;
  sweep.call(0, 30, GroupKind::kData);    // [0, 30)
  sweep.phase(20, 20, Phase::kBackward);  // [20, 40)
  sweep.phase(25, 5, Phase::kData);       // [25, 30)
  const auto record = sweep.finish(1);
  ASSERT_TRUE(record);
  EXPECT_EQ((*record)[Phase::kDataComm].wall_ns, 20u);
  EXPECT_EQ((*record)[Phase::kBackward].wall_ns, 15u);
  EXPECT_EQ((*record)[Phase::kData].wall_ns, 5u);
}

TEST(PhaseSweep, CountsAllWithinEvaluationAndCheckpointAsTheirs) {
  PhaseSweep sweep;
  sweep.phase(0, 100, Phase::kEvaluation);
  EXPECT_EQ(sweep.phase(10, 40, Phase::kForward), Phase::kEvaluation);
  EXPECT_EQ(sweep.call(20, 10, GroupKind::kTensor), Phase::kEvaluation);
  EXPECT_EQ(sweep.phase(60, 10, Phase::kWorldComm), Phase::kEvaluation);
  sweep.phase(100, 10, Phase::kCheckpoint);
  sweep.call(105, 5, GroupKind::kWorld);
  const auto record = sweep.finish(1);
  ASSERT_TRUE(record);
  EXPECT_EQ((*record)[Phase::kEvaluation].wall_ns, 80u);
  EXPECT_EQ((*record)[Phase::kEvaluationComm].wall_ns, 20u);
  EXPECT_EQ((*record)[Phase::kCheckpoint].wall_ns, 5u);
  EXPECT_EQ((*record)[Phase::kCheckpointComm].wall_ns, 5u);
  EXPECT_EQ((*record)[Phase::kForward].wall_ns, 0u);
  EXPECT_EQ(record->flags, trace::kEvaluated | trace::kSaved);
}

TEST(PhaseSweep, IsNotMadeLongerByWhatRunsBeside) {
  PhaseSweep sweep;
  EXPECT_EQ(sweep.inside_at(5), Phase::kOther) << "before everything";
  sweep.phase(10, 10, Phase::kBackward);
  EXPECT_EQ(sweep.inside_at(15), Phase::kBackward);
  EXPECT_EQ(sweep.inside_at(500), Phase::kOther) << "after everything";
  const auto record = sweep.finish(1);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->duration_ns, 10u);
  EXPECT_EQ((*record)[Phase::kBackward].wall_ns, 10u);
  EXPECT_EQ((*record)[Phase::kOther].wall_ns, 0u);
}

TEST(PhaseSweep, HasNoRecordWithoutDuration) {
  PhaseSweep empty, instant;
  EXPECT_FALSE(empty.finish(1));
  instant.phase(10, 0, Phase::kData);
  EXPECT_FALSE(instant.finish(1));
}

}  // namespace
}  // namespace convoy::analysis

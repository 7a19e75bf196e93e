// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/groups.h"

#include <gtest/gtest.h>

#include "libcore/base/error.h"
#include "libcore/comm/self.h"
#include "libcore/comm/threads.h"
#include "libcore/ops/backend.h"

namespace convoy::parallel {
namespace {

constexpr double kWatchdogSeconds = 30.0;

// The sum of the world ranks of a group, by its own all_reduce.
std::int64_t sum_of_ranks(const comm::Communicator& world, comm::Communicator& group) {
  device::Stream stream(ops::cpu_backend(), 1);
  std::int64_t sum = world.rank();
  group.all_reduce(stream, {&sum, tensor::DType::kI64, {1}, 0}, comm::Reduction::kSum);
  return sum;
}

TEST(Groups, ConnectTheRanksThatDifferInOneCoordinate) {
  const Layout layout{.tensor = 2, .pipeline = 3, .data = 2};
  comm::run_ranks(
      12,
      [&](comm::Communicator& world) {
        const Groups groups = make_groups(world, layout);
        const int tp = world.rank() % 2, pp = world.rank() / 2 % 3, dp = world.rank() / 6;
        EXPECT_EQ(groups.at, (Coordinates{tp, pp, dp}));
        EXPECT_EQ(groups.world, &world);

        EXPECT_EQ(groups.tensor->name(), "tensor");
        EXPECT_EQ(groups.tensor->rank(), tp);
        EXPECT_EQ(groups.tensor->size(), 2);
        EXPECT_EQ(sum_of_ranks(world, *groups.tensor), 2 * (2 * pp + 6 * dp) + 1);

        EXPECT_EQ(groups.pipeline->name(), "pipeline");
        EXPECT_EQ(groups.pipeline->rank(), pp);
        EXPECT_EQ(groups.pipeline->size(), 3);
        EXPECT_EQ(sum_of_ranks(world, *groups.pipeline), 3 * (tp + 6 * dp) + 2 + 4);

        EXPECT_EQ(groups.data->name(), "data");
        EXPECT_EQ(groups.data->rank(), dp);
        EXPECT_EQ(groups.data->size(), 2);
        EXPECT_EQ(sum_of_ranks(world, *groups.data), 2 * (tp + 2 * pp) + 6);

        EXPECT_EQ(groups.first_stage(), pp == 0);
        EXPECT_EQ(groups.last_stage(), pp == 2);
        ASSERT_EQ(groups.pipeline_ends != nullptr, pp != 1);
        if (pp == 1) return;
        EXPECT_EQ(groups.pipeline_ends->name(), "pipeline-ends");
        EXPECT_EQ(groups.pipeline_ends->rank(), pp / 2);
        EXPECT_EQ(sum_of_ranks(world, *groups.pipeline_ends), 2 * (tp + 6 * dp) + 4);
      },
      kWatchdogSeconds);
}

// Data innermost: rank = dp + 2 (pp + 3 tp).
TEST(Groups, ConnectTheSameCoordinatesInAnotherOrderOfRanks) {
  const Layout layout{.tensor = 2, .pipeline = 3, .data = 2, .rank_order = rank_order_of("dp,pp,tp")};
  comm::run_ranks(
      12,
      [&](comm::Communicator& world) {
        const Groups groups = make_groups(world, layout);
        const int dp = world.rank() % 2, pp = world.rank() / 2 % 3, tp = world.rank() / 6;
        EXPECT_EQ(groups.at, (Coordinates{tp, pp, dp}));
        EXPECT_EQ(groups.tensor->rank(), tp);
        EXPECT_EQ(sum_of_ranks(world, *groups.tensor), 2 * (dp + 2 * pp) + 6);
        EXPECT_EQ(groups.pipeline->rank(), pp);
        EXPECT_EQ(sum_of_ranks(world, *groups.pipeline), 3 * (dp + 6 * tp) + 2 + 4);
        EXPECT_EQ(groups.data->rank(), dp);
        EXPECT_EQ(sum_of_ranks(world, *groups.data), 2 * (2 * pp + 6 * tp) + 1);
      },
      kWatchdogSeconds);
  for (const trace::Group& group : recorded_groups(layout, 9)) {
    if (group.kind == trace::GroupKind::kTensor) {
      EXPECT_EQ(group.members, (std::vector<int>{3, 9}));
    }
    if (group.kind == trace::GroupKind::kPipeline) {
      EXPECT_EQ(group.members, (std::vector<int>{7, 9, 11}));
    }
  }
}

TEST(Groups, AreRecordedAsWhatTheyAre) {
  comm::run_ranks(
      4,
      [](comm::Communicator& world) {
        const Groups groups = make_groups(world, {.tensor = 1, .pipeline = 4, .data = 1});
        EXPECT_EQ(groups.world->kind(), trace::GroupKind::kWorld);
        EXPECT_EQ(groups.tensor->kind(), trace::GroupKind::kTensor);
        EXPECT_EQ(groups.pipeline->kind(), trace::GroupKind::kPipeline);
        EXPECT_EQ(groups.data->kind(), trace::GroupKind::kData);
        if (!groups.pipeline_ends) return;
        EXPECT_EQ(groups.pipeline_ends->kind(), trace::GroupKind::kPipelineEnds);
      },
      kWatchdogSeconds);
}

TEST(Groups, ATraceNamesThemByTheirRanksOfTheWorld) {
  const Layout layout{.tensor = 2, .pipeline = 3, .data = 2};
  const auto members = [&](int rank, trace::GroupKind kind) {
    for (const trace::Group& group : recorded_groups(layout, rank)) {
      if (group.kind == kind) return group.members;
    }
    return std::vector<int>{};
  };
  using Ranks = std::vector<int>;
  // Rank 9 = tp 1 + 2 x pp 1 + 6 x dp 1.
  EXPECT_EQ(members(9, trace::GroupKind::kWorld), (Ranks{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(members(9, trace::GroupKind::kTensor), (Ranks{8, 9}));
  EXPECT_EQ(members(9, trace::GroupKind::kPipeline), (Ranks{7, 9, 11}));
  EXPECT_EQ(members(9, trace::GroupKind::kData), (Ranks{3, 9}));
  EXPECT_EQ(members(9, trace::GroupKind::kPipelineEnds), Ranks{}) << "of a stage in the middle";
  EXPECT_EQ(members(11, trace::GroupKind::kPipelineEnds), (Ranks{7, 11}));
  EXPECT_EQ(recorded_groups({}, 0).size(), 1u) << "alone there is the world and nothing else";
}

TEST(Groups, OneRankIsAGroupInEveryDimensionAndHasNoEnds) {
  const std::unique_ptr<comm::Communicator> self = comm::make_self();
  const Groups groups = make_groups(*self, {});
  EXPECT_EQ(groups.tensor->size(), 1);
  EXPECT_EQ(groups.pipeline->size(), 1);
  EXPECT_EQ(groups.data->size(), 1);
  EXPECT_EQ(groups.pipeline_ends, nullptr);
  EXPECT_TRUE(groups.first_stage() && groups.last_stage());
}

TEST(Groups, AMeshOfAnotherSizeThanTheWorldIsOurFault) {
  const std::unique_ptr<comm::Communicator> self = comm::make_self();
  EXPECT_THROW(make_groups(*self, {.tensor = 2}), InternalError);
}

}  // namespace
}  // namespace convoy::parallel

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

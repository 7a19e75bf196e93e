// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/partial_sums.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/comm/self.h"
#include "libcore/comm/threads.h"
#include "libcore/ops/backend.h"

namespace convoy::parallel {
namespace {

constexpr double kWatchdogSeconds = 30.0;

tensor::MutableView view_of(std::vector<float>& values) {
  return {values.data(), tensor::DType::kF32, {static_cast<std::int64_t>(values.size())}, 0};
}

// Rank r of four has {r + 1, 10 (r + 1)}; ranks 0 and 1 hold the first of two parts, 2 and 3 the second: by hand {3, 30}
// and {7, 70}. All of them hold one part of the other tensor: 1 + 2 + 3 + 4.
TEST(PartialSums, AddUpOverTheRanksOfAPart) {
  comm::run_ranks(
      4,
      [](comm::Communicator& world) {
        device::Stream stream(ops::cpu_backend(), 1);
        const auto own = static_cast<float>(world.rank() + 1);
        std::vector<float> halves = {own, 10 * own}, whole = {own}, other = {own};
        PartialSums sums(world, {{3, view_of(halves), world.rank() / 2, 2}, {5, view_of(whole), 0, 1}});
        sums.sum(stream, 0, 3);
        sums.sum(stream, 4, 5);
        EXPECT_EQ(halves[0], own) << "no call was for parameter 3";
        sums.sum(stream, 2, 6);
        EXPECT_EQ(halves, world.rank() < 2 ? (std::vector<float>{3, 30}) : (std::vector<float>{7, 70}));
        EXPECT_EQ(whole, std::vector<float>{10});
        EXPECT_EQ(other, std::vector<float>{own});
      },
      kWatchdogSeconds);
}

TEST(PartialSums, OfOneStepDoNotEnterTheNext) {
  comm::run_ranks(
      2,
      [](comm::Communicator& world) {
        device::Stream stream(ops::cpu_backend(), 1);
        std::vector<float> gradient(3);
        PartialSums sums(world, {{0, view_of(gradient), 0, 1}});
        for (int step = 0; step < 2; ++step) {
          gradient = {1, 2, 3};
          sums.sum(stream, 0, 1);
          EXPECT_EQ(gradient, (std::vector<float>{2, 4, 6}));
        }
      },
      kWatchdogSeconds);
}

TEST(PartialSums, OfOneRankAreWhatItHas) {
  const std::unique_ptr<comm::Communicator> self = comm::make_self();
  device::Stream stream(ops::cpu_backend(), 1);
  std::vector<float> gradient = {1, 2};
  PartialSums(*self, {{0, view_of(gradient), 0, 1}}).sum(stream, 0, 1);
  EXPECT_EQ(gradient, (std::vector<float>{1, 2}));
}

TEST(PartialSums, APartThatTheTensorHasNotIsOurFault) {
  const std::unique_ptr<comm::Communicator> self = comm::make_self();
  std::vector<float> gradient = {1};
  EXPECT_THROW(PartialSums(*self, {{0, view_of(gradient), 2, 2}}), InternalError);
}

}  // namespace
}  // namespace convoy::parallel

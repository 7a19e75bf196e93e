// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/sharding.h"

#include <gtest/gtest.h>

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

TEST(Sharding, EachStageOfZeroSharesWhatTheOneBeforeDoesAndMore) {
  for (int zero = 0; zero <= 3; ++zero) {
    const Sharding sharding = sharding_of(zero, 4, 3);
    EXPECT_EQ(sharding.states, zero >= 1) << zero;
    EXPECT_EQ(sharding.gradients, zero >= 2) << zero;
    EXPECT_EQ(sharding.weights, zero >= 3) << zero;
    // 200 elements are four blocks of at most 64; rank 3's is the short one.
    EXPECT_EQ(sharding.share(200), zero == 0 ? (Range{0, 200}) : (Range{192, 200})) << zero;
  }
}

TEST(Sharding, OneReplicaSharesWithNobody) {
  for (int zero = 0; zero <= 3; ++zero) {
    const Sharding sharding = sharding_of(zero, 1, 0);
    EXPECT_FALSE(sharding.states || sharding.gradients || sharding.weights) << zero;
    EXPECT_EQ(sharding.share(200), (Range{0, 200})) << zero;
  }
}

TEST(Sharding, AStageThatThereIsNotIsOurFault) {
  EXPECT_THROW(sharding_of(4, 2, 0), InternalError);
  EXPECT_THROW(sharding_of(-1, 2, 0), InternalError);
}

}  // namespace
}  // namespace convoy::parallel

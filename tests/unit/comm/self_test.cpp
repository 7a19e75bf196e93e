// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/self.h"

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"

namespace convoy::comm {
namespace {

using tensor::DType;
using testing::ElementsAre;

class SelfGroup : public testing::Test {
 protected:
  static tensor::MutableView view(std::vector<float>& values) {
    return {values.data(), DType::kF32, {static_cast<std::int64_t>(values.size())}, 0};
  }

  device::Stream stream_{ops::cpu_backend(), 1};
  std::unique_ptr<Communicator> self_ = make_self();
  std::vector<float> values_ = {1, -2, 3};
  std::vector<float> other_ = {0, 0, 0};
};

TEST_F(SelfGroup, IsRankZeroOfOne) {
  EXPECT_EQ(self_->rank(), 0);
  EXPECT_EQ(self_->size(), 1);
}

TEST_F(SelfGroup, ReducesAndBroadcastsToTheSameValues) {
  self_->all_reduce(stream_, view(values_), Reduction::kSum);
  self_->all_reduce(stream_, view(values_), Reduction::kMax);
  self_->broadcast(stream_, view(values_), 0);
  self_->barrier();
  EXPECT_THAT(values_, ElementsAre(1, -2, 3));
}

TEST_F(SelfGroup, ScattersAndGathersTheWhole) {
  const std::vector<std::int64_t> counts = {3};
  self_->reduce_scatter(stream_, view(values_), view(other_), counts, Reduction::kSum);
  EXPECT_THAT(other_, ElementsAre(1, -2, 3));
  other_ = {4, 5, 6};
  self_->all_gather(stream_, view(other_), view(values_), counts);
  EXPECT_THAT(values_, ElementsAre(4, 5, 6));
  self_->all_gather(stream_, view(values_), view(values_), counts);  // in place
  EXPECT_THAT(values_, ElementsAre(4, 5, 6));
}

TEST_F(SelfGroup, SplitsIntoItselfOrNothing) {
  EXPECT_EQ(self_->split(3, 0, "group")->size(), 1);
  EXPECT_EQ(self_->split(-1, 0, "group"), nullptr);
}

TEST_F(SelfGroup, HasNobodyToTalkTo) {
  EXPECT_THROW(self_->send(stream_, view(values_), 0), InternalError);
  EXPECT_THROW(self_->receive(stream_, view(values_), 0), InternalError);
}

}  // namespace
}  // namespace convoy::comm

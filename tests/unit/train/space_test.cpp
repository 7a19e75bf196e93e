// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/space.h"

#include <limits>

namespace convoy::train {
namespace {

std::int64_t count(std::int64_t every, std::int64_t keep_last, std::int64_t keep_every, std::int64_t step = 0) {
  config::Resolved resolved;
  resolved.steps = 100;
  resolved.checkpoint_every.steps = every;
  config::OutputOptions output;
  output.keep_last = keep_last;
  output.keep_every = keep_every;
  return checkpoints_to_come(resolved, output, step);
}

TEST(CheckpointsToCome, AreAllWhereNoneGoes) {
  EXPECT_EQ(count(0, 0, 0), 1);
  EXPECT_EQ(count(10, 0, 0), 10);
  EXPECT_EQ(count(30, 0, 0), 4);  // 30, 60, 90, 100
  EXPECT_EQ(count(10, 0, 0, 70), 3);
}

TEST(CheckpointsToCome, AreOneMoreThanAreKept) {
  EXPECT_EQ(count(10, 2, 0), 3);
  EXPECT_EQ(count(10, 2, 50), 5);
  EXPECT_EQ(count(10, 20, 0), 10);
  EXPECT_EQ(count(10, std::numeric_limits<std::int64_t>::max(), 50), 10);
}

TEST(CheckpointsToCome, OfACadenceInTimeAreTwoAtLeast) {
  config::Resolved resolved;
  resolved.steps = 100;
  resolved.checkpoint_every.seconds = 60.0;
  EXPECT_EQ(checkpoints_to_come(resolved, {}, 0), 2);
}

}  // namespace
}  // namespace convoy::train

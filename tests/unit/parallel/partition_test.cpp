// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/partition.h"

#include <gtest/gtest.h>

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

TEST(Partition, TheRemainderGoesToTheFirstParts) {
  EXPECT_EQ(partition(11, 4, 0), (Range{0, 3}));
  EXPECT_EQ(partition(11, 4, 2), (Range{6, 9}));
  EXPECT_EQ(partition(11, 4, 3), (Range{9, 11}));
}

TEST(Partition, PartsMayBeEmpty) { EXPECT_EQ(partition(2, 3, 2).size(), 0); }

TEST(Partition, AFlatPartIsCutAtMultiplesOf64) {
  EXPECT_EQ(flat_partition(1000, 4, 0), (Range{0, 256}));
  EXPECT_EQ(flat_partition(1000, 4, 3), (Range{768, 1000}));
  EXPECT_EQ(flat_partition(65, 4, 1), (Range{64, 65}));
  EXPECT_EQ(flat_partition(65, 4, 3), (Range{65, 65}));
}

TEST(Partition, PartsTileTheCount) {
  for (std::int64_t count = 0; count < 300; ++count) {
    for (std::int64_t parts = 1; parts <= 7; ++parts) {
      std::int64_t next = 0, flat_next = 0;
      for (std::int64_t index = 0; index < parts; ++index) {
        const Range range = partition(count, parts, index), flat = flat_partition(count, parts, index);
        EXPECT_EQ(range.begin, next);
        EXPECT_EQ(flat.begin, flat_next);
        next = range.end;
        flat_next = flat.end;
      }
      EXPECT_EQ(next, count);
      EXPECT_EQ(flat_next, count);
    }
  }
}

TEST(Partition, APartBeyondTheLastIsOurFault) { EXPECT_THROW(partition(4, 2, 2), InternalError); }

}  // namespace
}  // namespace convoy::parallel

// SPDX-License-Identifier: Apache-2.0
#include "libcore/device/stream.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "libcore/base/error.h"

// A table that no op is called through: a stream only passes it on.
namespace convoy::ops {
struct Backend {};
}  // namespace convoy::ops

namespace convoy::device {
namespace {

const ops::Backend kNoOps;

TEST(Stream, PassesOnItsTableAndTeam) {
  Stream stream(kNoOps, 3);
  EXPECT_EQ(&stream.backend(), &kNoOps);
  EXPECT_EQ(stream.threads(), 3);
  EXPECT_EQ(stream.device(), Device{});
}

TEST(Stream, ScratchGrowsAndIsKept) {
  Stream stream(kNoOps, 2);
  std::byte* first = stream.scratch(0, 100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
  EXPECT_EQ(stream.scratch(0, 50), first);
  EXPECT_NE(stream.scratch(1, 10), first);
  EXPECT_EQ(stream.scratch_bytes(), 110u);
  stream.scratch(0, 1000);
  EXPECT_EQ(stream.scratch_bytes(), 1010u);
}

TEST(Stream, SealedScratchRefusesToGrow) {
  Stream stream(kNoOps, 1);
  std::byte* first = stream.scratch(0, 100);
  stream.seal_scratch();
  EXPECT_EQ(stream.scratch(0, 100), first);
  EXPECT_THROW(stream.scratch(0, 101), InternalError);
}

TEST(Stream, RefusesScratchOfAThreadOutsideTheTeam) {
  Stream stream(kNoOps, 2);
  EXPECT_THROW(stream.scratch(2, 8), InternalError);
  EXPECT_THROW(stream.scratch(-1, 8), InternalError);
}

}  // namespace
}  // namespace convoy::device

// SPDX-License-Identifier: Apache-2.0
#include "libcore/device/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "libcore/base/error.h"

namespace convoy::device {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t kSmall = 100;
constexpr std::size_t kLarge = (std::size_t{5} << 20) + 3;  // mapped, and no multiple of a page

bool all_zero(const Buffer& buffer) {
  return std::all_of(buffer.data(), buffer.data() + buffer.size(), [](std::byte b) { return b == std::byte{0}; });
}

TEST(Buffer, IsZeroAndAlignedWhateverItsSize) {
  for (const std::size_t size : {std::size_t{1}, kSmall, kLarge}) {
    const Buffer buffer(size, {});
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
    EXPECT_TRUE(all_zero(buffer)) << size;
  }
}

TEST(Buffer, MovesItsMemory) {
  for (const std::size_t size : {kSmall, kLarge}) {
    Buffer first(size, {});
    std::byte* data = first.data();
    Buffer second(std::move(first));
    EXPECT_EQ(second.data(), data);
    Buffer third(size, {});
    third = std::move(second);
    EXPECT_EQ(third.data(), data);
    EXPECT_EQ(third.size(), size);
  }
}

TEST(Buffer, OfNoBytesHoldsNothing) {
  const Buffer buffer(0, {});
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.size(), 0u);
}

TEST(Buffer, SaysHowMuchWasAskedForWhenThereIsNotEnough) {
  EXPECT_THAT([] { Buffer(std::size_t{1} << 60, {}); },
              ThrowsMessage<EnvironmentError>(HasSubstr("1152921504606846976 bytes")));
  EXPECT_THROW(Buffer(SIZE_MAX - 5, {}), EnvironmentError);
}

TEST(Buffer, RefusesADeviceThatThisBuildLacks) { EXPECT_THROW(Buffer(8, {Kind::kCuda, 0}), InternalError); }

TEST(Arena, HandsOutDisjointAlignedPieces) {
  Arena arena("activations");
  const std::size_t first = arena.reserve(1);
  const std::size_t second = arena.reserve(65);
  const std::size_t third = arena.reserve(0);
  EXPECT_EQ(first, 0u);
  EXPECT_EQ(second, 64u);
  EXPECT_EQ(third, 192u);
  EXPECT_EQ(arena.size(), 192u);
  arena.allocate({});
  EXPECT_EQ(arena.at(second) - arena.at(first), 64);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.at(second)) % 64, 0u);
}

TEST(Arena, RefusesToBeUsedOutOfOrder) {
  Arena arena("activations");
  arena.reserve(64);
  EXPECT_THROW(arena.at(0), InternalError);
  arena.allocate({});
  EXPECT_THROW(arena.allocate({}), InternalError);
  EXPECT_THROW(arena.reserve(64), InternalError);
  EXPECT_THROW(arena.at(65), InternalError);
}

TEST(Arena, NamesItselfWhenThereIsNotEnoughMemory) {
  Arena arena("activations");
  arena.reserve(std::size_t{1} << 60);
  EXPECT_THAT([&] { arena.allocate({}); }, ThrowsMessage<EnvironmentError>(HasSubstr("activations: out of memory")));
}

}  // namespace
}  // namespace convoy::device

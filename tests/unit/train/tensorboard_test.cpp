// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/tensorboard.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "tests/unit/train/tiny_run.h"

namespace convoy::train {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// CRC-32C of "123456789" is e3069283 (RFC 3720's check value); masked: c78ab0e5. That of the length: 13977f03 masked.
TEST(TensorBoardRecord, FramesWithMaskedChecksums) {
  EXPECT_EQ(hex(tensorboard_record("123456789")), "090000000000000037f97139313233343536373839e5b08ac7");
}

// Written out by hand: field 1 double 1.5, field 2 varint 7, field 5 { field 1 { field 1 "a", field 2 float 2 } }.
TEST(TensorBoardEvent, IsTheWireFormatOfAnEventMessage) {
  const std::array<Scalar, 1> scalars = {Scalar{"a", 2.0}};
  EXPECT_EQ(hex(tensorboard_event(1.5, 7, scalars)), "09000000000000f83f10072a0a0a080a01611500000040");
}

TEST(TensorBoardWriter, StartsWithTheVersionAndLeavesOutWhatIsNotFinite) {
  const TmpDir folder;
  TensorBoardWriter writer(folder / "tb", "host", 42);
  const std::array<Scalar, 2> scalars = {Scalar{"nan", std::numeric_limits<double>::quiet_NaN()}, Scalar{"loss", 1.0}};
  writer.add(1, scalars);
  const auto entry = *std::filesystem::directory_iterator(folder / "tb");
  EXPECT_THAT(entry.path().filename().string(),
              testing::MatchesRegex("events\\.out\\.tfevents\\.[0-9]+\\.host\\.42\\.0"));
  const std::string bytes = support::content_of(entry.path());
  EXPECT_EQ(bytes.substr(23, 13), "brain.Event:2");  // after 12 bytes of frame, 9 of wall time, 2 of tag and length
  EXPECT_THAT(bytes, testing::HasSubstr("loss"));
  EXPECT_THAT(bytes, testing::Not(testing::HasSubstr("nan")));
}

}  // namespace
}  // namespace convoy::train

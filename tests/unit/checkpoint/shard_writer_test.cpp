// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/shard_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/checkpoint/shard_record.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/checkpoint/layouts.h"

namespace convoy::checkpoint {
namespace {

using layouts::Known;
using tensor::DType;
using tensor::Shape;

const Known kBig{"big", "weight", DType::kF32, Shape{1100, 2048}};  // 8.6 MiB: three blocks
const Known kSmall{"small", "weight", DType::kBF16, Shape{7}};

std::vector<FragmentPlan> plans() {
  std::vector<FragmentPlan> all;
  for (const Known& known : {kBig, kSmall})
    all.push_back({known.name, known.state, known.dtype, known.shape, tensor::whole(known.shape)});
  return all;
}

std::vector<std::byte> bytes_of(const Known& known) { return layouts::bytes_of_box(known, tensor::whole(known.shape)); }

TEST(ShardWriter, ChecksumsAreThoseOfTheBlocks) {
  const support::TmpDir tmp;
  ShardWriter writer(tmp / "a.h5", "id", plans());
  const std::vector<std::byte> big = bytes_of(kBig), small = bytes_of(kSmall);
  writer.write(1, small);
  writer.write(0, big);
  const std::vector<WrittenFragment> written = writer.finish();
  const auto block = static_cast<std::size_t>(kChecksumBlock);
  EXPECT_THAT(written[0].crc32c,
              testing::ElementsAre(crc32c(std::span(big).first(block)), crc32c(std::span(big).subspan(block, block)),
                                   crc32c(std::span(big).subspan(2 * block))));
  EXPECT_THAT(written[1].crc32c, testing::ElementsAre(crc32c(small)));
  const std::string file = support::content_of(tmp / "a.h5");
  EXPECT_EQ(file.size(), writer.bytes());
  EXPECT_EQ(std::memcmp(file.data() + written[0].offset, big.data(), big.size()), 0);
  EXPECT_EQ(std::memcmp(file.data() + written[1].offset, small.data(), small.size()), 0);
}

TEST(ShardWriter, BlocksOfManyThreadsGiveWhatOnePieceGives) {
  const support::TmpDir tmp;
  const std::vector<std::byte> big = bytes_of(kBig), small = bytes_of(kSmall);
  ShardWriter whole(tmp / "a.h5", "id", plans()), parts(tmp / "b.h5", "id", plans());
  whole.write(0, big);
  whole.write(1, small);
  std::vector<std::thread> threads;
  for (std::size_t number = 3; number-- > 0;) {
    threads.emplace_back([&, number] {
      const std::size_t at = number * static_cast<std::size_t>(kChecksumBlock);
      parts.write_block(0, number, std::span(big).subspan(at, std::min<std::size_t>(kChecksumBlock, big.size() - at)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  parts.write_block(1, 0, small);
  const std::vector<WrittenFragment> a = whole.finish(), b = parts.finish();
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].crc32c, b[i].crc32c);
    EXPECT_EQ(a[i].digest, b[i].digest);
    EXPECT_EQ(a[i].offset, b[i].offset);
  }
  EXPECT_EQ(support::content_of(tmp / "a.h5"), support::content_of(tmp / "b.h5"));
}

TEST(ShardWriter, RefusesMoreOrLessThanAFragmentHas) {
  const support::TmpDir tmp;
  ShardWriter writer(tmp / "a.h5", "id", {plans()[1]});
  const std::vector<std::byte> bytes(16);
  EXPECT_THROW(writer.write(0, bytes), InternalError);
  EXPECT_THROW(writer.write(0, std::span(bytes).first(3)), InternalError);
  EXPECT_THROW(writer.write_block(0, 0, std::span(bytes).first(12)), InternalError);
  EXPECT_THROW(writer.write_block(0, 1, {}), InternalError);
  writer.write(0, std::span(bytes).first(12));
  EXPECT_THROW(writer.finish(), InternalError);
}

TEST(ShardWriter, DoesNotWriteOverAFile) {
  const support::TmpDir tmp;
  tmp.write("a.h5", "something");
  EXPECT_THROW(ShardWriter(tmp / "a.h5", "id", plans()), EnvironmentError);
  EXPECT_EQ(support::content_of(tmp / "a.h5"), "something");
}

TEST(ShardRecord, SurvivesTheWayToRankZero) {
  ShardRecord record;
  record.file = {"a.h5", 1000, 0xFFFFFFFF};
  record.plans = plans();
  record.written = {{512, {1, 2, 0xFFFFFFFF}, 0xFFFFFFFFFFFFFFFF}, {768, {}, 5}};
  const ShardRecord back = parse_shard_record(to_bytes(record));
  EXPECT_EQ(to_bytes(back), to_bytes(record));
  EXPECT_EQ(back.plans[0].shape, kBig.shape);
  EXPECT_EQ(back.written[0].crc32c, record.written[0].crc32c);
  const std::string bytes = to_bytes(record);
  EXPECT_THROW(parse_shard_record(std::string_view(bytes).substr(0, bytes.size() - 1)), InternalError);
}

}  // namespace
}  // namespace convoy::checkpoint

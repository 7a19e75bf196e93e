// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/reshard.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "libcore/base/error.h"
#include "libcore/checkpoint/checkpoint.h"
#include "libcore/checkpoint/step_directory.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/checkpoint/layouts.h"

namespace convoy::checkpoint {
namespace {

using layouts::Known;
using tensor::Box;
using tensor::Shape;
using testing::HasSubstr;

constexpr int kRanks = 4;
constexpr std::int64_t kAnyMemory = std::int64_t{64} << 20;
constexpr std::int64_t kPieceBytes = 100;  // less than most rows of the test's tensors, and no multiple of them

const Known& known_as(const StoredTensor& stored) {
  static const std::vector<Known> all = layouts::tensors();
  const auto it = std::find_if(all.begin(), all.end(), [&](const Known& known) {
    return known.name == stored.name && known.state == stored.state;
  });
  if (it == all.end()) throw InternalError("the tensor is one of the test's");
  return *it;
}

std::vector<PlannedFile> files_of(const Manifest& source, const layouts::Spread& spread) {
  std::vector<PlannedFile> files;
  for (int rank = 0; rank < kRanks; ++rank) {
    PlannedFile file{shard_file_name(0, 0, rank), {}};
    for (std::size_t i = 0; i < source.tensors.size(); ++i) {
      for (const Box& box : spread(known_as(source.tensors[i]), rank, kRanks)) file.fragments.push_back({i, box});
    }
    if (!file.fragments.empty()) files.push_back(std::move(file));
  }
  return files;
}

BoxReader reader_of(const Checkpoint& source) {
  return [&source](std::size_t tensor, const Box& box, tensor::MutableView out) {
    const StoredTensor& stored = source.manifest().tensors[tensor];
    source.read(stored.name, stored.state, box, out);
  };
}

void write(const Checkpoint& source, const ReshardPlan& plan, const Path& folder, const ReshardLimits& limits) {
  std::filesystem::create_directory(folder);
  write_manifest(folder, execute_reshard(source.manifest(), true, plan, {1, 1, kRanks}, reader_of(source), folder,
                                         limits, [](std::uint64_t) {}));
}

TEST(Reshard, FromAnyLayoutToAnyOtherKeepsEveryBit) {
  for (const auto& [from, source_spread] : layouts::spreads()) {
    const support::TmpDir dir;
    layouts::save(dir / "source", source_spread, kRanks);
    const Checkpoint source(dir / "source");
    for (const auto& [to, target_spread] : layouts::spreads()) {
      SCOPED_TRACE(from + " -> " + to);
      const ReshardPlan plan = plan_reshard(source.manifest(), files_of(source.manifest(), target_spread));
      write(source, plan, dir / to, {.memory = kAnyMemory, .threads = 3, .piece = kPieceBytes});
      const Checkpoint target(dir / to);
      target.verify();
      EXPECT_EQ(target.digest(), source.digest());
      EXPECT_EQ(target.manifest().description.layout.zero_shards, kRanks);
      EXPECT_NE(target.manifest().save_id, source.manifest().save_id);
    }
  }
}

TEST(Reshard, TheCopiesOfAPlanCoverEveryTensorOnceAndStayInTheirBoxes) {
  const support::TmpDir dir;
  layouts::save(dir / "source", layouts::spreads()[2].second, kRanks);
  const Checkpoint opened(dir / "source");
  const Manifest& source = opened.manifest();
  const ReshardPlan plan = plan_reshard(source, files_of(source, layouts::spreads()[1].second));
  for (std::size_t i = 0; i < source.tensors.size(); ++i) {
    std::int64_t elements = 0;
    for (const BoxCopy& copy : copies_of(source, plan, i)) {
      const Box& target = plan.files[copy.target.file].fragments[copy.target.fragment].box;
      EXPECT_EQ(tensor::intersection(source.fragments[copy.source].box, target), copy.box);
      EXPECT_EQ(source.fragments[copy.source].tensor, i);
      elements += copy.box.count();
    }
    EXPECT_EQ(elements, source.tensors[i].shape.count()) << source.tensors[i].name;
  }
}

Manifest one_matrix(std::vector<Box> boxes) {
  Manifest manifest;
  manifest.tensors.push_back({"w", "weight", tensor::DType::kF32, Shape{4, 6}, 0});
  manifest.files.push_back({"shard_tp000_pp000_dp00000.h5", 0, 0});
  for (const Box& box : boxes) manifest.fragments.push_back({0, 0, box, 0, {}});
  return manifest;
}

TEST(Reshard, ColumnsBecomeRowsAsCountedByHand) {
  const Manifest source = one_matrix({{{0, 0}, {4, 2}}, {{0, 2}, {4, 4}}});  // columns [0, 2) and [2, 6)
  const ReshardPlan plan =
      plan_reshard(source, {{"a", {{0, {{0, 0}, {3, 6}}}}}, {"b", {{0, {{3, 0}, {1, 6}}}}}});  // rows [0, 3) and [3, 4)
  std::vector<std::string> copies;
  for (const BoxCopy& copy : copies_of(source, plan, 0))
    copies.push_back(fmt::format("{} -> {} {}", copy.source, plan.files[copy.target.file].name, copy.box.text()));
  EXPECT_THAT(copies,
              testing::ElementsAre("0 -> a [0:3, 0:2]", "1 -> a [0:3, 2:6]", "0 -> b [3:4, 0:2]", "1 -> b [3:4, 2:6]"));
}

TEST(Reshard, ATargetThatDoesNotTileIsABugOfItsMaker) {
  const Manifest source = one_matrix({tensor::whole(Shape{4, 6})});
  EXPECT_THROW(plan_reshard(source, {{"a", {{0, {{0, 0}, {3, 6}}}}}}), InternalError);
  EXPECT_THROW(plan_reshard(source, {{"a", {{0, {{0, 0}, {4, 6}}}, {0, {{0, 0}, {1, 1}}}}}}), InternalError);
}

TEST(Reshard, ReadsEachByteOnceForAllFiles) {
  const support::TmpDir dir;
  layouts::save(dir / "source", layouts::spreads()[0].second, kRanks);
  const Checkpoint source(dir / "source");
  const ReshardPlan plan = plan_reshard(source.manifest(), files_of(source.manifest(), layouts::spreads()[1].second));
  std::filesystem::create_directory(dir / "target");
  std::int64_t elements = 0, expected = 0;
  std::mutex mutex;
  const BoxReader read = reader_of(source);
  execute_reshard(source.manifest(), true, plan, {},
                  [&](std::size_t tensor, const Box& box, tensor::MutableView out) {
                    const std::lock_guard lock(mutex);
                    elements += box.count();
                    read(tensor, box, out);
                  },
                  dir / "target", {.memory = kAnyMemory, .threads = 2, .piece = kPieceBytes}, {});
  for (const StoredTensor& stored : source.manifest().tensors) expected += stored.shape.count();
  EXPECT_EQ(elements, expected);
}

TEST(Reshard, ContentThatIsNotTheManifestsIsRefused) {
  const support::TmpDir dir;
  layouts::save(dir / "source", layouts::spreads()[0].second, kRanks);
  const Checkpoint source(dir / "source");
  Manifest wrong = source.manifest();
  wrong.tensors[1].digest += 1;
  const ReshardPlan plan = plan_reshard(wrong, files_of(wrong, layouts::spreads()[1].second));
  std::filesystem::create_directory(dir / "target");
  try {
    execute_reshard(wrong, true, plan, {}, reader_of(source), dir / "target", {.memory = kAnyMemory}, {});
    ADD_FAILURE() << "was accepted";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr(wrong.tensors[1].name));
  }
}

TEST(Reshard, WhatAReaderThrowsEndsAllThreads) {
  const support::TmpDir dir;
  layouts::save(dir / "source", layouts::spreads()[0].second, kRanks);
  const Checkpoint source(dir / "source");
  const ReshardPlan plan = plan_reshard(source.manifest(), files_of(source.manifest(), layouts::spreads()[1].second));
  std::filesystem::create_directory(dir / "target");
  const BoxReader broken = [](std::size_t, const Box&, tensor::MutableView) { throw DataError("the disk is gone"); };
  EXPECT_THROW(execute_reshard(source.manifest(), true, plan, {}, broken, dir / "target",
                               {.memory = kAnyMemory, .threads = 4}, {}),
               DataError);
}

}  // namespace
}  // namespace convoy::checkpoint

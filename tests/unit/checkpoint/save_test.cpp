// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/save.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/checkpoint/checkpoint.h"
#include "libcore/checkpoint/step_directory.h"
#include "tests/support/small_disk.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/checkpoint/layouts.h"
#include "tests/unit/data/file_size_limit.h"

namespace convoy::checkpoint {
namespace {

using layouts::Known;
using layouts::Spread;
using tensor::Box;
using tensor::DType;
using tensor::Shape;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr int kRanks = 4;

std::vector<std::byte> read_box(const Checkpoint& checkpoint, const Known& known, const Box& box) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(box.count()) * tensor::size_of(known.dtype));
  checkpoint.read(known.name, known.state, box,
                  {.data = bytes.data(), .dtype = known.dtype, .shape = box.extent, .row_stride = 0});
  return bytes;
}

const Spread& flat() {
  static const Spread spread = layouts::spreads()[0].second;
  return spread;
}

TEST(Save, EveryLayoutIsReadBackBitForBit) {
  for (const auto& [name, spread] : layouts::spreads()) {
    SCOPED_TRACE(name);
    const support::TmpDir tmp;
    const Path directory = tmp / step_directory_name(10);
    layouts::save(directory, spread, kRanks);
    EXPECT_THAT(tmp.names(), ElementsAre("step_000000010"));
    const Checkpoint checkpoint(directory);
    checkpoint.verify();
    for (const Known& known : layouts::tensors()) {
      const Box box = tensor::whole(known.shape);
      EXPECT_EQ(read_box(checkpoint, known, box), layouts::bytes_of_box(known, box)) << known.name << known.state;
    }
  }
}

// By the formula of docs/formats.md, from the values alone.
std::string expected_digest() {
  const auto mix64 = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  };
  std::vector<std::string> lines;
  for (const Known& known : layouts::tensors()) {
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < known.shape.count(); ++i)
      sum += mix64(mix64(static_cast<std::uint64_t>(i) + 0x9E3779B97F4A7C15) ^ layouts::bits_at(known, i));
    std::string shape = known.shape.text();
    std::erase(shape, ' ');
    const std::string middle = fmt::format(" {} {} {} ", known.state, tensor::name_of(known.dtype), shape);
    lines.push_back(fmt::format("{}{}{:016x}\n", known.name, middle, sum));
    if (known.name == "model.embed_tokens.weight")
      lines.push_back("lm_head.weight" + middle + "alias:" + known.name + "\n");
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return sha256_hex(text + "step 10\nupdate 9\nconsumed_samples 80\nloss_scale none\n");
}

TEST(Save, DigestIsThatOfTheValuesInEveryLayout) {
  for (const auto& [name, spread] : layouts::spreads()) {
    for (const int ranks : {1, 2, 3, 5}) {
      const support::TmpDir tmp;
      const SaveReport report = layouts::save(tmp / step_directory_name(10), spread, ranks);
      EXPECT_EQ(report.digest, expected_digest()) << name << ", " << ranks << " ranks";
      EXPECT_EQ(Checkpoint(tmp / step_directory_name(10)).digest(), report.digest);
    }
  }
}

TEST(Save, ARankWithoutFragmentsWritesNoFile) {
  const support::TmpDir tmp;
  layouts::save(tmp / "step_000000010", layouts::spreads()[3].second, 3);  // rank 2 has nothing
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(tmp / "step_000000010"))
    names.push_back(entry.path().filename().string());
  EXPECT_THAT(names, UnorderedElementsAre("COMMIT", "manifest.json", "common.h5", "shard_tp000_pp000_dp00000.h5",
                                          "shard_tp000_pp000_dp00001.h5"));
}

TEST(Save, TheReportCountsTheBytesOfTheFiles) {
  const support::TmpDir tmp;
  const SaveReport report = layouts::save(tmp / "step_000000010", flat(), kRanks);
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tmp / "step_000000010"))
    if (entry.path().extension() == ".h5") bytes += entry.file_size();
  EXPECT_EQ(report.bytes, bytes);
}

TEST(Save, WhatIsStagedDoesNotFollowLaterChanges) {
  const support::TmpDir tmp;
  comm::run_ranks(2, [&](comm::Communicator& world) {
    layouts::Held held = layouts::held_by(flat(), world.rank(), 2);
    Saver saver(world, shard_file_name(0, 0, world.rank()), 1);
    saver.stage(tmp / "step_000000010", layouts::description(10), held.states);
    for (std::vector<std::byte>& bytes : held.bytes) std::fill(bytes.begin(), bytes.end(), std::byte{0xAA});
    saver.write();
    saver.commit();
  });
  EXPECT_EQ(Checkpoint(tmp / "step_000000010").digest(), expected_digest());
}

TEST(Save, OneSaverSavesManySteps) {
  const support::TmpDir tmp;
  comm::run_ranks(2, [&](comm::Communicator& world) {
    const layouts::Held held = layouts::held_by(flat(), world.rank(), 2);
    Saver saver(world, shard_file_name(0, 0, world.rank()), 1);
    for (const std::int64_t step : {9, 10}) {
      saver.stage(tmp / step_directory_name(step), layouts::description(step), held.states);
      saver.write();
      saver.commit();
    }
  });
  EXPECT_THAT(tmp.names(), ElementsAre("step_000000009", "step_000000010"));
  EXPECT_EQ(Checkpoint(tmp / "step_000000010").digest(), expected_digest());
  EXPECT_NE(Checkpoint(tmp / "step_000000009").digest(), expected_digest());
}

TEST(Save, AStepThatWasThereIsExchanged) {
  const support::TmpDir tmp;
  tmp.write("step_000000010/of another future", "x");
  layouts::save(tmp / "step_000000010", flat(), 2);
  EXPECT_THAT(tmp.names(), ElementsAre("step_000000010"));
  EXPECT_EQ(Checkpoint(tmp / "step_000000010").digest(), expected_digest());
  EXPECT_FALSE(std::filesystem::exists(tmp / "step_000000010/of another future"));
}

TEST(Save, ASaverThatGoesAwayLeavesNothing) {
  const support::TmpDir tmp;
  comm::run_ranks(2, [&](comm::Communicator& world) {
    const layouts::Held held = layouts::held_by(flat(), world.rank(), 2);
    Saver saver(world, shard_file_name(0, 0, world.rank()), 1);
    saver.stage(tmp / "step_000000010", layouts::description(10), held.states);
    saver.write();
    world.barrier();
  });
  EXPECT_THAT(tmp.names(), ElementsAre());
}

// Runs a save that must fail, on every rank with the same message, which is returned. `disturb` runs on each rank
// between stage() and write().
template <class Disturb>
std::string failed_save(const Path& directory, const Spread& spread, Disturb disturb, ExitCode code) {
  std::mutex mutex;
  std::map<std::string, int> messages;
  comm::run_ranks(kRanks, [&](comm::Communicator& world) {
    const layouts::Held held = layouts::held_by(spread, world.rank(), kRanks);
    Saver saver(world, shard_file_name(0, 0, world.rank()), 1);
    std::string message = "no error";
    try {
      saver.stage(directory, layouts::description(20), held.states);
      world.barrier();
      disturb(world.rank());
      world.barrier();
      saver.write();
      saver.commit();
    } catch (const Error& error) {
      message = error.what();
      EXPECT_EQ(error.code(), code);
    }
    world.barrier();
    const std::lock_guard lock(mutex);
    ++messages[message];
  });
  EXPECT_EQ(messages.size(), 1u) << "every rank says the same";
  return messages.begin()->first;
}

void no_disturbance(int /*rank*/) {}

TEST(Save, ALimitOnFilesIsNoticedBeforeAnythingIsWritten) {
  const support::TmpDir tmp;
  layouts::save(tmp / "step_000000010", flat(), kRanks);
  std::string message;
  {
    const data::golden::FileSizeLimit limit(10000);
    message = failed_save(tmp / "step_000000020", flat(), no_disturbance, ExitCode::kEnvironment);
  }
  EXPECT_THAT(message, AllOf(HasSubstr("rank 0 on host"), HasSubstr("10000 bytes"), HasSubstr("needed")));
  EXPECT_THAT(tmp.names(), ElementsAre("step_000000010"));
  Checkpoint(tmp / "step_000000010").verify();
}

TEST(Save, AFailureWhileWritingIsToldByAllRanks) {
  const support::TmpDir tmp;
  layouts::save(tmp / "step_000000010", flat(), kRanks);
  const auto occupy = [&tmp](int rank) {  // rank 2 finds its file taken
    if (rank != 2) return;
    for (const auto& entry : std::filesystem::directory_iterator(tmp.path()))
      if (entry.path().filename().string().starts_with('.'))
        std::filesystem::create_directory(entry.path() / shard_file_name(0, 0, 2));
  };
  const std::string message = failed_save(tmp / "step_000000020", flat(), occupy, ExitCode::kEnvironment);
  EXPECT_THAT(message, AllOf(HasSubstr("rank 2 on host"), HasSubstr("shard_tp000_pp000_dp00002.h5")));
  EXPECT_THAT(tmp.names(), ElementsAre("step_000000010"));
}

TEST(Save, AFailureOfRankZeroToCommitIsToldByAllRanks) {
  const support::TmpDir tmp;
  const auto occupy = [&tmp](int rank) {
    if (rank != 0) return;
    for (const auto& entry : std::filesystem::directory_iterator(tmp.path()))
      if (entry.path().filename().string().starts_with('.'))
        std::filesystem::create_directory(entry.path() / "manifest.json");
  };
  const std::string message = failed_save(tmp / "step_000000020", flat(), occupy, ExitCode::kEnvironment);
  EXPECT_THAT(message, AllOf(HasSubstr("rank 0 on host"), HasSubstr("manifest.json")));
  EXPECT_THAT(tmp.names(), ElementsAre());
}

TEST(Save, AFolderThatIsNotThereIsToldByAllRanks) {
  const support::TmpDir tmp;
  const std::string message =
      failed_save(tmp / "nowhere/step_000000020", flat(), no_disturbance, ExitCode::kEnvironment);
  EXPECT_THAT(message, AllOf(HasSubstr("nowhere"), HasSubstr("No such file")));
}

TEST(Save, StatesThatLeaveAHoleAreNotCommitted) {
  const support::TmpDir tmp;
  const Spread hole = [](const Known& known, int rank, int ranks) {
    if (known.name == "model.norm.weight" && rank == 1) return std::vector<Box>{};
    return flat()(known, rank, ranks);
  };
  const std::string message = failed_save(tmp / "step_000000020", hole, no_disturbance, ExitCode::kData);
  EXPECT_THAT(message, HasSubstr("tensor model.norm.weight exp_avg of [24]: no fragment holds [6:12]"));
  EXPECT_THAT(tmp.names(), ElementsAre());
}

TEST(Save, ADiskThatFillsUpKeepsTheOldStep) {
  const support::TmpDir tmp;
  const support::SmallDisk disk(tmp.path(), "size=4m");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small file system needs root";
  layouts::save(tmp / "step_000000010", flat(), kRanks);
  for (const std::uintmax_t spare : {0, 8192, 65536}) {
    std::filesystem::remove(tmp / "filler");
    const std::string message = failed_save(
        tmp / "step_000000020", flat(),
        [&](int rank) {
          if (rank == 1) support::fill_disk(tmp.path(), spare);
        },
        ExitCode::kEnvironment);
    EXPECT_THAT(message, AllOf(HasSubstr("on host"), HasSubstr("step_000000020"), HasSubstr("free"))) << spare;
    EXPECT_THAT(tmp.names(), ElementsAre("filler", "step_000000010"));
    Checkpoint(tmp / "step_000000010").verify();
  }
  std::filesystem::remove(tmp / "filler");
  layouts::save(tmp / "step_000000020", flat(), kRanks, 20);
  Checkpoint(tmp / "step_000000020").verify();
}

TEST(Save, AFullDiskIsNoticedBeforeAnythingIsWritten) {
  const support::TmpDir tmp;
  const support::SmallDisk disk(tmp.path(), "size=1m");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small file system needs root";
  support::fill_disk(tmp.path(), 30000);
  const std::string message =
      failed_save(tmp / "step_000000020", flat(), no_disturbance, ExitCode::kEnvironment);
  EXPECT_THAT(message, AllOf(HasSubstr("too full"), HasSubstr("needed"), HasSubstr("free")));
  EXPECT_THAT(tmp.names(), ElementsAre("filler"));
}

}  // namespace
}  // namespace convoy::checkpoint

// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/hdf5_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libcore/base/error.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/data/file_size_limit.h"

namespace convoy::checkpoint {
namespace {

using tensor::Box;
using tensor::DType;
using tensor::Shape;
using testing::HasSubstr;

std::vector<DatasetPlan> many(int count) {
  std::vector<DatasetPlan> plans;
  for (int i = 0; i < count; ++i) {
    plans.push_back({.path = dataset_path("weight", "tensor" + std::to_string(i), 0, 1),
                     .dtype = i % 3 == 0   ? DType::kF32
                              : i % 3 == 1 ? DType::kBF16
                                           : DType::kF16,
                     .shape = Shape{100, 7},
                     .box = {Shape{i, 0}, Shape{3, 7}}});
  }
  return plans;
}

TEST(Hdf5File, PayloadsLieAlignedBehindTheUserBlock) {
  const support::TmpDir tmp;
  const std::vector<DatasetPlan> plans = many(100);
  const std::vector<std::uint64_t> offsets = create_shard_file(tmp / "a.h5", "id", plans);
  for (const std::uint64_t offset : offsets) {
    EXPECT_GT(offset, kUserBlock);
    EXPECT_EQ(offset % 64, 0u);
  }
  check_shard_file(tmp / "a.h5", "id", plans, offsets);
}

TEST(Hdf5File, WhatDiffersFromTheManifestIsNamed) {
  const support::TmpDir tmp;
  const std::vector<DatasetPlan> plans = many(3);
  const std::vector<std::uint64_t> offsets = create_shard_file(tmp / "a.h5", "id", plans);
  const auto fault = [&](const std::string& id, const std::vector<DatasetPlan>& expected,
                         const std::vector<std::uint64_t>& places) -> std::string {
    try {
      check_shard_file(tmp / "a.h5", id, expected, places);
    } catch (const DataError& error) {
      return error.what();
    }
    return "sound";
  };
  EXPECT_THAT(fault("other", plans, offsets), HasSubstr("save_id: the manifest says other, the file has id"));
  std::vector<DatasetPlan> edited = plans;
  edited[1].path = "/weight/none";
  EXPECT_THAT(fault("id", edited, offsets), HasSubstr("has no dataset /weight/none"));
  edited = plans;
  edited[1].dtype = DType::kF16;
  EXPECT_THAT(fault("id", edited, offsets), HasSubstr("/weight/tensor1: the manifest says fp16"));
  edited = plans;
  edited[2].box.extent = Shape{7, 3};
  EXPECT_THAT(fault("id", edited, offsets), HasSubstr("/weight/tensor2: the manifest says [7, 3]"));
  std::vector<std::uint64_t> moved = offsets;
  moved[0] += 64;
  EXPECT_THAT(fault("id", plans, moved), HasSubstr("/weight/tensor0: the manifest says offset"));
  EXPECT_EQ(fault("id", plans, offsets), "sound");
}

// The limit stands in for a quota that free space does not show. The library must be usable afterwards.
TEST(Hdf5File, AFailedWriteIsAnErrorAndNothingWorse) {
  const support::TmpDir tmp;
  for (const rlim_t bytes : {0, 1000, 4096, 20000}) {
    const data::golden::FileSizeLimit limit(bytes);
    EXPECT_THROW(create_shard_file(tmp / ("limited" + std::to_string(bytes)), "id", many(100)), EnvironmentError);
  }
  const std::vector<std::uint64_t> offsets = create_shard_file(tmp / "after.h5", "id", many(5));
  check_shard_file(tmp / "after.h5", "id", many(5), offsets);
}

}  // namespace
}  // namespace convoy::checkpoint

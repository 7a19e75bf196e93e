// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/checkpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "libcore/base/error.h"
#include "libcore/checkpoint/shard_writer.h"
#include "libcore/checkpoint/step_directory.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/checkpoint/layouts.h"

namespace convoy::checkpoint {
namespace {

using layouts::Known;
using tensor::Box;
using tensor::DType;
using tensor::Shape;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kRanks = 3;
constexpr const char* kShard = "shard_tp000_pp000_dp00001.h5";

// A small checkpoint in a folder of its own.
class SavedStep : public testing::Test {
 protected:
  SavedStep() : step(tmp / step_directory_name(10)) { layouts::save(step, layouts::spreads()[0].second, kRanks); }

  void overwrite(const std::string& name, const std::string& content) const {
    std::ofstream(step / name, std::ios::binary) << content;
  }
  // What opening and verifying says; "sound" if nothing.
  std::string fault() const {
    try {
      Checkpoint(step).verify();
    } catch (const DataError& error) {
      return error.what();
    }
    return "sound";
  }
  std::string fault_of_open() const {
    try {
      const Checkpoint checkpoint(step);
    } catch (const DataError& error) {
      return error.what();
    }
    return "sound";
  }

  const support::TmpDir tmp;
  const Path step;
};

TEST_F(SavedStep, AnyBoxIsRead) {
  const Checkpoint checkpoint(step);
  std::mt19937 random(3);
  for (const Known& known : layouts::tensors()) {
    for (int trial = 0; trial < 20; ++trial) {
      Box box = tensor::whole(known.shape);
      for (int d = 0; d < known.shape.rank(); ++d) {
        const std::int64_t begin = random() % known.shape[d];
        box.offset = box.offset.with(d, begin);
        box.extent = box.extent.with(d, 1 + random() % (known.shape[d] - begin));
      }
      std::vector<std::byte> bytes(static_cast<std::size_t>(box.count()) * tensor::size_of(known.dtype));
      checkpoint.read(known.name, known.state, box,
                      {.data = bytes.data(), .dtype = known.dtype, .shape = box.extent, .row_stride = 0});
      EXPECT_EQ(bytes, layouts::bytes_of_box(known, box)) << known.name << box.text();
    }
  }
}

TEST_F(SavedStep, SixteenBitsAreWidenedExactly) {
  const Checkpoint checkpoint(step);
  for (const Known& known : layouts::tensors()) {
    if (known.dtype == DType::kF32) continue;
    std::vector<float> values(static_cast<std::size_t>(known.shape.count()));
    checkpoint.read(known.name, known.state, tensor::whole(known.shape),
                    {.data = values.data(), .dtype = DType::kF32, .shape = known.shape, .row_stride = 0});
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto bits = static_cast<std::uint16_t>(layouts::bits_at(known, static_cast<std::int64_t>(i)));
      const float expected =
          known.dtype == DType::kBF16 ? tensor::to_float(tensor::Bf16{bits}) : tensor::half_to_float(bits);
      EXPECT_EQ(std::memcmp(&values[i], &expected, sizeof expected), 0) << known.name << i;
    }
  }
}

TEST_F(SavedStep, AnAliasIsFollowed) {
  const Checkpoint checkpoint(step);
  EXPECT_EQ(checkpoint.find("lm_head.weight", "weight"), checkpoint.find("model.embed_tokens.weight", "weight"));
  EXPECT_NE(checkpoint.find("lm_head.weight", "exp_avg"), nullptr);
  EXPECT_EQ(checkpoint.find("lm_head.weight", "other"), nullptr);
  EXPECT_EQ(checkpoint.find("other", "weight"), nullptr);
}

TEST_F(SavedStep, TheDescriptionIsReadBack) {
  const Checkpoint checkpoint(step);
  const Description& description = checkpoint.manifest().description;
  const Description expected = layouts::description(10);
  EXPECT_EQ(description.progress.consumed_samples, 80);
  EXPECT_EQ(description.progress.skipped_in_a_row, 1);
  EXPECT_EQ(description.model_config, expected.model_config);
  EXPECT_EQ(description.fingerprint, expected.fingerprint);
  EXPECT_EQ(description.aliases, expected.aliases);
  EXPECT_EQ(description.layout.zero_shards, 2);
}

// Every bit of every file counts. Files are drawn alike, so that the small ones get their share.
TEST_F(SavedStep, TwoHundredFlippedBitsAreAllFound) {
  ASSERT_EQ(fault(), "sound");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(step)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  ASSERT_EQ(names.size(), 6u);
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    const std::string& name = names[random() % names.size()];
    const std::string content = support::content_of(step / name);
    std::string broken = content;
    const std::size_t bit = random() % (8 * content.size());
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    overwrite(name, broken);
    EXPECT_THAT(fault(), HasSubstr(name)) << "bit " << bit;
    overwrite(name, content);
  }
  EXPECT_EQ(fault(), "sound");
}

TEST_F(SavedStep, AFlippedBitIsFoundByReadingItsBlockAndNamed) {
  const Checkpoint before(step);
  const Manifest& manifest = before.manifest();
  const auto it = std::find_if(manifest.fragments.begin(), manifest.fragments.end(), [&](const StoredFragment& f) {
    return manifest.tensors[f.tensor].name == "model.norm.weight" && manifest.files[f.file].name == kShard;
  });
  ASSERT_NE(it, manifest.fragments.end());
  std::string content = support::content_of(step / kShard);
  content[it->offset + 5] ^= 0x10;
  overwrite(kShard, content);
  const Checkpoint checkpoint(step);  // opening reads no payload
  float values[24];
  const StoredTensor& tensor = manifest.tensors[it->tensor];
  try {
    checkpoint.read(tensor.name, tensor.state, tensor::whole(Shape{24}),
                    {.data = values, .dtype = DType::kF32, .shape = Shape{24}, .row_stride = 0});
    FAIL() << "the flipped bit was read";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(kShard), HasSubstr("model.norm.weight " + tensor.state),
                                    HasSubstr(fmt::format("at offset {}", it->offset))));
  }
  // Rank 0's share is sound, and is read without a look at the broken block.
  checkpoint.read(tensor.name, tensor.state, Box{Shape{0}, Shape{8}},
                  {.data = values, .dtype = DType::kF32, .shape = Shape{8}, .row_stride = 0});
}

TEST_F(SavedStep, AMissingFileIsNamed) {
  for (const char* name : {kShard, "common.h5", "manifest.json"}) {
    const std::string content = support::content_of(step / name);
    std::filesystem::remove(step / name);
    EXPECT_THAT(fault_of_open(), AllOf(HasSubstr(name), HasSubstr("missing"))) << name;
    overwrite(name, content);
  }
  std::filesystem::remove(step / "COMMIT");
  EXPECT_THAT(fault_of_open(), AllOf(HasSubstr("has no COMMIT"), HasSubstr("not finished")));
}

TEST_F(SavedStep, ATruncatedOrExtendedFileIsNamed) {
  const std::string content = support::content_of(step / kShard);
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, content.size() / 2, content.size() - 1}) {
    overwrite(kShard, content.substr(0, size));
    EXPECT_THAT(fault_of_open(), AllOf(HasSubstr(kShard), HasSubstr(fmt::format("has {} bytes", size)))) << size;
  }
  overwrite(kShard, content + std::string(100, '\0'));
  EXPECT_THAT(fault_of_open(), AllOf(HasSubstr(kShard), HasSubstr(fmt::format("expected {}", content.size()))));
}

TEST_F(SavedStep, AFileOfAnotherSaveIsNamed) {
  layouts::save(tmp / step_directory_name(20), layouts::spreads()[0].second, kRanks, 20);
  std::filesystem::copy_file(tmp / step_directory_name(20) / kShard, step / kShard,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(fault_of_open(), AllOf(HasSubstr(kShard), HasSubstr("is not of this save")));
}

TEST_F(SavedStep, AnEditedManifestIsRefused) {
  std::string text = support::content_of(step / "manifest.json");
  text.replace(text.find("\"step\":10"), 9, "\"step\":11");
  overwrite("manifest.json", text);
  EXPECT_THAT(fault_of_open(), AllOf(HasSubstr("manifest.json: does not belong to COMMIT")));
}

TEST_F(SavedStep, AnEditedCommitIsRefused) {
  const std::string good = support::content_of(step / "COMMIT");
  struct Edit {
    const char* from;
    const char* to;
    const char* refusal;
  };
  for (const auto& [from, to, refusal] :
       {Edit{"\"step\":10", "\"step\":11", "step: expected 10"},
        Edit{"\"files\":4", "\"files\":5", "files: expected 4"}, Edit{"\"bytes\"", "\"bites\"", "bytes is missing"},
        Edit{"sha256\":\"", "sha256\":\"0", "does not belong"}, Edit{"{", "[", "is not valid JSON"}}) {
    std::string text = good;
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), std::string(from).size(), to);
    overwrite("COMMIT", text);
    EXPECT_THAT(fault_of_open(), AllOf(HasSubstr("COMMIT"), HasSubstr(refusal)));
  }
}

TEST_F(SavedStep, TheNewestThatOpensIsFound) {
  for (const std::int64_t step_number : {9, 100, 1000})
    layouts::save(tmp / step_directory_name(step_number), layouts::spreads()[0].second, 2, step_number);
  std::filesystem::remove(tmp / step_directory_name(1000) / "COMMIT");
  std::filesystem::remove(tmp / step_directory_name(100) / kShard);
  tmp.write(".step_000002000.h.1-0.tmp/COMMIT", "x");
  std::vector<std::string> skipped;
  EXPECT_EQ(newest_checkpoint(tmp.path(), skipped), step);
  EXPECT_THAT(skipped, ElementsAre(HasSubstr("step_000001000"), HasSubstr("step_000000100")));
  skipped.clear();
  EXPECT_EQ(newest_checkpoint(tmp / "nowhere", skipped), std::nullopt);
  EXPECT_THAT(skipped, IsEmpty());
}

TEST_F(SavedStep, APipeOfAFilesNameIsNotWaitedFor) {
  for (const std::string& name : {std::string("COMMIT"), std::string("manifest.json"), std::string(kShard)}) {
    std::filesystem::rename(step / name, tmp / "aside");
    ASSERT_EQ(::mkfifo((step / name).c_str(), 0600), 0);
    ::alarm(20);  // an open that waits for a writer has no end
    EXPECT_THAT(fault_of_open(), AllOf(HasSubstr(name), HasSubstr("no regular file"))) << name;
    ::alarm(0);
    std::filesystem::remove(step / name);
    std::filesystem::rename(tmp / "aside", step / name);
  }
}

TEST_F(SavedStep, AManifestWithoutAnEndIsNotRead) {
  std::filesystem::remove(step / "manifest.json");
  std::filesystem::create_symlink("/dev/zero", step / "manifest.json");
  EXPECT_THAT(fault_of_open(), HasSubstr("no regular file"));
}

// It may be sound; one before it must not be trained on over it.
TEST_F(SavedStep, ANewestThatCannotBeReachedIsNotPassedOver) {
  std::filesystem::create_symlink(step_directory_name(1000), tmp / step_directory_name(1000));
  std::vector<std::string> skipped;
  EXPECT_THROW(newest_checkpoint(tmp.path(), skipped), EnvironmentError);
  EXPECT_THROW(resolve_checkpoint(tmp / step_directory_name(1000)), EnvironmentError);
}

TEST_F(SavedStep, IsToldFromAHuggingFaceFolder) {
  EXPECT_TRUE(is_step_directory(step));
  tmp.write("hf/config.json", "{}");
  EXPECT_FALSE(is_step_directory(tmp / "hf"));
  EXPECT_FALSE(is_step_directory(tmp / "nowhere"));
}

// A tensor of several checksum blocks, with boxes across their borders, written in odd pieces by one program alone.
TEST(WriteManifest, FragmentsOfManyBlocksAreReadAcrossTheirBorders) {
  const support::TmpDir tmp;
  const Path folder = tmp / "step_000000001";
  std::filesystem::create_directory(folder);
  const Known known{"big", "weight", DType::kF32, Shape{2048, 1300}};  // 10.2 MiB: 2.5 blocks
  const Box box = tensor::whole(known.shape);
  const std::vector<std::byte> bytes = layouts::bytes_of_box(known, box);
  ShardWriter writer(folder / "shard_tp000_pp000_dp00000.h5", "id",
                     {{known.name, known.state, known.dtype, known.shape, box}});
  for (std::size_t at = 0, piece = 4; at < bytes.size(); at += piece, piece = piece * 3 % 5000012 / 4 * 4 + 4) {
    piece = std::min(piece, bytes.size() - at);
    writer.write(0, std::span(bytes).subspan(at, piece));
  }
  const std::vector<WrittenFragment> written = writer.finish();
  ASSERT_EQ(written[0].crc32c.size(), 3u);
  Manifest manifest;
  manifest.description = layouts::description(1);
  manifest.description.aliases.clear();
  manifest.save_id = "id";
  manifest.tensors = {{known.name, known.state, known.dtype, known.shape, written[0].digest}};
  manifest.files = {{"shard_tp000_pp000_dp00000.h5", 0, 0}};
  manifest.fragments = {{0, 0, box, written[0].offset, written[0].crc32c}};
  write_manifest(folder, manifest);
  const Checkpoint checkpoint(folder);
  checkpoint.verify();
  EXPECT_EQ(checkpoint.manifest().files[0].size, writer.bytes());
  EXPECT_EQ(checkpoint.manifest().files[0].crc32c, writer.file().crc32c);
  for (const Box& part : {Box{Shape{800, 100}, Shape{20, 1100}}, Box{Shape{0, 1299}, Shape{2048, 1}}, box}) {
    std::vector<std::byte> got(static_cast<std::size_t>(part.count()) * 4);
    checkpoint.read("big", "weight", part,
                    {.data = got.data(), .dtype = DType::kF32, .shape = part.extent, .row_stride = 0});
    EXPECT_EQ(got, layouts::bytes_of_box(known, part)) << part.text();
  }
}

}  // namespace
}  // namespace convoy::checkpoint

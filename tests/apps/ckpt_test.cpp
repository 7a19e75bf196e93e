// SPDX-License-Identifier: Apache-2.0
// convoy-ckpt as a user calls it.
#include <cstring>
#include <nlohmann/json.hpp>

#include "libcore/checkpoint/safetensors.h"
#include "tests/apps/train_program.h"
#include "tests/support/tmp_dir.h"

namespace convoy::apps {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// A run directory with two committed steps and what an interrupted third left.
class Ckpt : public testing::Test {
 protected:
  Ckpt() {
    const std::string source = golden("parity/llama-tied");
    for (const char* step : {"step_000000002", "step_000000010", ".step_000000012.tmp"}) {
      const std::filesystem::path folder = folder_ / "run/checkpoints" / step;
      std::filesystem::create_directories(folder);
      for (const char* file : {"config.json", "model.safetensors"})
        std::filesystem::copy_file(source + "/" + file, folder / file);
    }
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  support::TmpDir folder_;
};

TEST_F(Ckpt, InspectTakesTheNewestCommittedStepOfARun) {
  const support::ProgramResult result = call("convoy-ckpt", {"inspect", path("run"), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_EQ(document["step"], 10);
  EXPECT_EQ(document["architecture"], "LlamaForCausalLM");
  EXPECT_EQ(document["tensors"][0]["name"], "model.embed_tokens.weight");
  EXPECT_EQ(document["tensors"][0]["shape"], json({257, 64}));
}

TEST_F(Ckpt, InspectTakesAStepDirectory) {
  const support::ProgramResult result =
      call("convoy-ckpt", {"inspect", path("run/checkpoints/step_000000002"), "--json"});
  EXPECT_EQ(json::parse(result.out)["step"], 2);
}

TEST_F(Ckpt, ExportKeepsEveryBitInFp32) {
  ASSERT_EQ(
      call("convoy-ckpt", {"export", path("run"), "--out", path("hf"), "--to", "hf", "--dtype", "fp32"}).exit_code, 0);
  const checkpoint::SafetensorsFile written(path("hf/model.safetensors")),
      source(golden("parity/llama-tied/model.safetensors"));
  ASSERT_EQ(written.tensors().size(), source.tensors().size());
  for (const checkpoint::NamedTensor& want : source.tensors()) {
    bool found = false;
    for (const checkpoint::NamedTensor& have : written.tensors()) {
      if (have.name != want.name) continue;
      found = true;
      EXPECT_EQ(std::memcmp(have.view.data, want.view.data, static_cast<std::size_t>(want.view.count()) * 4), 0)
          << want.name;
    }
    EXPECT_TRUE(found) << want.name;
  }
}

TEST_F(Ckpt, ExportRoundsToBf16) {
  ASSERT_EQ(
      call("convoy-ckpt", {"export", path("run"), "--out", path("hf"), "--to", "hf", "--dtype", "bf16"}).exit_code, 0);
  const checkpoint::SafetensorsFile written(path("hf/model.safetensors"));
  for (const checkpoint::NamedTensor& tensor : written.tensors()) EXPECT_EQ(tensor.view.dtype, tensor::DType::kBF16);
  EXPECT_EQ(json::parse(support::content_of(path("hf/config.json")))["dtype"], "bfloat16");
}

TEST_F(Ckpt, ExportCreatesTheFoldersAboveItsOwn) {
  EXPECT_EQ(call("convoy-ckpt", {"export", path("run"), "--out", path("a/b/hf/")}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("a/b/hf/model.safetensors")));
  EXPECT_EQ(call("convoy-ckpt", {"export", path("run"), "--out", ""}).exit_code, 2);
}

TEST_F(Ckpt, ExportRefusesAnExistingFolderAndLeavesItAlone) {
  folder_.write("hf/note.txt", "mine");
  const support::ProgramResult result = call("convoy-ckpt", {"export", path("run"), "--out", path("hf"), "--to", "hf"});
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_THAT(result.err, HasSubstr("exists already"));
  EXPECT_THAT(folder_.names(), testing::ElementsAre("hf", "run"));
  EXPECT_EQ(support::content_of(path("hf/note.txt")), "mine");
}

TEST_F(Ckpt, WhatIsNoCheckpointIsRefused) {
  EXPECT_EQ(call("convoy-ckpt", {"inspect", path("nowhere")}).exit_code, 2);
  EXPECT_EQ(call("convoy-ckpt", {"inspect", folder_.path().string()}).exit_code, 3);
  EXPECT_EQ(
      call("convoy-ckpt", {"export", golden("hf/st_truncated/model"), "--out", path("hf"), "--to", "hf"}).exit_code, 3);
  EXPECT_THAT(folder_.names(), testing::ElementsAre("run"));
}

}  // namespace
}  // namespace convoy::apps

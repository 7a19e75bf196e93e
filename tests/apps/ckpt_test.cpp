// SPDX-License-Identifier: Apache-2.0
// convoy-ckpt as a user calls it.
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "libcore/checkpoint/checkpoint.h"
#include "libcore/checkpoint/safetensors.h"
#include "libcore/checkpoint/step_directory.h"
#include "tests/apps/train_program.h"
#include "tests/support/made_checkpoint.h"
#include "tests/support/tmp_dir.h"

namespace convoy::apps {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::vector<std::string> kTp2Dp2 = {"--tensor-parallel", "2", "--zero-shards", "2"};
const std::vector<std::string> kPp2 = {"--pipeline-parallel", "2"};
const std::vector<std::string> kOne = {"--tensor-parallel", "1"};

support::ProgramResult ckpt(std::vector<std::string> arguments, const std::vector<std::string>& more = {}) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return call("convoy-ckpt", std::move(arguments));
}

// A run directory with two committed steps and what an interrupted third left.
class Ckpt : public testing::Test {
 protected:
  Ckpt() {
    for (const int step : {2, 10}) {
      support::MadeCheckpoint made;
      made.step = step;
      make("run/checkpoints/" + checkpoint::step_directory_name(step), made);
    }
    folder_.write("run/checkpoints/.step_000000012.host.1-0.tmp/shard_tp000_pp000_dp00000.h5", "half a file");
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void make(const std::string& name, const support::MadeCheckpoint& made) const {
    support::make_checkpoint(folder_ / name, support::content_of(golden("parity/llama-tied/config.json")), made);
  }
  // A checkpoint of this layout; its folder.
  std::string reshard(const std::string& from, const std::string& to, const std::vector<std::string>& layout) const {
    const support::ProgramResult result = ckpt({"reshard", from, "--out", path(to)}, layout);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return path(to);
  }
  void expect_equal(const std::string& a, const std::string& b) const {
    const support::ProgramResult result = ckpt({"diff", a, b, "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err << result.out;
    EXPECT_EQ(json::parse(result.out)["compared"], 3 * 20) << "20 tensors of three states";
  }

  support::TmpDir folder_;
};

std::map<std::string, std::uintmax_t> shard_sizes(const std::string& folder) {
  std::map<std::string, std::uintmax_t> sizes;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("shard_"))
      sizes[entry.path().filename().string()] = std::filesystem::file_size(entry.path());
  }
  return sizes;
}

void flip_byte(const std::filesystem::path& file, std::uint64_t offset) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(offset));
  const char byte = static_cast<char>(stream.get() ^ 1);
  stream.seekp(static_cast<std::streamoff>(offset));
  stream.put(byte);
}

TEST_F(Ckpt, NothingIsWrittenIntoACheckpoint) {
  const std::string step = path("run/checkpoints/step_000000010");
  for (const char* command : {"reshard", "merge", "export"}) {
    const support::ProgramResult result = ckpt({command, step, "--out", step + "/deep/sub"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("would lie inside the checkpoint"));
  }
  EXPECT_FALSE(std::filesystem::exists(step + "/deep"));
}

TEST_F(Ckpt, APatternThatNamesNoTensorIsRefused) {
  const support::ProgramResult result = ckpt({"inspect", path("run"), "--tensors", "*.embed_tokns.*"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("none of 20 tensors has such a name; the first is model.embed_tokens.weight"));
}

TEST_F(Ckpt, InspectTakesTheNewestCommittedStepOfARun) {
  const support::ProgramResult result = ckpt({"inspect", path("run"), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_EQ(document["step"], 10);
  EXPECT_EQ(document["update"], 10);
  EXPECT_EQ(document["consumed_samples"], 80);
  EXPECT_EQ(document["kind"], "checkpoint");
  EXPECT_EQ(document["architecture"], "LlamaForCausalLM");
  EXPECT_EQ(document["aliases"]["lm_head.weight"], "model.embed_tokens.weight");
  EXPECT_EQ(document["digest"].get<std::string>().size(), 64u);
  EXPECT_EQ(document["tensors"][0]["name"], "model.embed_tokens.weight");
  EXPECT_EQ(document["tensors"][0]["state"], "weight");
  EXPECT_EQ(document["tensors"][0]["shape"], json({257, 64}));
  EXPECT_EQ(document["tensors"].size(), 60u);
}

TEST_F(Ckpt, InspectTakesAStepDirectoryAndAHuggingFaceFolder) {
  EXPECT_EQ(json::parse(ckpt({"inspect", path("run/checkpoints/step_000000002"), "--json"}).out)["step"], 2);
  const json folder = json::parse(ckpt({"inspect", golden("parity/llama-tied"), "--json"}).out);
  EXPECT_EQ(folder["kind"], "huggingface");
  EXPECT_TRUE(folder["step"].is_null());
  EXPECT_EQ(folder["tensors"].size(), 20u);
}

TEST_F(Ckpt, InspectShowsStatisticsOfTheTensorsThatAPatternNames) {
  const json document =
      json::parse(ckpt({"inspect", path("run"), "--json", "--stats", "--tensors", "model.norm.*"}).out);
  ASSERT_EQ(document["tensors"].size(), 3u);
  const json& weight = document["tensors"][0];
  const double first = support::made_value("model.norm.weight", "weight", 0);
  EXPECT_EQ(weight["min"], first);  // the values rise by 2^-13 an element
  EXPECT_EQ(weight["max"], first + 63.0 / 8192.0);
  EXPECT_NEAR(weight["mean"].get<double>(), first + 31.5 / 8192.0, 1e-12);
  EXPECT_EQ(weight["not_finite"], 0);
}

TEST_F(Ckpt, ReshardThereAndBackKeepsEveryStateAndEveryFile) {
  const std::string first = reshard(path("run"), "first", kTp2Dp2);
  const std::string stages = reshard(first, "stages", kPp2);
  const std::string one = reshard(stages, "one", kOne);
  const std::string last = reshard(one, "last", kTp2Dp2);
  for (const std::string& folder : {first, stages, one, last}) {
    expect_equal(path("run"), folder);
    EXPECT_EQ(ckpt({"verify", folder, "--deep"}).exit_code, 0);
  }
  EXPECT_EQ(shard_sizes(first), shard_sizes(last));
  EXPECT_EQ(shard_sizes(stages).size(), 2u);
  EXPECT_EQ(shard_sizes(one).size(), 1u);
  EXPECT_EQ(json::parse(ckpt({"inspect", first, "--json"}).out)["layout"],
            json({{"tensor_parallel", 2}, {"pipeline_parallel", 1}, {"zero_shards", 2}}));
}

// Elements by hand, V = 257, C = 64, F = 160, 2 layers. TP rank 0: 129 C of the embedding, a layer's 4 C^2/2 + 3 F C/2
// + 2 C, and C; rank 1: 128 C, the same without norms. Shares of DP are cut at multiples of 64: 65 of 129 go first, and
// norms whole.
TEST_F(Ckpt, ReshardStoresWhatARunOfTheLayoutWould) {
  const support::ProgramResult dry =
      ckpt({"reshard", path("run"), "--out", path("never"), "--dry-run", "--json"}, kTp2Dp2);
  ASSERT_EQ(dry.exit_code, 0) << dry.err;
  std::map<std::string, std::int64_t> bytes;
  const json plan = json::parse(dry.out);
  for (const json& copy : plan["copies"]) bytes[copy["to"]] += copy["bytes"].get<std::int64_t>();
  const std::int64_t state_bytes = 3 * 4, half = 2 * (4 * 64 * 64 + 3 * 160 * 64) / 4;
  const std::map<std::string, std::int64_t> expected = {
      {"shard_tp000_pp000_dp00000.h5", state_bytes * (65 * 64 + half + 5 * 64)},
      {"shard_tp001_pp000_dp00000.h5", state_bytes * (64 * 64 + half)},
      {"shard_tp000_pp000_dp00001.h5", state_bytes * (64 * 64 + half)},
      {"shard_tp001_pp000_dp00001.h5", state_bytes * (64 * 64 + half)},
  };
  EXPECT_EQ(bytes, expected);
  EXPECT_FALSE(std::filesystem::exists(path("never")));
  constexpr std::uintmax_t kOverhead = 64 * 1024;  // of HDF5's own structures
  for (const auto& [file, size] : shard_sizes(reshard(path("run"), "real", kTp2Dp2))) {
    EXPECT_GE(size, static_cast<std::uintmax_t>(expected.at(file)));
    EXPECT_LE(size, static_cast<std::uintmax_t>(expected.at(file)) + kOverhead);
  }
}

TEST_F(Ckpt, MergeWritesOneShard) {
  const std::string spread = reshard(path("run"), "spread", kTp2Dp2);
  EXPECT_EQ(ckpt({"merge", spread, "--out", path("merged")}).exit_code, 0);
  EXPECT_EQ(shard_sizes(path("merged")).size(), 1u);
  expect_equal(spread, path("merged"));
}

TEST_F(Ckpt, AReshardThatCannotBeIsRefusedAndLeavesNothing) {
  const support::ProgramResult heads =
      ckpt({"reshard", path("run"), "--out", path("no"), "--tensor-parallel", "3", "--pipeline-parallel", "5"});
  EXPECT_EQ(heads.exit_code, 2);
  EXPECT_THAT(heads.err, HasSubstr("--tensor-parallel 3"));
  EXPECT_THAT(heads.err, HasSubstr("--pipeline-parallel 5"));
  EXPECT_EQ(ckpt({"reshard", path("run"), "--out", path("no"), "--max-memory", "1MiB"}).exit_code, 2);
  EXPECT_EQ(ckpt({"reshard", golden("parity/llama-tied"), "--out", path("no")}).exit_code, 2);
  EXPECT_EQ(ckpt({"reshard", path("run"), "--out", path("run")}).exit_code, 7);
  EXPECT_THAT(folder_.names(), testing::ElementsAre("run"));
}

TEST_F(Ckpt, AReshardThatDoesNotFitIsRefusedAndLeavesNothing) {
  const support::ProgramResult result =
      support::run_program({.arguments = {"bash", "-c", "ulimit -f 256; exec \"$0\" merge \"$1\" --out \"$2\"",
                                          program("convoy-ckpt"), path("run"), path("no")}});
  EXPECT_EQ(result.exit_code, 7) << result.err;
  EXPECT_THAT(result.err, HasSubstr("ulimit -f"));
  EXPECT_THAT(folder_.names(), testing::ElementsAre("run"));
}

TEST_F(Ckpt, DiffNamesTheElementThatDiffers) {
  make("other", {.step = 10,
                 .changed_name = "model.layers.1.mlp.down_proj.weight",
                 .changed_state = "exp_avg",
                 .changed_index = 5 * 160 + 7});
  const std::string spread = reshard(path("other"), "spread", kTp2Dp2);
  const support::ProgramResult text = ckpt({"diff", path("run"), spread});
  EXPECT_EQ(text.exit_code, 6);
  EXPECT_THAT(
      text.out,
      HasSubstr("exp_avg of model.layers.1.mlp.down_proj.weight: 1 of 10240 values differ, the most at [5, 7]"));
  const json document = json::parse(ckpt({"diff", path("run"), spread, "--json"}).out);
  EXPECT_FALSE(document["equal"]);
  ASSERT_EQ(document["tensors"].size(), 1u);
  EXPECT_EQ(document["tensors"][0]["largest_difference"], 0.125);
  EXPECT_EQ(document["by_digest"], 59);
  EXPECT_EQ(ckpt({"diff", path("run"), spread, "--states", "weights"}).exit_code, 0);
  EXPECT_EQ(ckpt({"diff", path("run"), spread, "--atol", "0.2"}).exit_code, 0);
  EXPECT_EQ(ckpt({"diff", path("run"), spread, "--atol", "0.1"}).exit_code, 6);
}

TEST_F(Ckpt, DiffHoldsCountersAndModelsAgainstEachOther) {
  const std::string older = path("run/checkpoints/step_000000002");
  const support::ProgramResult steps = ckpt({"diff", path("run"), older});
  EXPECT_EQ(steps.exit_code, 6);
  EXPECT_THAT(steps.out, HasSubstr("step: 10 against 2"));
  EXPECT_EQ(ckpt({"diff", path("run"), older, "--states", "weights"}).exit_code, 0);
  const support::ProgramResult models =
      ckpt({"diff", golden("hf/llama_tied/model"), golden("hf/llama_gqa_untied/model")});
  EXPECT_EQ(models.exit_code, 6);
  EXPECT_THAT(models.out, HasSubstr("\"tie_word_embeddings\": true against \"tie_word_embeddings\": false"));
}

TEST_F(Ckpt, VerifyFindsAFlippedByteAndSaysWhere) {
  const std::string spread = reshard(path("run"), "spread", kTp2Dp2);
  std::string file, name;
  std::uint64_t offset = 0;
  {
    const checkpoint::Checkpoint opened(spread);
    const checkpoint::StoredFragment& fragment = opened.manifest().fragments[17];
    file = opened.manifest().files[fragment.file].name;
    name = opened.manifest().tensors[fragment.tensor].name;
    offset = fragment.offset;
  }
  flip_byte(spread + "/" + file, offset + 3);
  EXPECT_EQ(ckpt({"verify", spread}).exit_code, 0) << "the structure is sound";
  const support::ProgramResult deep = ckpt({"verify", spread, "--deep", "--json"});
  EXPECT_EQ(deep.exit_code, 3);
  EXPECT_THAT(deep.err,
              testing::AllOf(HasSubstr(file), HasSubstr(name), HasSubstr("at offset " + std::to_string(offset))));
  const support::ProgramResult copy = ckpt({"reshard", spread, "--out", path("no")});
  EXPECT_EQ(copy.exit_code, 3);
  EXPECT_FALSE(std::filesystem::exists(path("no")));
  flip_byte(spread + "/" + file, offset + 3);
  EXPECT_EQ(ckpt({"verify", spread, "--deep"}).exit_code, 0);
}

TEST_F(Ckpt, VerifyRefusesARunWhoseNewestStepIsBroken) {
  const std::string newest = path("run/checkpoints/step_000000010");
  std::filesystem::resize_file(newest + "/shard_tp000_pp000_dp00000.h5", 1000);
  const support::ProgramResult result = ckpt({"verify", path("run")});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("step_000000010/shard_tp000_pp000_dp00000.h5"));
  // Other commands go on with the step before, and say so.
  const support::ProgramResult older = ckpt({"inspect", path("run"), "--json"});
  EXPECT_EQ(json::parse(older.out)["step"], 2);
  EXPECT_THAT(older.err, HasSubstr("passed over"));
  std::filesystem::remove(newest + "/COMMIT");
  EXPECT_EQ(ckpt({"verify", newest}).exit_code, 3);
}

TEST_F(Ckpt, ExportKeepsEveryBitAndIsReadBack) {
  const std::string spread = reshard(path("run"), "spread", kTp2Dp2);
  ASSERT_EQ(ckpt({"export", spread, "--out", path("hf"), "--to", "hf"}).exit_code, 0);
  EXPECT_EQ(ckpt({"diff", spread, path("hf")}).exit_code, 0);
  ASSERT_EQ(ckpt({"import", path("hf"), "--out", path("again")}, kTp2Dp2).exit_code, 0);
  EXPECT_EQ(ckpt({"diff", spread, path("again"), "--states", "weights"}).exit_code, 0);
  EXPECT_THAT(folder_.names(), testing::ElementsAre("again", "hf", "run", "spread"));
}

TEST_F(Ckpt, ExportRoundsToBf16) {
  ASSERT_EQ(ckpt({"export", path("run"), "--out", path("hf"), "--to", "hf", "--dtype", "bf16"}).exit_code, 0);
  const checkpoint::SafetensorsFile written(path("hf/model.safetensors"));
  for (const checkpoint::NamedTensor& tensor : written.tensors()) EXPECT_EQ(tensor.view.dtype, tensor::DType::kBF16);
  EXPECT_EQ(json::parse(support::content_of(path("hf/config.json")))["dtype"], "bfloat16");
  EXPECT_EQ(ckpt({"diff", path("run"), path("hf")}).exit_code, 6);
  EXPECT_EQ(ckpt({"diff", path("run"), path("hf"), "--rtol", "0.004"}).exit_code, 0) << "2^-8 is half a unit of bf16";
}

TEST_F(Ckpt, ExportRoundsToFp16) {
  ASSERT_EQ(ckpt({"export", path("run"), "--out", path("hf"), "--to", "hf", "--dtype", "fp16"}).exit_code, 0);
  const checkpoint::SafetensorsFile written(path("hf/model.safetensors"));
  for (const checkpoint::NamedTensor& tensor : written.tensors()) EXPECT_EQ(tensor.view.dtype, tensor::DType::kF16);
  EXPECT_EQ(json::parse(support::content_of(path("hf/config.json")))["dtype"], "float16");
  EXPECT_EQ(ckpt({"diff", path("run"), path("hf")}).exit_code, 6);
  const support::ProgramResult close = ckpt({"diff", path("run"), path("hf"), "--rtol", "0.0005", "--atol", "3e-8"});
  EXPECT_EQ(close.exit_code, 0) << "2^-11 is half a unit of fp16, 2^-25 of its subnormal numbers";
}

TEST_F(Ckpt, ExportRefusesWhatFp16CannotHold) {
  ASSERT_EQ(ckpt({"export", path("run"), "--out", path("hf"), "--to", "hf"}).exit_code, 0);
  const float beyond = 70000.0f;  // the last element of the last tensor
  std::fstream file(path("hf/model.safetensors"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-4, std::ios::end);
  file.write(reinterpret_cast<const char*>(&beyond), sizeof beyond);
  file.close();
  ASSERT_EQ(ckpt({"import", path("hf"), "--out", path("large")}).exit_code, 0);
  const support::ProgramResult refused =
      ckpt({"export", path("large"), "--out", path("half"), "--to", "hf", "--dtype", "fp16"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, testing::HasSubstr("holds 70000, which fp16 cannot: its largest number is 65504"));
  EXPECT_FALSE(std::filesystem::exists(path("half")));
  EXPECT_EQ(ckpt({"export", path("large"), "--out", path("bf16"), "--to", "hf", "--dtype", "bf16"}).exit_code, 0);
}

TEST_F(Ckpt, ExportSplitsLargeModelsOverFilesWithAnIndex) {
  const support::ProgramResult result =
      ckpt({"export", path("run"), "--out", path("hf"), "--to", "hf", "--max-shard-size", "100kB", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json files = json::parse(result.out)["files"];
  EXPECT_EQ(files[0], "model-00001-of-0000" + std::to_string(files.size()) + ".safetensors");
  const json index = json::parse(support::content_of(path("hf/model.safetensors.index.json")));
  EXPECT_EQ(index["metadata"]["total_size"], 4 * 110976);
  EXPECT_EQ(index["weight_map"].size(), 20u);
  for (const json& file : files) {
    std::int64_t bytes = 0;
    const checkpoint::SafetensorsFile opened(folder_ / ("hf/" + file.get<std::string>()));
    for (const checkpoint::NamedTensor& tensor : opened.tensors()) bytes += 4 * tensor.view.count();
    EXPECT_LE(bytes, 100'000);
  }
  EXPECT_FALSE(std::filesystem::exists(path("hf/model.safetensors")));
  EXPECT_EQ(ckpt({"diff", path("run"), path("hf")}).exit_code, 0);
}

TEST_F(Ckpt, ExportPutsTheTokenizerBesideTheModel) {
  json config = json::parse(support::content_of(golden("parity/llama-tied/config.json")));
  config["vocab_size"] = 5000;
  support::make_checkpoint(folder_ / "large", config.dump());
  const std::string tokenizer = golden("data/models/bpe.model");
  EXPECT_EQ(ckpt({"export", path("large"), "--out", path("hf"), "--tokenizer", tokenizer}).exit_code, 0);
  EXPECT_EQ(support::content_of(path("hf/tokenizer.model")), support::content_of(tokenizer));
  const json settings = json::parse(support::content_of(path("hf/tokenizer_config.json")));
  EXPECT_EQ(settings["tokenizer_class"], "LlamaTokenizer");
  EXPECT_EQ(settings["add_bos_token"], false);
  EXPECT_EQ(settings["eos_token"], "</s>");
  EXPECT_EQ(json::parse(support::content_of(path("hf/special_tokens_map.json")))["unk_token"], "<unk>");
  const support::ProgramResult small = ckpt({"export", path("run"), "--out", path("no"), "--tokenizer", tokenizer});
  EXPECT_EQ(small.exit_code, 3);
  EXPECT_THAT(small.err, HasSubstr("vocabulary is 257"));
  EXPECT_FALSE(std::filesystem::exists(path("no")));
}

TEST_F(Ckpt, ExportPutsATokenizerJsonBesideTheModelAsItIs) {
  json config = json::parse(support::content_of(golden("parity/llama-tied/config.json")));
  config["vocab_size"] = 500;
  support::make_checkpoint(folder_ / "large", config.dump());
  const std::string tokenizer = golden("hf-tokenizer/llama3.tokenizer.json");
  EXPECT_EQ(ckpt({"export", path("large"), "--out", path("hf"), "--tokenizer", tokenizer}).exit_code, 0);
  EXPECT_EQ(support::content_of(path("hf/tokenizer.json")), support::content_of(tokenizer));
  EXPECT_FALSE(std::filesystem::exists(path("hf/tokenizer.model")));
  const json settings = json::parse(support::content_of(path("hf/tokenizer_config.json")));
  EXPECT_EQ(settings["tokenizer_class"], "PreTrainedTokenizerFast");
  EXPECT_EQ(settings["eos_token"], "<|end_of_text|>");
  EXPECT_EQ(settings["bos_token"], "<|begin_of_text|>");
}

TEST_F(Ckpt, ExportCreatesTheFoldersAboveItsOwn) {
  EXPECT_EQ(ckpt({"export", path("run"), "--out", path("a/b/hf/")}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("a/b/hf/model.safetensors")));
  EXPECT_EQ(ckpt({"export", path("run"), "--out", ""}).exit_code, 2);
}

TEST_F(Ckpt, ExportRefusesAnExistingFolderAndLeavesItAlone) {
  folder_.write("hf/note.txt", "mine");
  const support::ProgramResult result = ckpt({"export", path("run"), "--out", path("hf"), "--to", "hf"});
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_THAT(result.err, HasSubstr("exists already"));
  EXPECT_THAT(folder_.names(), testing::ElementsAre("hf", "run"));
  EXPECT_EQ(support::content_of(path("hf/note.txt")), "mine");
}

TEST_F(Ckpt, ImportTakesHuggingFaceFoldersAlone) {
  const support::ProgramResult result = ckpt({"import", path("run"), "--out", path("no")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("is a checkpoint already"));
  EXPECT_THAT(folder_.names(), testing::ElementsAre("run"));
}

TEST_F(Ckpt, WhatIsNoCheckpointIsRefused) {
  EXPECT_EQ(ckpt({"inspect", path("nowhere")}).exit_code, 2);
  EXPECT_EQ(ckpt({"inspect", folder_.path().string()}).exit_code, 3);
  EXPECT_EQ(ckpt({"export", golden("hf/st_truncated/model"), "--out", path("hf"), "--to", "hf"}).exit_code, 3);
  EXPECT_THAT(folder_.names(), testing::ElementsAre("run"));
}

}  // namespace
}  // namespace convoy::apps

// SPDX-License-Identifier: Apache-2.0
// Bad input to convoy-train: the documented exit code, one message that names what and where, and nothing half-written.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <regex>

#include "tests/apps/train_program.h"
#include "tests/support/megatron_pair.h"
#include "tests/support/tmp_dir.h"

namespace convoy::apps {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::int32_t> counting_tokens(std::int32_t count, std::int32_t vocabulary) {
  std::vector<std::int32_t> tokens;
  for (std::int32_t i = 0; i < count; ++i) tokens.push_back(i * 7 % vocabulary);
  return tokens;
}

class Refusals : public testing::Test {
 protected:
  Refusals() { support::write_pair(folder_ / "data", counting_tokens(500, 250), {500}); }

  // A run that works, of two steps of a GPT-2 with 48 positions and a vocabulary of 257; `more` comes after, so it
  // wins.
  std::vector<std::string> arguments(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"run",         "--model",    golden("parity/gpt2-tiny/config.json"),
                                    "--data",      path("data"), "--foreign-data",
                                    "--out",       path("run"),  "--sequence-length",
                                    "16",          "--steps",    "2",
                                    "--lr",        "1e-3",       "--global-batch-size",
                                    "2",           "--threads",  "1",
                                    "--log-level", "warning"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void expect_refused(const std::vector<std::string>& more, int code, const std::vector<std::string>& said) const {
    const support::ProgramResult result = call("convoy-train", arguments(more));
    EXPECT_EQ(result.exit_code, code) << result.err;
    for (const std::string& text : said) EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_EQ(result.out, "");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run/metrics.jsonl"));
  }

  support::TmpDir folder_;
};

TEST_F(Refusals, TheRunThatTheyVaryWorks) {
  const support::ProgramResult result = call("convoy-train", arguments());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/checkpoints/step_000000002/COMMIT"));
}

TEST_F(Refusals, AMissingModelFile) { expect_refused({"--model", path("none.json")}, 2, {"none.json"}); }

TEST_F(Refusals, AMissingDataSet) {
  std::vector<std::string> all = arguments();
  all[4] = path("none");
  const support::ProgramResult result = call("convoy-train", all);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("none"));
}

TEST_F(Refusals, AMissingInitialFolder) { expect_refused({"--init-from", path("none")}, 2, {"none"}); }

TEST_F(Refusals, AnUnknownKeyInToml) {
  folder_.write("run.toml", "[train]\nlearning-rat = 3\n");
  expect_refused({"--config", path("run.toml")}, 2, {"run.toml:2", "learning-rat"});
}

TEST_F(Refusals, AContradictoryKeyInConfigJson) {
  std::string config = support::content_of(golden("parity/gpt2-tiny/config.json"));
  config.replace(config.find("\"n_head\": 4"), 11, "\"n_head\": 5");
  folder_.write("config.json", config);
  expect_refused({"--model", path("config.json")}, 2, {"config.json", "n_head"});
}

TEST_F(Refusals, AConfigJsonThatIsNoJson) {
  folder_.write("config.json", "{\"vocab_size\": ");
  expect_refused({"--model", path("config.json")}, 3, {"config.json"});
}

TEST_F(Refusals, SequencesBeyondThePositions) {
  expect_refused({"--sequence-length", "49"}, 2, {"--sequence-length 49", "48 positions"});
}

TEST_F(Refusals, ATokenBeyondTheVocabulary) {
  support::write_pair(folder_ / "data", counting_tokens(500, 300), {500});
  expect_refused({}, 3, {"token id 299", "257"});
}

TEST_F(Refusals, ABinShorterThanItsIndex) {
  std::filesystem::resize_file(folder_ / "data.bin", 1996);
  expect_refused({}, 3, {"data.bin", "1996", "2000"});
}

TEST_F(Refusals, AnUncommittedPair) {
  std::vector<std::string> all = arguments();
  all.erase(all.begin() + 5);
  const support::ProgramResult result = call("convoy-train", all);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("data.meta.json"));
}

// The same ids would be other text: ids of both tokenizers are below the model's vocabulary.
TEST_F(Refusals, DataOfTwoTokenizers) {
  folder_.write("model.json", std::regex_replace(support::content_of(golden("parity/gpt2-tiny/config.json")), std::regex("\"vocab_size\": *[0-9]+"),
                                                 "\"vocab_size\": 70000"));
  for (const std::string& name : {std::string("bpe"), std::string("uni")}) {
    const support::ProgramResult encoded =
        call("convoy-preprocess", {"encode", golden("data/inputs/plain.jsonl"), "--tokenizer", golden("data/models/" + name + ".model"), "--out",
                                   path(name), "--allow-lossy", "--append-eos"});
    ASSERT_EQ(encoded.exit_code, 0) << encoded.err;
  }
  std::vector<std::string> all = arguments({"--model", path("model.json"), "--dropout", "0"});
  all.erase(all.begin() + 3, all.begin() + 6);  // --data, --foreign-data
  all.insert(all.end(), {"--data", path("bpe"), "--data", path("bpe"), "--data-weights", "1,1"});
  EXPECT_EQ(call("convoy-train", all).exit_code, 0);
  std::filesystem::remove_all(folder_ / "run");
  all.insert(all.end(), {"--data", path("uni"), "--data-weights", "1"});
  const support::ProgramResult refused = call("convoy-train", all);
  EXPECT_EQ(refused.exit_code, 3) << refused.err;
  EXPECT_THAT(refused.err, testing::AllOf(HasSubstr(path("uni") + " was encoded with another tokenizer than " + path("bpe")), HasSubstr("SHA-256")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/metrics.jsonl"));
}

TEST_F(Refusals, WeightsThatAreCutOverlapOrLack) {
  for (const char* name : {"st_truncated", "st_overlap", "missing_tensor", "index_missing_file"}) {
    const std::string folder = golden(std::string("hf/") + name + "/model");
    const support::ProgramResult result =
        call("convoy-train", arguments({"--model", folder, "--init-from", folder, "--dropout", "0"}));
    EXPECT_EQ(result.exit_code, 3) << name << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr(name));
  }
}

TEST_F(Refusals, EverythingAtOnceOnOneLaunch) {
  expect_refused({"--micro-batch-size", "3", "--warmup-steps", "5", "--min-lr", "1", "--tokens", "100"}, 2,
                 {"4 problems", "--micro-batch-size 3", "--warmup-steps 5", "--min-lr 1", "--tokens"});
}

TEST_F(Refusals, ADropoutRateOfOne) {
  std::string config = support::content_of(golden("parity/gpt2-tiny/config.json"));
  config.replace(config.find("\"resid_pdrop\": 0.0"), 18, "\"resid_pdrop\": 1.0");
  folder_.write("config.json", config);
  expect_refused({"--model", path("config.json")}, 2, {"a dropout rate of model", "is 1", "below 1"});
  expect_refused({"--dropout", "1"}, 2, {"--dropout 1", "below 1"});
  const support::ProgramResult without =
      call("convoy-train", arguments({"--model", path("config.json"), "--dropout", "0"}));
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_THAT(without.err, Not(HasSubstr("dropout")));
}

// Alone, but told by the launcher's variables that it is one of four.
TEST_F(Refusals, ARankAloneInsideOfAJobOfSeveral) {
  const support::ProgramResult result = call("convoy-train", arguments(),
                                             {"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=0",
                                              "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
  EXPECT_THAT(result.exit_code, testing::AnyOf(5, 7)) << result.err;
  EXPECT_THAT(result.err, HasSubstr("4 ranks"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(Refusals, AnotherWorldThanExpected) {
  expect_refused({"--expect-world", "2"}, 2, {"--expect-world 2", "1 rank"});
}

TEST_F(Refusals, LayoutsThatCannotBe) {
  expect_refused({"--tensor-parallel", "3"}, 2, {"--tensor-parallel 3", "4 heads"});
  expect_refused({"--pipeline-parallel", "9"}, 2, {"--pipeline-parallel 9", "layer"});
  expect_refused({"--virtual-stages", "2", "--sequence-parallel"}, 2,
                 {"--virtual-stages 2", "--schedule interleaved", "--sequence-parallel", "--tensor-parallel 2"});
  expect_refused({"--rank-order", "tp,dp"}, 2, {"--rank-order tp,dp", "tp,dp,pp"});
}

TEST_F(Refusals, ARampThatCannotBe) {
  expect_refused({"--batch-ramp", "0:7,1K:16", "--micro-batch-size", "2"}, 2,
                 {"its 7 sequences", "nearest legal values: 6, 8", "both given"});
  expect_refused({"--lr-schedule", "triangle"}, 2, {"--lr-schedule", "linear", "wsd"});
}

TEST_F(Refusals, ARunDirectoryBelowAFile) {
  folder_.write("file", "");
  expect_refused({"--out", path("file/run")}, 7, {"file/run"});
}

TEST_F(Refusals, ARunDirectoryThatHoldsARun) {
  ASSERT_EQ(call("convoy-train", arguments()).exit_code, 0);
  const std::string metrics = support::content_of(folder_ / "run/metrics.jsonl");
  const support::ProgramResult again = call("convoy-train", arguments({"--log-level", "info"}));
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.err, HasSubstr("is finished: step 2 of 2"));
  const support::ProgramResult result = call("convoy-train", arguments({"--resume", "never"}));
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_THAT(result.err, HasSubstr("choose another --out"));
  const support::ProgramResult other = call("convoy-train", arguments({"--seed", "2", "--lr", "1e-4"}));
  EXPECT_EQ(other.exit_code, 2);
  for (const char* said : {"seed: the checkpoint's run has 1, this one 2", "lr: the checkpoint's run has 0.001"})
    EXPECT_THAT(other.err, HasSubstr(said));
  EXPECT_EQ(support::content_of(folder_ / "run/metrics.jsonl"), metrics);
}

TEST_F(Refusals, ARunDirectoryInUse) {
  const std::string lock = folder_.write("run/LOCK", "process 1 on elsewhere\n").string();
  const int descriptor = ::open(lock.c_str(), O_RDWR);
  ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
  expect_refused({}, 7, {"process 1 on elsewhere"});
  ::close(descriptor);
}

// A limit on the size of files stands for a full disk: write(2) fails half-way through the second kind of file.
TEST_F(Refusals, AFullDiskWhileSaving) {
  std::string line = "trap '' XFSZ; ulimit -f 300; exec \"$0\" \"$@\"";
  std::vector<std::string> all = {"sh", "-c", line, program("convoy-train")};
  const std::vector<std::string> run = arguments();
  all.insert(all.end(), run.begin(), run.end());
  const support::ProgramResult result = support::run_program({.arguments = all});
  EXPECT_EQ(result.exit_code, 7) << result.err;
  EXPECT_THAT(result.err, HasSubstr("checkpoints"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "run/checkpoints"));
  EXPECT_THAT(support::content_of(folder_ / "run/status.json"), HasSubstr("\"state\":\"failed\""));
  EXPECT_THAT(support::content_of(folder_ / "run/status.json"), HasSubstr("\"exit_code\":7"));
}

TEST_F(Refusals, NonFiniteStepsInARow) {
  const support::ProgramResult result =
      call("convoy-train",
           arguments({"--lr", "1e30", "--lr-schedule", "constant", "--steps", "9", "--max-skipped-steps", "2"}));
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_THAT(result.err, HasSubstr("--max-skipped-steps 2"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/checkpoints"));
}

TEST_F(Refusals, SamplingWithATokenizerThatIsNone) {
  folder_.write("bad.model", "no tokenizer");
  const std::string checkpoint = golden("parity/gpt2-tiny");
  const auto sample = [&](const std::string& tokenizer, const std::string& from) {
    return call("convoy-train",
                {"sample", "--checkpoint", from, "--tokenizer", tokenizer, "--prompt", "a", "--threads", "1"});
  };
  EXPECT_EQ(sample(path("bad.model"), checkpoint).exit_code, 3);
  EXPECT_EQ(sample(path("none.model"), checkpoint).exit_code, 2);
  EXPECT_EQ(sample(golden("data/models/bpe.model"), path("none")).exit_code, 2);
  EXPECT_EQ(sample(golden("data/models/bpe.model"), folder_.path().string()).exit_code, 3);
}

// Its vocabulary is as large, so no id is wrong.
TEST_F(Refusals, SamplingWithAnotherTokenizerThanTheDatas) {
  folder_.write("model.json", std::regex_replace(support::content_of(golden("parity/gpt2-tiny/config.json")), std::regex("\"vocab_size\": *[0-9]+"),
                                                 "\"vocab_size\": 512"));
  const std::string tokenizer = golden("hf-tokenizer/llama3.tokenizer.json");
  const support::ProgramResult encoded = call("convoy-preprocess", {"encode", golden("data/inputs/plain.jsonl"), "--tokenizer", tokenizer, "--out",
                                                                    path("own"), "--append-eos"});
  ASSERT_EQ(encoded.exit_code, 0) << encoded.err;
  std::vector<std::string> all = arguments({"--model", path("model.json")});
  std::erase(all, "--foreign-data");
  std::replace(all.begin(), all.end(), path("data"), path("own"));
  ASSERT_EQ(call("convoy-train", all).exit_code, 0);
  const auto sample = [&](const std::string& with) {
    return call("convoy-train", {"sample", "--checkpoint", path("run"), "--tokenizer", with, "--prompt", "a", "--threads", "1", "--max-tokens", "3"});
  };
  EXPECT_EQ(sample(tokenizer).exit_code, 0);
  const support::ProgramResult refused = sample(golden("hf-tokenizer/gpt2.tokenizer.json"));
  EXPECT_EQ(refused.exit_code, 3) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("was trained on data of a tokenizer with sha256"));
}

TEST_F(Refusals, AnUnknownPresetListsTheKnownOnes) {
  const support::ProgramResult result = call("convoy-train", {"show-model", "--model", "gpt5"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("gpt2-124m"));
}

}  // namespace
}  // namespace convoy::apps

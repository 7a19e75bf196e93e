// SPDX-License-Identifier: Apache-2.0
// Pairs between Megatron and us, u16 and i32: convoy-train reads what megatron-core wrote, megatron-core reads what
// convoy-preprocess wrote. The golden pairs are megatron-core's; where it is installed, it also writes and reads here.
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/apps/train_program.h"
#include "tests/support/megatron_pair.h"
#include "tests/support/tmp_dir.h"

namespace convoy::apps {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

constexpr int kMissing = 77;  // megatron_pair.py

struct Pair {
  bool narrow = false;
  Ids tokens = {}, lengths = {};  // of the documents that have any
};

template <class T>
T value_at(const std::string& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// By the table of docs/formats.md, without the library's reader. Megatron's documents are ranges of sequences.
Pair read_pair(const std::string& prefix) {
  const std::string idx = support::content_of(prefix + ".idx"), bin = support::content_of(prefix + ".bin");
  const auto sequences = value_at<std::uint64_t>(idx, 18), documents = value_at<std::uint64_t>(idx, 26) - 1;
  Pair pair{.narrow = idx[17] == 8};
  const std::size_t width = pair.narrow ? 2 : 4;
  for (std::size_t at = 0; at < bin.size(); at += width) {
    pair.tokens.push_back(pair.narrow ? value_at<std::uint16_t>(bin, at) : value_at<std::int32_t>(bin, at));
  }
  const auto end_of = [&](std::uint64_t document) {
    return static_cast<std::uint64_t>(value_at<std::int64_t>(idx, 34 + 12 * sequences + 8 * document));
  };
  for (std::uint64_t d = 0; d < documents; ++d) {
    std::int32_t length = 0;
    for (std::uint64_t s = end_of(d); s < end_of(d + 1); ++s) length += value_at<std::int32_t>(idx, 34 + 4 * s);
    if (length > 0) pair.lengths.push_back(length);
  }
  return pair;
}

std::vector<Ids> documents_of(const Pair& pair) {
  std::vector<Ids> documents;
  auto at = pair.tokens.begin();
  for (const std::int32_t length : pair.lengths) {
    documents.emplace_back(at, at + length);
    at += length;
  }
  return documents;
}

class MegatronPairs : public testing::Test {
 protected:
  MegatronPairs() {
    folder_.write(
        "config.json",
        R"({"model_type": "gpt2", "vocab_size": 65536, "n_embd": 8, "n_head": 2, "n_layer": 1, "n_positions": 64})");
  }

  // What four steps over the pair do, to the byte; documents count, too.
  std::string metrics_of(const std::string& prefix, const std::string& name) const {
    const std::string run = (folder_ / name).string();
    const support::ProgramResult result = call("convoy-train", {"run",
                                                                "--model",
                                                                (folder_ / "config.json").string(),
                                                                "--data",
                                                                prefix,
                                                                "--foreign-data",
                                                                "--out",
                                                                run,
                                                                "--sequence-length",
                                                                "64",
                                                                "--global-batch-size",
                                                                "4",
                                                                "--steps",
                                                                "4",
                                                                "--lr",
                                                                "1e-2",
                                                                "--threads",
                                                                "1",
                                                                "--precision",
                                                                "fp32",
                                                                "--attention-reset-at-document",
                                                                "--log-level",
                                                                "warning"});
    EXPECT_EQ(result.exit_code, 0) << prefix << ": " << result.err;
    return result.exit_code == 0 ? support::content_of(run + "/metrics.jsonl") : result.err;
  }

  // The same documents, written by hand in the other type.
  void expect_trained_as_by_hand(const std::string& prefix, const std::string& name) const {
    const Pair pair = read_pair(prefix);
    const std::string by_hand = (folder_ / (name + "-by-hand")).string();
    if (pair.narrow) {
      support::write_pair<std::int32_t>(by_hand, pair.tokens, pair.lengths);
    } else {
      support::write_pair<std::uint16_t>(by_hand, pair.tokens, pair.lengths);
    }
    EXPECT_EQ(metrics_of(prefix, name + "-run"), metrics_of(by_hand, name + "-run-by-hand")) << prefix;
  }

  support::ProgramResult megatron(std::vector<std::string> arguments, const std::string& input = {}) const {
    arguments.insert(arguments.begin(), {"python3", std::string(CONVOY_SOURCE_DIR) + "/tests/apps/megatron_pair.py"});
    return support::run_program({.arguments = std::move(arguments), .input = input});
  }

  support::TmpDir folder_;
};

TEST_F(MegatronPairs, TheGoldenOnesAreTrainedAsTheSameDocumentsInTheOtherType) {
  for (const std::string name : {"bpe-u16", "bpe-65500-i32", "empties-u16-megatron", "multi", "modes"}) {
    expect_trained_as_by_hand(golden("data/megatron/" + name), name);
  }
}

TEST_F(MegatronPairs, TheOnesThatMegatronWritesHereAreTrainedAsTheSameDocumentsInTheOtherType) {
  json documents;
  for (int d = 0; d < 200; ++d) {
    Ids ids;
    for (int i = 0; i <= d % 37; ++i) ids.push_back((d * 331 + i * i * 17) % 65000);
    documents.push_back(ids);
  }
  for (const std::string vocabulary : {"65499", "65500"}) {
    const std::string prefix = (folder_ / vocabulary).string();
    const support::ProgramResult written = megatron({"write", prefix, vocabulary}, documents.dump());
    if (written.exit_code == kMissing) GTEST_SKIP() << written.err;
    ASSERT_EQ(written.exit_code, 0) << written.err;
    EXPECT_EQ(read_pair(prefix).narrow, vocabulary == "65499");
    EXPECT_EQ(json(documents_of(read_pair(prefix))), documents);
    expect_trained_as_by_hand(prefix, vocabulary);
  }
}

// The golden pairs of the same text are what an older megatron-core wrote of the library's ids.
TEST_F(MegatronPairs, MegatronReadsThoseOfConvoyPreprocess) {
  for (const auto& [model, pair, type] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"bpe", "bpe-u16", "uint16"}, {"bpe-65500", "bpe-65500-i32", "int32"}}) {
    const std::string prefix = (folder_ / pair).string();
    const support::ProgramResult encoded =
        call("convoy-preprocess",
             {"encode", golden("data/megatron/docs.jsonl"), "--tokenizer", golden("data/models/" + model + ".model"),
              "--append-eos", "--out", prefix, "--log-level", "warning"});
    ASSERT_EQ(encoded.exit_code, 0) << encoded.err;
    const support::ProgramResult read = megatron({"read", prefix});
    if (read.exit_code == kMissing) GTEST_SKIP() << read.err;
    ASSERT_EQ(read.exit_code, 0) << read.err;
    const json found = json::parse(read.out);
    EXPECT_EQ(found["dtype"], type);
    EXPECT_EQ(found["documents"], json(documents_of(read_pair(golden("data/megatron/" + pair)))));
  }
}

}  // namespace
}  // namespace convoy::apps

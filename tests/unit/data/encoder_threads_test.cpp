// SPDX-License-Identifier: Apache-2.0
// Many threads over one tokenizer, and runs of many threads that end in an error. What is wrong here, the thread sanitizer sees.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>
#include <vector>

#include "golden.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/data/encoder.h"
#include "libcore/data/tokenizer.h"

namespace convoy::data {
namespace {

using golden::message_of;
using golden::TemporaryFolder;
using testing::HasSubstr;

constexpr int kThreads = 4;

using Ids = std::vector<std::int32_t>;

std::vector<std::string> lines_of(const Path& file, std::size_t most) {
  std::vector<std::string> lines;
  const std::string text = golden::content(file);
  for (std::size_t at = 0; at < text.size() && lines.size() < most;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// Each thread begins at another text and takes a new lane for every round, whose room others have used before.
TEST(TokenizerThreads, LanesOfOneTokenizerGiveTheIdsOfOneThread) {
  const std::vector<std::string> texts = lines_of(golden::folder() / "megatron/docs.jsonl", 60);
  for (const char* name : {"bpe", "uni-bf", "bpe-nmt"}) {
    const Tokenizer tokenizer(golden::folder() / "models" / (std::string(name) + ".model"));
    std::vector<Ids> expected(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) tokenizer.encode_by_library(texts[i], expected[i]);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int round = 0; round < 2; ++round) {
          Tokenizer::Lane lane(tokenizer);
          for (std::size_t i = 0; i < texts.size(); ++i) {
            const std::size_t number = (i + thread * texts.size() / kThreads) % texts.size();
            Ids ids;
            lane.encode(texts[number], ids);
            if (ids != expected[number]) ++wrong;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << name;
  }
}

class EncoderThreads : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kOff); }
  void TearDown() override {
    set_log_level(LogLevel::kInfo);
    EXPECT_THAT(folder_.names(), testing::Each(testing::Not(testing::StartsWith("x."))));
  }
  EncodeOptions options_for(const std::vector<std::string>& inputs) const {
    return {.inputs = inputs,
            .keys = {"text"},
            .tokenizer = golden::folder() / "models/bpe.model",
            .out = folder_ / "x",
            .threads = kThreads,
            .verify_every = 50};
  }
  static std::string input(const char* name) { return (golden::folder() / "inputs" / name).string(); }

  TemporaryFolder folder_;
};

TEST_F(EncoderThreads, ABadRecordBehindGoodFilesEndsAllOfThem) {
  const EncodeOptions options = options_for({input("plain.jsonl"), input("plain.jsonl"), input("badline.jsonl"), input("plain.jsonl")});
  for (int round = 0; round < 5; ++round)
    EXPECT_THAT(message_of<DataError>([&] { encode(options, {}); }), HasSubstr("badline.jsonl: line 16"));
}

TEST_F(EncoderThreads, AnInputThatIsCutEndsAllOfThem) {
  const EncodeOptions options = options_for({input("plain.jsonl"), input("cut.jsonl.gz"), input("badline.jsonl")});
  for (int round = 0; round < 5; ++round) EXPECT_THAT(message_of<DataError>([&] { encode(options, {}); }), HasSubstr("cut.jsonl.gz"));
}

TEST_F(EncoderThreads, AStopAtAnyPollEndsAllOfThem) {
  for (int last = 0; last < 3; ++last) {
    int polls = 0;
    const EncodeHooks hooks{.progress = {}, .poll = [&] {
                              if (polls++ == last) throw EnvironmentError("stop");
                            }};
    EXPECT_THAT(message_of<EnvironmentError>([&] { encode(options_for(std::vector<std::string>(6, input("plain.jsonl"))), hooks); }), HasSubstr("stop"));
  }
}

}  // namespace
}  // namespace convoy::data

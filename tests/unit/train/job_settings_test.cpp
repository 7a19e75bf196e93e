// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/job_settings.h"

#include <functional>

#include "tests/unit/train/tiny_run.h"

namespace convoy::train {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kConfig = "[train]\n\n# Layout (a = b)\nlr = 0.01\nthreads = 1\n# fault = FAULT\n";

// What two ranks say whose rank 1 was changed by `change`; "" where they train.
std::string refusal(const config::RunOptions& options,
                    const std::function<void(config::RunOptions&, std::string& config)>& change) {
  std::vector<std::string> said(2);
  comm::run_ranks(2, [&](comm::Communicator& world) {
    config::RunOptions own = options;
    std::string text = kConfig;
    if (world.rank() == 1) change(own, text);
    const Rank self{world, {"here", 1 + world.rank(), "", "process 1 on here"}, tiny_machine(2)};
    try {
      run(own, self, {{"convoy-train", "run"}, text, {}});
    } catch (const ConfigError& error) {
      said[static_cast<std::size_t>(world.rank())] = error.what();
    }
  });
  EXPECT_EQ(said[0], said[1]);
  return said[0];
}

class JobSettings : public testing::Test {
 protected:
  TmpDir folder_;
  config::RunOptions options_ = tiny_options(folder_);
};

TEST_F(JobSettings, RanksOfOneCommandLineTrain) {
  EXPECT_EQ(refusal(options_, [](auto&, auto&) {}), "");
}

TEST_F(JobSettings, ThreadsAreARanksOwn) {
  EXPECT_EQ(
      refusal(options_, [](auto&, auto& config) { config.replace(config.find("threads = 1"), 11, "threads = 2"); }),
      "");
}

TEST_F(JobSettings, AFlagOfOneRankAloneIsRefusedOnAll) {
  const auto other = [](auto&, auto& config) {
    config.replace(config.find("0.01"), 4, "0.02");
    config.replace(config.find("# fault = FAULT"), 15, "fault = [\"kill\"]");
  };
  EXPECT_THAT(refusal(options_, other),
              AllOf(HasSubstr("rank 1 on here"), HasSubstr("--lr: 0.02 here, 0.01 on rank 0"),
                    HasSubstr("--fault: [\"kill\"] here, nothing on rank 0"), Not(HasSubstr("Layout"))));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

// As a copy of the data on a node's own disk may be.
TEST_F(JobSettings, OtherTokensUnderTheSameNameAreRefused) {
  std::vector<std::int32_t> tokens = random_tokens(1001);
  tokens.back() = 1 - tokens.back() % 2;
  write_pair(folder_ / "other", tokens, {1001});
  EXPECT_THAT(refusal(options_, [&](auto& own, auto&) { own.data.data = {(folder_ / "other").string()}; }),
              HasSubstr("tokens of --data: 1001 tokens in 1 documents"));
  EXPECT_THAT(
      refusal(options_, [&](auto& own, auto&) { own.data.valid_data = {"valid=" + (folder_ / "other").string()}; }),
      HasSubstr("tokens of --valid-data valid: 1001 tokens"));
}

TEST_F(JobSettings, AnotherModelUnderTheSameNameIsRefused) {
  std::string model = tiny_llama();
  model.replace(model.find("10000.0"), 7, "20000.0");
  folder_.write("other.json", model);
  EXPECT_THAT(refusal(options_, [&](auto& own, auto&) { own.model.model = (folder_ / "other.json").string(); }),
              HasSubstr("model: {"));
}

}  // namespace
}  // namespace convoy::train

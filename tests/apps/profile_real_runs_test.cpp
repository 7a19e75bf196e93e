// SPDX-License-Identifier: Apache-2.0
// Real runs of four ranks on the cores that there are, one of them slowed down on purpose: the report names that rank
// and that phase, with the excess that was injected; of healthy runs it names nobody.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/apps/train_program.h"
#include "tests/support/megatron_pair.h"
#include "tests/support/mpi_launch.h"
#include "tests/support/tmp_dir.h"

namespace convoy::apps {
namespace {

using nlohmann::json;

constexpr int kRanks = 4;
constexpr int kSteps = 120;
constexpr int kHealthyRuns = 10;
constexpr int kSecondsARun = 300;  // on a machine that others use
constexpr double kPoints = 10.0;   // that a stated excess may be off, in percent of the phase or of the step

struct Layout {
  std::string name;
  int tensor, pipeline;
  int first_step;  // from which on a rank is slow: one without peers is compared with its own steps before
};
const std::vector<Layout> kLayouts = {{"tp2_dp2", 2, 1, 1}, {"dp4", 1, 1, 1}, {"pp4", 1, 4, kSteps / 2 + 1}};

// A GPT-2 whose steps take some 50 to 100 ms where two ranks share a core.
constexpr const char* kModel = R"({"architectures":["GPT2LMHeadModel"],"model_type":"gpt2","vocab_size":512,
  "n_embd":128,"n_layer":4,"n_head":4,"n_positions":128,"attn_pdrop":0.0,"embd_pdrop":0.0,"resid_pdrop":0.0})";

class RealRuns : public testing::Test {
 protected:
  RealRuns() {
    std::vector<std::int32_t> tokens;
    for (std::int32_t i = 0; i < 50000; ++i) tokens.push_back(i * 7919 % 509);
    support::write_pair(folder_ / "data", tokens, {50000});
    folder_.write("config.json", kModel);
  }

  // Trains as `run`, and returns what the report says.
  json report(const std::string& run, const Layout& layout, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {program("convoy-train"), "run", "--foreign-data", "--tensorboard", "no"};
    const auto add = [&](const std::string& flag, const std::string& value) {
      arguments.insert(arguments.end(), {"--" + flag, value});
    };
    add("model", (folder_ / "config.json").string());
    add("data", (folder_ / "data").string());
    add("out", (folder_ / run).string());
    add("sequence-length", "64");
    add("global-batch-size", "32");
    add("micro-batch-size", "2");
    add("steps", std::to_string(kSteps));
    add("threads", "1");
    add("tensor-parallel", std::to_string(layout.tensor));
    add("pipeline-parallel", std::to_string(layout.pipeline));
    arguments.insert(arguments.end(), more.begin(), more.end());
    const support::ProgramResult trained = support::run_program(support::mpi_call(kRanks, arguments, kSecondsARun));
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
    const support::ProgramResult told = call("convoy-profile", {"report", (folder_ / run).string(), "--json"});
    EXPECT_EQ(told.exit_code, 0) << told.err;
    return json::parse(told.out, nullptr, false);
  }

  // Mean time of the steps from `first` on, as the run's own log has it.
  double step_seconds(const std::string& run, int first) const {
    std::ifstream in(folder_ / run / "events.jsonl");
    double sum = 0.0;
    int count = 0;
    for (std::string line; std::getline(in, line);) {
      const json row = json::parse(line);
      if (row["kind"] != "timing" || row["step"] < std::max(first, 10)) continue;
      sum += row["step_seconds"].get<double>();
      ++count;
    }
    return sum / count;
  }

  void expect_named(const json& report, int rank, const std::string& phase) {
    ASSERT_EQ(report["stragglers"].size(), 1u) << report.dump();
    EXPECT_EQ(report["stragglers"][0]["rank"], rank) << report.dump();
    EXPECT_EQ(report["stragglers"][0]["phase"], phase) << report.dump();
    RecordProperty(fmt::format("excess_{}", rank), report["stragglers"][0]["excess_percent"].dump());
  }

  support::TmpDir folder_;
};

TEST_F(RealRuns, ARankThatIsSlowInForwardOrBackwardIsNamedWithItsExcess) {
  int rank = 0;
  for (const Layout& layout : kLayouts) {
    for (const std::string phase : {"forward", "backward"}) {
      const std::string name = layout.name + "_" + phase;
      SCOPED_TRACE(name);
      rank = (rank + 1) % kRanks;
      const json found =
          report(name, layout, {"--fault", fmt::format("slow:rank={},factor=1.5,phase={},steps={}-{}", rank, phase,
                                                       layout.first_step, kSteps)});
      expect_named(found, rank, phase);
      if (found["stragglers"].empty()) continue;
      EXPECT_NEAR(found["stragglers"][0]["excess_percent"].get<double>(), 50.0, kPoints) << found.dump();
      std::cout << name << ": excess " << found["stragglers"][0]["excess_percent"] << " %\n";
    }
  }
}

// The sleep is a share of the step, whatever the reading of the samples takes.
TEST_F(RealRuns, ARankThatWaitsForItsDataIsNamedWithWhatThatCosts) {
  int rank = 3;
  for (const Layout& layout : kLayouts) {
    SCOPED_TRACE(layout.name);
    const json healthy = report(layout.name + "_before", layout);
    EXPECT_TRUE(healthy["stragglers"].empty()) << healthy.dump();
    const double sleep = 0.5 * healthy["step_seconds"]["p50"].get<double>();
    const std::string name = layout.name + "_data";
    const json found =
        report(name, layout, {"--fault", fmt::format("slow:rank={},sleep={:.1f}ms,phase=data,steps={}-{}", rank,
                                                     1e3 * sleep, layout.first_step, kSteps)});
    expect_named(found, rank, "data");
    if (found["stragglers"].empty()) continue;
    const double injected = 100.0 * sleep / step_seconds(name, layout.first_step);
    EXPECT_NEAR(found["stragglers"][0]["step_excess_percent"].get<double>(), injected, kPoints) << found.dump();
    std::cout << name << ": " << found["stragglers"][0]["step_excess_percent"] << " % of the step, injected "
              << injected << " %\n";
    rank = (rank + 2) % kRanks;
  }
}

TEST_F(RealRuns, OfHealthyRunsNobodyIsNamed) {
  for (int i = 0; i < kHealthyRuns; ++i) {
    const Layout& layout = kLayouts[static_cast<std::size_t>(i) % kLayouts.size()];
    const json found = report(fmt::format("healthy_{}", i), layout);
    EXPECT_EQ(found["stragglers"].dump(), "[]") << layout.name << ": " << found["verdict"];
  }
}

}  // namespace
}  // namespace convoy::apps

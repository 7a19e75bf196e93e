// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/synth.h"

#include <limits>
#include <sstream>

#include "libcore/base/error.h"
#include "libcore/trace/trace_reader.h"
#include "tests/support/tmp_dir.h"

namespace convoy::analysis {
namespace {

using support::content_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using trace::Phase;

SynthOptions small() {
  SynthOptions options;
  options.tensor = 2;
  options.data = 2;
  options.steps = 20;
  options.ranks_per_host = 2;
  return options;
}

std::string all_bytes(const Path& run) {
  std::string bytes = content_of(run / "metrics.jsonl");
  for (int rank = 0; rank < 4; ++rank) bytes += content_of(run / "traces" / trace::trace_file_name(rank, 1));
  return bytes;
}

TEST(Synthesize, GivesTheSameBytesForTheSameOptions) {
  const support::TmpDir dir;
  SynthOptions options = small();
  synthesize(options, dir / "a");
  synthesize(options, dir / "b");
  options.seed = 2;
  synthesize(options, dir / "c");
  EXPECT_TRUE(all_bytes(dir / "a") == all_bytes(dir / "b"));
  EXPECT_FALSE(all_bytes(dir / "a") == all_bytes(dir / "c"));
}

TEST(Synthesize, WritesEveryStepOfEveryRankAndTheEventsOfTheWindow) {
  const support::TmpDir dir;
  SynthOptions options = small();
  options.steps = 600;  // more than a block holds
  options.window_first = 300;
  options.window_last = 301;
  synthesize(options, dir / "run");
  for (int rank = 0; rank < 4; ++rank) {
    trace::TraceReader reader(dir / "run/traces" / trace::trace_file_name(rank, 1));
    EXPECT_EQ(reader.header().rank, rank);
    EXPECT_EQ(reader.header().world, 4);
    EXPECT_EQ(reader.header().at, (trace::Coordinates{.tensor = rank % 2, .pipeline = 0, .data = rank / 2}));
    EXPECT_EQ(reader.header().host, rank < 2 ? "node-001" : "node-002");
    std::vector<trace::StepRecord> steps;
    std::vector<trace::Event> events;
    std::uint64_t next = 1, from_window = 0;
    while (reader.next(steps, events)) {
      for (const trace::StepRecord& step : steps) EXPECT_EQ(step.step, next++);
      for (const trace::Event& event : events) from_window += event.step == 300 || event.step == 301 ? 1 : 0;
      for (const trace::Event& event : events) EXPECT_TRUE(event.step == 300 || event.step == 301) << event.step;
    }
    EXPECT_EQ(next, 601u);
    // 4 micro-batches: 2 computations each, 8 all_reduces of 2 layers; 2 buckets, 2 votes; 300 is evaluated and saved.
    EXPECT_EQ(from_window, 2 * (4 * (2 + 8) + 2 + 2) + 2) << rank;
    EXPECT_FALSE(reader.damage().any());
  }
}

TEST(Synthesize, WritesTheRowsOfMetrics) {
  const support::TmpDir dir;
  synthesize(small(), dir / "run");
  std::istringstream lines(content_of(dir / "run/metrics.jsonl"));
  int steps = 0, evaluations = 0;
  for (std::string line; std::getline(lines, line);) {
    steps += line.starts_with(R"({"kind":"step","step":)") ? 1 : 0;
    evaluations += line.starts_with(R"({"kind":"eval","step":20,"set":"valid","loss":)") ? 1 : 0;
  }
  EXPECT_EQ(steps, 20);
  EXPECT_EQ(evaluations, 1);
}

TEST(Synthesize, LeavesAnExistingRunAlone) {
  const support::TmpDir dir;
  dir.write("run/metrics.jsonl", "mine\n");
  EXPECT_THROW(synthesize(small(), dir / "run"), EnvironmentError);
  EXPECT_EQ(content_of(dir / "run/metrics.jsonl"), "mine\n");
  EXPECT_FALSE(std::filesystem::exists(dir / "run/traces"));
  synthesize(small(), dir / "other");
  EXPECT_THROW(synthesize(small(), dir / "other"), EnvironmentError);
}

TEST(Synthesize, RefusesEveryBadOptionAtOnceAndWritesNothing) {
  const support::TmpDir dir;
  SynthOptions options = small();
  options.steps = 0;
  options.jitter = std::numeric_limits<double>::quiet_NaN();
  options.faults = {{.rank = 4, .factor = 2.0}};
  try {
    synthesize(options, dir / "run");
    FAIL() << "not refused";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.problems(), ElementsAre(HasSubstr("--steps"), HasSubstr("--jitter"),
                                              HasSubstr("rank 4 does not exist; the layout has ranks 0 to 3"),
                                              HasSubstr("beyond the run's 0 steps")));
  }
  EXPECT_FALSE(std::filesystem::exists(dir / "run"));
}

TEST(SynthOptionsCheck, RefusesRunsWhoseTimesWouldOverflow) {
  SynthOptions options = small();
  options.steps = 10'000'000;
  options.step_seconds = 1000.0;
  EXPECT_THAT(problems_of(options), ElementsAre(HasSubstr("longer than 30 years")));
  options = small();
  options.faults.assign(3, {.rank = 1, .factor = 1000.0});
  EXPECT_THAT(problems_of(options), Contains(HasSubstr("longer than 52 days")));
}

TEST(ParseSynthFault, ReadsWhatTheTrainerReads) {
  SynthFault fault;
  EXPECT_EQ(parse_synth_fault("slow:rank=3,factor=1.2,phase=forward,steps=10-20", fault), "");
  EXPECT_EQ(fault.rank, 3);
  EXPECT_EQ(fault.factor, 1.2);
  EXPECT_EQ(fault.phase, Phase::kForward);
  EXPECT_EQ(fault.first, 10);
  EXPECT_EQ(fault.last, 20);
  EXPECT_EQ(parse_synth_fault("slow:phase=data,sleep=20ms,rank=0", fault), "");
  EXPECT_EQ(fault.sleep_seconds, 0.02);
  EXPECT_EQ(fault.factor, 1.0);
  EXPECT_EQ(fault.first, 1);
}

TEST(ParseSynthFault, SaysWhatIsWrong) {
  SynthFault fault;
  const auto expect = [&fault](const std::string& text, const std::string& problem) {
    EXPECT_THAT(parse_synth_fault(text, fault), HasSubstr(problem)) << text;
  };
  expect("", "must begin with 'slow:'");
  expect("kill:rank=1,step=3", "must begin with 'slow:'");
  expect("slow:factor=2,phase=data", "lacks rank=N");
  expect("slow:rank=-1,factor=2,phase=data", "rank=-1");
  expect("slow:rank=99999999999999999999,factor=2,phase=data", "rank=9999");
  expect("slow:rank=1,phase=data", "needs one of factor=1.2 and sleep=20ms");
  expect("slow:rank=1,factor=2,sleep=1s,phase=data", "needs one of");
  expect("slow:rank=1,factor=0.5,phase=data", "factor=0.5");
  expect("slow:rank=1,factor=nan,phase=data", "factor=nan");
  expect("slow:rank=1,sleep=0,phase=data", "sleep=0");
  expect("slow:rank=1,sleep=2h,phase=data", "sleep=2h");
  expect("slow:rank=1,factor=2", "phase=");
  expect("slow:rank=1,factor=2,phase=tensor_communication", "phase=tensor_communication");
  expect("slow:rank=1,factor=2,phase=data,steps=20-10", "steps=20-10");
  expect("slow:rank=1,factor=2,phase=data,rank=2", "names rank twice");
  expect("slow:rank=1,factor=2,phase=data,why=so", "unknown key 'why'");
  expect("slow:rank", "KEY=VALUE");
}

}  // namespace
}  // namespace convoy::analysis

// SPDX-License-Identifier: Apache-2.0
// What runs of a tiny model leave in RUN/traces.
#include "libcore/train/observation.h"

#include <gmock/gmock.h>

#include <map>
#include <numeric>
#include <set>

#include "tests/support/small_disk.h"
#include "tests/support/trace_files.h"
#include "tests/unit/train/resume_runs.h"

namespace convoy::train {
namespace {

using support::read_trace;
using support::TraceContent;
using trace::Event;
using trace::GroupKind;
using trace::Operation;
using trace::Phase;
using trace::StepRecord;

const TinyLayout kMesh{"tp2_dp2", 2, 1, 2};

std::uint64_t wall(const StepRecord& step, Phase phase) { return step[phase].wall_ns; }

std::vector<std::string> names_in(const Path& folder) {
  std::vector<std::string> names;
  if (!std::filesystem::exists(folder)) return names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Observation, EveryRankSaysWhereItStandsAndWhatItComputes) {
  const TmpDir folder;
  ASSERT_EQ(train_tiny(with_layout(tiny_options(folder), kMesh), kMesh.ranks()), ExitCode::kDone);
  for (int rank = 0; rank < kMesh.ranks(); ++rank) {
    const TraceContent trace = read_trace(folder / "run/traces", rank);
    const trace::Header& header = trace.header;
    EXPECT_EQ(header.run, (folder / "run").string());
    EXPECT_EQ(header.attempt, 1);
    EXPECT_EQ(header.world, 4);
    EXPECT_EQ(header.rank, rank);
    EXPECT_EQ(header.at, (trace::Coordinates{rank % 2, 0, rank / 2}));
    EXPECT_EQ(header.tensor, 2);
    EXPECT_EQ(header.pipeline, 1);
    EXPECT_EQ(header.data, 2);
    EXPECT_EQ(header.micro_batches, 2);  // 8 sequences over 2 replicas, 2 at a time
    EXPECT_EQ(header.threads, 1);
    EXPECT_EQ(header.tokens_per_step, 64);
    // 2 layers of q 256, k and v 128 each, o 256, three of 16 x 24; head 37 x 16; attention 6 L T H D.
    EXPECT_DOUBLE_EQ(header.flops_per_token, 6.0 * (2 * (256 + 2 * 128 + 256 + 3 * 384) + 592) + 6.0 * 2 * 8 * 16);
    EXPECT_THAT(header.flops_convention, testing::HasSubstr("causal"));
    EXPECT_EQ(header.host, "here");
    EXPECT_EQ(header.process_id, 1 + rank);
    ASSERT_EQ(header.groups.size(), 3u);
    EXPECT_EQ(header.groups[1].kind, GroupKind::kTensor);
    EXPECT_EQ(header.groups[1].members, (std::vector<int>{rank / 2 * 2, rank / 2 * 2 + 1}));
    EXPECT_EQ(header.groups[2].kind, GroupKind::kData);
    EXPECT_EQ(header.groups[2].members, (std::vector<int>{rank % 2, rank % 2 + 2}));
    EXPECT_FALSE(trace.damage.any());
    EXPECT_TRUE(trace.events.empty()) << "no window was asked for";
    EXPECT_EQ(trace.steps.size(), 6u);
  }
}

TEST(Observation, ThePhasesOfAStepSumToItsDuration) {
  for (const TinyLayout& layout : {TinyLayout{"one"}, kMesh, TinyLayout{"pp2_dp2", 1, 2, 2, 1}}) {
    const TmpDir folder;
    config::RunOptions options = with_layout(tiny_options(folder), layout);
    options.output.eval_every = 2;
    options.output.checkpoint_every = "4";
    ASSERT_EQ(train_tiny(options, layout.ranks()), ExitCode::kDone);
    for (int rank = 0; rank < layout.ranks(); ++rank) {
      const TraceContent trace = read_trace(folder / "run/traces", rank);
      ASSERT_EQ(trace.steps.size(), 6u) << layout.name;
      std::int64_t expected = 0;
      for (const StepRecord& step : trace.steps) {
        EXPECT_EQ(step.step, ++expected);
        EXPECT_EQ(step.tokens, 64u);
        const std::uint64_t sum = std::accumulate(
            step.phases.begin(), step.phases.end(), std::uint64_t{0},
            [](std::uint64_t so_far, const trace::PhaseTime& phase) { return so_far + phase.wall_ns; });
        EXPECT_EQ(sum, step.duration_ns) << layout.name << " rank " << rank << " step " << step.step;
        for (const trace::PhaseTime& phase : step.phases) EXPECT_LE(phase.delay_ns, phase.wall_ns);
        for (const Phase phase : {Phase::kData, Phase::kForward, Phase::kBackward, Phase::kOptimizer})
          EXPECT_GT(wall(step, phase), 0u) << trace::name_of(phase);
        EXPECT_EQ(wall(step, Phase::kTensorComm) > 0, layout.tensor > 1);
        EXPECT_EQ(wall(step, Phase::kPipelineComm) > 0, layout.pipeline > 1);
        EXPECT_EQ(wall(step, Phase::kDataComm) > 0, layout.data > 1);
        EXPECT_EQ(wall(step, Phase::kWorldComm) > 0, layout.ranks() > 1);
        const bool evaluated = step.step % 2 == 0, saved = step.step == 4 || step.step == 6;
        EXPECT_EQ((step.flags & trace::kEvaluated) != 0, evaluated);
        EXPECT_EQ((step.flags & trace::kSaved) != 0, saved);
        EXPECT_EQ((step.flags & trace::kFirst) != 0, step.step == 1);
        EXPECT_EQ(wall(step, Phase::kEvaluation) > 0, evaluated);
        EXPECT_EQ(wall(step, Phase::kCheckpoint) > 0, saved);
        EXPECT_EQ(wall(step, Phase::kEvaluationComm) > 0, evaluated && layout.ranks() > 1);
        EXPECT_EQ(wall(step, Phase::kCheckpointComm) > 0, saved && layout.ranks() > 1);
      }
    }
  }
}

TEST(Observation, NothingIsWrittenWhereTracesAreOff) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder);
  options.observation.trace = "off";
  train_tiny(options);
  EXPECT_FALSE(std::filesystem::exists(folder / "run/traces"));
  options.output.out = (folder / "on").string();
  options.observation.trace = "steps";
  train_tiny(options);
  EXPECT_EQ(support::content_of(folder / "run/metrics.jsonl"), support::content_of(folder / "on/metrics.jsonl"));
}

TEST(Observation, EveryAttemptHasFilesOfItsOwnUnderRunJsonsNumber) {
  const TmpDir folder;
  const config::RunOptions options = with_layout(tiny_options(folder), {"dp2", 1, 1, 2});
  StopAt stop(1, 2);
  ASSERT_EQ(train_tiny(options, 2, [&](int rank) { return stop(rank); }), ExitCode::kRequeue);
  ASSERT_EQ(train_tiny(options, 2), ExitCode::kDone);
  ASSERT_EQ(train_tiny(options, 2), ExitCode::kDone) << "a finished run is not another attempt";
  EXPECT_THAT(names_in(folder / "run/traces"),
              testing::IsSupersetOf({"rank-00000.a001.trace", "rank-00000.a002.trace", "rank-00001.a001.trace",
                                     "rank-00001.a002.trace"}));
  EXPECT_THAT(names_in(folder / "run/traces"), testing::Not(testing::Contains("rank-00000.a003.trace")));
  const TraceContent first = read_trace(folder / "run/traces", 1, 1), second = read_trace(folder / "run/traces", 1, 2);
  EXPECT_EQ(first.header.attempt, 1);
  EXPECT_EQ(second.header.attempt, 2);
  ASSERT_EQ(first.steps.size(), 2u);
  EXPECT_NE(first.steps.back().flags & trace::kStopping, 0u);
  ASSERT_EQ(second.steps.size(), 4u);
  EXPECT_EQ(second.steps.front().step, 3u);
  EXPECT_NE(second.steps.front().flags & trace::kFirst, 0u);
  const auto record = nlohmann::json::parse(support::content_of(folder / "run/run.json"));
  EXPECT_EQ(record["attempts"].size(), 2u);
}

// A collective's name: who takes part, and its number there.
using Collective = std::pair<std::vector<int>, std::uint32_t>;

TEST(Observation, AWindowHoldsTheEventsOfItsStepsAndTheyMatchAcrossRanks) {
  for (const TinyLayout& layout : {kMesh, TinyLayout{"pp2_dp2", 1, 2, 2, 1}}) {
    const TmpDir folder;
    config::RunOptions options = with_layout(tiny_options(folder), layout);
    options.observation.trace_window = "3-4";
    ASSERT_EQ(train_tiny(options, layout.ranks()), ExitCode::kDone);
    std::map<Collective, std::vector<Event>> collectives;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
      const TraceContent trace = read_trace(folder / "run/traces", rank);
      std::map<Operation, std::multiset<std::uint32_t>> computed;  // micro-batches
      for (const Event& event : trace.events) {
        EXPECT_TRUE(event.step == 3 || event.step == 4) << event.step;
        EXPECT_NE(event.flags & trace::kComplete, 0);
        if (event.group == Event::kNoGroup) {
          computed[event.operation].insert(event.sequence);
        } else if (trace::is_collective(event.operation)) {
          const trace::Group& group = trace.header.groups.at(event.group);
          collectives[{group.members, event.sequence}].push_back(event);
        }
      }
      const std::size_t micro_batches = static_cast<std::size_t>(trace.header.micro_batches);
      const std::multiset<std::uint32_t> each = {0, 0, 1, 1};  // in two steps
      ASSERT_EQ(micro_batches, 2u);
      EXPECT_EQ(computed[Operation::kForward], each);
      if (layout.pipeline == 1) {
        EXPECT_EQ(computed[Operation::kBackward], each);
      } else {
        EXPECT_EQ(computed[Operation::kBackwardInput], each);
        EXPECT_EQ(computed[Operation::kBackwardWeight], each);
      }
    }
    EXPECT_GT(collectives.size(), 10u);
    for (const auto& [collective, events] : collectives) {
      EXPECT_EQ(events.size(), collective.first.size()) << layout.name << " number " << collective.second;
      for (const Event& event : events) {
        EXPECT_EQ(event.operation, events[0].operation);
        EXPECT_EQ(event.bytes, events[0].bytes);
        EXPECT_EQ(event.step, events[0].step);
      }
    }
  }
}

TEST(Observation, TheReductionOfGradientsIsBesideTrainingAndWaitingForItIsNot) {
  const TmpDir folder;
  config::RunOptions options = with_layout(tiny_options(folder), {"dp2", 1, 1, 2});
  for (const bool overlap : {true, false}) {
    options.layout.overlap = overlap;
    options.observation.trace_window = "2";
    options.output.out = (folder / (overlap ? "beside" : "behind")).string();
    ASSERT_EQ(train_tiny(options, 2), ExitCode::kDone);
    const TraceContent trace = read_trace(Path(options.output.out) / "traces", 0);
    int beside = 0;
    for (const Event& event : trace.events) {
      if ((event.flags & trace::kOverlapped) == 0) continue;
      ++beside;
      EXPECT_EQ(event.operation, Operation::kAllReduce);
      EXPECT_EQ(trace.header.groups.at(event.group).kind, GroupKind::kData);
    }
    EXPECT_EQ(beside, overlap ? 1 : 0) << "buckets of the tiny model";
  }
}

TEST(Observation, AFullDiskUnderTheTracesDoesNotStopTraining) {
  const TmpDir folder;
  const config::RunOptions options = tiny_options(folder);
  std::filesystem::create_directories(folder / "run/traces");
  const support::SmallDisk disk(folder / "run/traces", "size=16k");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small file system needs root";
  support::fill_disk(folder / "run/traces", 4096);
  EXPECT_EQ(train_tiny(options), ExitCode::kDone);
  EXPECT_EQ(status_of(folder / "run")["state"], "finished");
}

TEST(Observation, WhereNoFolderCanBeMadeTrainingGoesOn) {
  const TmpDir folder;
  const config::RunOptions options = tiny_options(folder);
  folder.write("run/traces", "a file");
  EXPECT_EQ(train_tiny(options), ExitCode::kDone);
  EXPECT_EQ(status_of(folder / "run")["state"], "finished");
}

}  // namespace
}  // namespace convoy::train

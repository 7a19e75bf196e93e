// SPDX-License-Identifier: Apache-2.0
// Whole reports of traces as they come: cut, missing, restarted, empty. What a report says is right, or absent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>

#include "libcore/analysis/phases.h"
#include "libcore/analysis/report.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/analysis/made_run.h"

namespace convoy::analysis {
namespace {

using support::TmpDir;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using trace::Phase;

constexpr double kSum = 1e-9;  // rounding of a dozen shares

void expect_number(double value, const char* what) {
  EXPECT_TRUE(std::isfinite(value)) << what;
  EXPECT_GE(value, 0.0) << what;
}

// No NaN, nothing negative that cannot be, shares that sum to 1.
void expect_sound(const Report& report) {
  if (report.step_seconds) {
    expect_number(report.step_seconds->p50, "p50");
    EXPECT_LE(report.step_seconds->p50, report.step_seconds->p95);
    EXPECT_LE(report.step_seconds->p95, report.step_seconds->p99);
    EXPECT_LE(report.step_seconds->p99, report.step_seconds->max);
  }
  for (const auto& optional : {report.tokens_per_second, report.mfu, report.bubble_measured, report.bubble_ideal})
    if (optional) expect_number(*optional, "a rate");
  double shares = report.starved_share;
  for (const PhaseShare& phase : report.phases) {
    expect_number(phase.mean_seconds, "a phase");
    shares += phase.share;
  }
  if (!report.phases.empty()) {
    EXPECT_NEAR(shares, 1.0, kSum);
  }
  for (const Exposed& exposed : report.exposed) {
    expect_number(exposed.seconds, "exposed");
    expect_number(exposed.share, "exposed");
    if (exposed.waiting) {
      EXPECT_NEAR(*exposed.waiting + *exposed.transferring, exposed.seconds, kSum);
    }
  }
  for (const Straggler& straggler : report.stragglers) {
    for (const double value : {straggler.excess_percent, straggler.step_excess_percent, straggler.lost_percent})
      expect_number(value, "a straggler");
    EXPECT_LE(straggler.first_step, straggler.last_step);
  }
  for (const RankRow& row : report.rank_rows) {
    expect_number(row.own_seconds, "a rank's work");
    expect_number(row.communication_seconds, "a rank's communication");
    expect_number(row.starved_share, "a rank's delay");
    if (row.excess) {
      EXPECT_TRUE(std::isfinite(*row.excess) && *row.excess >= -1.0);
    }
  }
  EXPECT_EQ(report.heat_map.cells.size(),
            static_cast<std::size_t>(report.heat_map.rows) * static_cast<std::size_t>(report.heat_map.columns));
  for (const float cell : report.heat_map.cells)
    EXPECT_TRUE(std::isnan(cell) || (std::isfinite(cell) && cell >= -1.0F));
  for (const double value : report.throughput.values) expect_number(value, "throughput");
  EXPECT_FALSE(report.verdict.empty());
}

Report sound_report(const Path& run, const ReportOptions& options = {}) {
  Report report = make_report(run, options);
  expect_sound(report);
  return report;
}

std::vector<int> named(const Report& report) {
  std::vector<int> ranks;
  for (const Straggler& straggler : report.stragglers) ranks.push_back(straggler.rank);
  return ranks;
}

auto slow_forward(int slow_rank, double factor) {
  return [=](int rank, trace::StepRecord& record) {
    if (rank != slow_rank) return true;
    std::uint64_t& wall = record[Phase::kForward].wall_ns;
    wall = static_cast<std::uint64_t>(static_cast<double>(wall) * factor);
    return true;
  };
}

Path trace_of(const TmpDir& folder, int rank) { return folder / "traces" / trace::trace_file_name(rank, 1); }

TEST(MakeReport, SaysWhatAPersonAsks) {
  const TmpDir folder;
  write_run({.jitter = 0.0, .change = slow_forward(5, 1.25)}, folder.path());
  const Report report = sound_report(folder.path(), {.range = {}, .peak_tflops = 100.0});
  EXPECT_EQ(report.started, "2026-11-30 14:02:11 UTC");
  EXPECT_EQ(report.ranks, 8);
  EXPECT_EQ(report.ranks_read, 8);
  EXPECT_EQ(report.steps, 100);
  EXPECT_EQ(report.warm_up_steps, 1);
  // The median rank's step: 2 + 40 + 80 + 10 + 20 + 5 + 1 ms.
  ASSERT_TRUE(report.step_seconds && report.tokens_per_second && report.mfu);
  EXPECT_NEAR(report.step_seconds->p50, 0.158, 1e-6);
  EXPECT_NEAR(*report.tokens_per_second, 8000 / 0.158, 1.0);
  EXPECT_NEAR(*report.mfu, 6e9 * 8000 / (0.158 * 8) / 1e14, 1e-6);
  // Forward: seven ranks 40 ms, one 50; the mean step is 158 + 10 / 8.
  const auto forward = std::ranges::find(report.phases, Phase::kForward, &PhaseShare::phase);
  ASSERT_NE(forward, report.phases.end());
  EXPECT_NEAR(forward->mean_seconds, 0.04125, 1e-6);
  EXPECT_NEAR(forward->share, 0.04125 / 0.15925, 1e-6);
  ASSERT_EQ(report.exposed.size(), 2U);  // data and world; one stage, no tensor parallelism
  EXPECT_EQ(report.exposed[0].group, trace::GroupKind::kData);
  EXPECT_NEAR(report.exposed[0].seconds, 0.020, 1e-6);
  EXPECT_EQ(report.exposed[0].waiting, std::nullopt);  // no events were kept
  EXPECT_EQ(report.bubble_measured, std::nullopt);
  EXPECT_THAT(named(report), ElementsAre(5));
  EXPECT_NEAR(report.stragglers[0].excess_percent, 25.0, 0.1);
  EXPECT_THAT(report.verdict, HasSubstr("Rank 5 on n01 is slow: its forward takes 25."));
  EXPECT_NEAR(report.rank_rows[5].own_seconds, 0.142, 1e-4);
  EXPECT_NEAR(report.rank_rows[5].excess.value(), 10.0 / 132.0, 1e-3);
  EXPECT_NEAR(report.rank_rows[4].excess.value(), 0.0, 1e-3);
  EXPECT_NEAR(report.heat_map.cells[5 * 100 + 60], 10.0 / 132.0, 1e-3);
  EXPECT_THAT(report.incomplete, IsEmpty());
  EXPECT_THAT(report.abstained, IsEmpty());
}

TEST(MakeReport, NamesNobodyInAHealthyRun) {
  const TmpDir folder;
  write_run({}, folder.path());
  const Report report = sound_report(folder.path());
  EXPECT_THAT(report.stragglers, IsEmpty());
  EXPECT_THAT(report.verdict, testing::StartsWith("No rank is slow"));
  EXPECT_EQ(report.mfu, std::nullopt);
}

TEST(MakeReport, SurvivesATraceThatIsCutAnywhere) {
  const TmpDir folder;
  write_run({.last_step = 40, .change = slow_forward(5, 1.5)}, folder.path());
  const std::string whole = support::content_of(trace_of(folder, 3));
  std::vector<std::size_t> cuts = {0, 1, 31, 32, 65535, 65536, 65537, 65567, 65568, 65569, whole.size() - 1};
  for (std::size_t cut = 0; cut < whole.size(); cut += 997) cuts.push_back(cut);
  for (const std::size_t cut : cuts) {
    folder.write("traces/rank-00003.a001.trace", whole.substr(0, cut));
    const Report report = sound_report(folder.path());
    EXPECT_EQ(report.ranks, 8) << cut;
    EXPECT_EQ(report.steps, 40) << cut;
    EXPECT_THAT(named(report), ElementsAre(5)) << cut;
    EXPECT_FALSE(report.incomplete.empty()) << cut;
  }
}

TEST(MakeReport, GoesOnWithoutARankThatLeftNoTrace) {
  const TmpDir folder;
  write_run({.change = slow_forward(5, 1.5)}, folder.path());
  std::filesystem::remove(trace_of(folder, 3));
  const Report report = sound_report(folder.path());
  EXPECT_EQ(report.ranks, 8);
  EXPECT_EQ(report.ranks_read, 7);
  EXPECT_EQ(report.rank_rows.size(), 7U);
  EXPECT_THAT(named(report), ElementsAre(5));
  EXPECT_THAT(report.incomplete, ElementsAre("rank 3: no trace"));
}

TEST(MakeReport, ComparesRanksWithUnequalStepCounts) {
  const TmpDir folder;
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 4},
             .change =
                 [](int rank, trace::StepRecord& record) {
                   if (rank == 0) record[Phase::kBackward].wall_ns *= 2;
                   return record.step <= (rank == 3 ? 41U : rank == 2 ? 97U : 100U);
                 }},
            folder.path());
  const Report report = sound_report(folder.path());
  EXPECT_EQ(report.steps, 100);
  EXPECT_EQ(report.rank_rows[3].steps, 41);
  EXPECT_THAT(named(report), ElementsAre(0));
  EXPECT_EQ(report.stragglers[0].last_step, 97);  // then two of four are left
  EXPECT_THAT(report.incomplete, ElementsAre("rank 2: 97 of 100 steps", "rank 3: 41 of 100 steps"));
}

TEST(MakeReport, CountsRepeatedStepsOnceAndWorldsApart) {
  const TmpDir folder;
  write_run({.last_step = 59}, folder.path());
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 6},
             .attempt = 2,
             .first_step = 50,
             .last_step = 99,
             .change = slow_forward(2, 1.5)},
            folder.path());
  const Report report = sound_report(folder.path());
  EXPECT_EQ(report.steps, 99);
  EXPECT_EQ(report.attempts, 2);
  EXPECT_EQ(report.ranks, 6);
  EXPECT_EQ(report.rank_rows.size(), 6U);
  EXPECT_THAT(named(report), ElementsAre(2));
  EXPECT_GE(report.stragglers[0].first_step, 51);  // rank 2 of the first attempt was healthy
  EXPECT_EQ(report.heat_map.rows, 8);
  EXPECT_EQ(report.heat_map.columns, 99);
  EXPECT_THAT(report.incomplete, ElementsAre(HasSubstr("2 layouts")));
}

TEST(MakeReport, JoinsTheAttemptsOfOneLayout) {
  const TmpDir folder;
  write_run({.last_step = 59, .change = slow_forward(2, 1.5)}, folder.path());
  write_run({.attempt = 2, .first_step = 50, .last_step = 99, .change = slow_forward(2, 1.5)}, folder.path());
  const Report report = sound_report(folder.path());
  EXPECT_EQ(report.steps, 99);
  EXPECT_EQ(report.warm_up_steps, 2);  // one an attempt
  ASSERT_THAT(named(report), ElementsAre(2));
  EXPECT_EQ(report.stragglers[0].steps_affected, 97);
}

TEST(MakeReport, NamesTheHostOnWhichARankWasSlow) {
  const TmpDir folder;
  write_run({.last_step = 60, .host = "bad", .change = slow_forward(2, 1.5)}, folder.path());
  write_run({.attempt = 2, .first_step = 61, .last_step = 99, .host = "good"}, folder.path());
  const Report report = sound_report(folder.path());
  ASSERT_THAT(named(report), ElementsAre(2));
  EXPECT_EQ(report.stragglers[0].last_step, 60);
  EXPECT_EQ(report.stragglers[0].host, "bad");
  EXPECT_THAT(report.verdict, HasSubstr("Rank 2 on bad"));
  EXPECT_EQ(report.rank_rows[2].host, "good");
}

TEST(MakeReport, ARangeOfStepsThatBeginsLaterHasNoWarmUp) {
  const TmpDir folder;
  write_run({}, folder.path());
  EXPECT_EQ(make_report(folder.path(), {.range = {.first = 1, .last = 60}, .peak_tflops = {}}).warm_up_steps, 1);
  EXPECT_EQ(make_report(folder.path(), {.range = {.first = 21, .last = 60}, .peak_tflops = {}}).warm_up_steps, 0);
}

TEST(MakeReport, LeavesOutTheWarmUp) {
  const TmpDir folder;
  write_run({.change =
                 [](int, trace::StepRecord& record) {
                   const std::uint64_t times = record.step <= 5 ? 60 / record.step : 1;
                   for (trace::PhaseTime& phase : record.phases) phase.wall_ns *= times;
                   return true;
                 }},
            folder.path());
  const Report report = sound_report(folder.path());
  EXPECT_EQ(report.warm_up_steps, 5);
  EXPECT_LT(report.step_seconds->max, 0.2);
  EXPECT_NEAR(report.phases[2].mean_seconds, 0.040, 0.001);  // other, data, forward
  EXPECT_NEAR(report.rank_rows[0].communication_seconds, 0.025, 0.001);
}

TEST(MakeReport, RankZeroThatSavesIsNoStraggler) {
  for (const Phase phase : {Phase::kCheckpoint, Phase::kOther}) {  // flagged as what it is, and not
    const TmpDir folder;
    write_run({.change =
                   [phase](int rank, trace::StepRecord& record) {
                     if (rank == 0 && record.step % 25 == 0) record[phase].wall_ns = 8'000'000'000;
                     return true;
                   }},
              folder.path());
    const Report report = sound_report(folder.path());
    EXPECT_THAT(report.stragglers, IsEmpty());
    EXPECT_NEAR(report.step_seconds->p50, 0.158, 0.002);
  }
}

TEST(MakeReport, OneRankHasNobodyToBeComparedWith) {
  const TmpDir folder;
  write_run({.layout = {}}, folder.path());
  const Report report = sound_report(folder.path());
  EXPECT_EQ(report.ranks, 1);
  EXPECT_TRUE(report.step_seconds.has_value());
  EXPECT_THAT(report.verdict, HasSubstr("nobody to compare"));
  EXPECT_THAT(report.exposed, IsEmpty());
}

TEST(MakeReport, OfZeroStepsMeasuresNothing) {
  const TmpDir folder;
  write_run({.last_step = 0}, folder.path());
  const Report report = sound_report(folder.path(), {.range = {}, .peak_tflops = 100.0});
  EXPECT_EQ(report.steps, 0);
  EXPECT_EQ(report.step_seconds, std::nullopt);
  EXPECT_EQ(report.tokens_per_second, std::nullopt);
  EXPECT_EQ(report.mfu, std::nullopt);
  EXPECT_THAT(report.phases, IsEmpty());
  EXPECT_THAT(report.heat_map.cells, IsEmpty());
  EXPECT_THAT(report.verdict, HasSubstr("no step was recorded"));
}

TEST(MakeReport, SaysWhichStepsThereAreWhereNoneOfThoseAskedForIs) {
  const TmpDir folder;
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 2}, .first_step = 11, .last_step = 60}, folder.path());
  const Report report = sound_report(folder.path(), {.range = {.first = 61, .last = 70}, .peak_tflops = {}});
  EXPECT_EQ(report.steps, 0);
  EXPECT_EQ(report.verdict, "Nothing to judge: none of those steps was recorded; the run has steps 11 to 60.");
}

TEST(MakeReport, OfEvaluationAloneMeasuresNoTraining) {
  const TmpDir folder;
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 4},
             .change =
                 [](int, trace::StepRecord& record) {
                   record.phases = {};
                   record[Phase::kEvaluation].wall_ns = 80'000'000;
                   return true;
                 }},
            folder.path());
  const Report report = sound_report(folder.path());
  EXPECT_EQ(report.step_seconds, std::nullopt);
  EXPECT_FALSE(report.judged);
  EXPECT_THAT(report.abstained, ElementsAre("no step trained: evaluation and checkpoints alone were recorded"));
}

TEST(MakeReport, DoesNotCallHealthyWhatItCouldNotCompare) {
  const TmpDir folder;  // the second attempt has one of four ranks, on another layout
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 8}}, folder.path());
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 4}, .attempt = 2, .first_step = 101, .last_step = 200},
            folder.path());
  for (const int rank : {1, 2, 3}) std::filesystem::remove(folder / "traces" / trace::trace_file_name(rank, 2));
  const Report report = sound_report(folder.path());
  EXPECT_THAT(report.verdict,
              testing::StartsWith("Nobody is named, but not all can be judged: stage 0: 1 of 4 peers have a trace"));
}

// A header may claim a million ranks of which one left a trace: what is held is of that one.
TEST(MakeReport, HoldsInMemoryWhatIsThereNotWhatAHeaderClaims) {
  const TmpDir folder;
  constexpr int kClaimed = 1 << 20;
  trace::Header header = made_header({.layout = {.tensor = 1, .pipeline = 1, .data = 2}}, 1);
  header.world = header.data = kClaimed;
  std::filesystem::create_directories(folder / "traces");
  {
    trace::TraceWriter writer(folder / "traces" / trace::trace_file_name(1, 1), header);
    std::mt19937_64 engine(1);
    std::vector<trace::StepRecord> records;
    for (std::int64_t step = 1; step <= 20; ++step) records.push_back(made_record(step, engine, 0.0));
    for (trace::StepRecord& record : records) set_duration(record);
    writer.append(records);
  }
  const Report report = sound_report(folder.path());
  EXPECT_EQ(report.steps, 20);
  EXPECT_EQ(report.ranks, kClaimed);
  rusage use{};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &use), 0);
  EXPECT_LT(use.ru_maxrss, 1 << 20) << "KiB: a record of each rank and step would be 5 GiB";
}

// Rows without coordinates make every rank a replica, but say of a call that it is a tensor group's.
TEST(MakeReport, CountsAsExposedWhatTookTimeWhateverTheLayoutSays) {
  const TmpDir folder;
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 2},
             .jitter = 0.0,
             .change =
                 [](int, trace::StepRecord& record) {
                   record.phases = {};
                   record[Phase::kForward].wall_ns = 60'000'000;
                   record[Phase::kTensorComm].wall_ns = 40'000'000;
                   return true;
                 }},
            folder.path());
  const Report report = sound_report(folder.path());
  ASSERT_FALSE(report.exposed.empty());
  EXPECT_EQ(report.exposed[0].group, trace::GroupKind::kTensor);
  EXPECT_NEAR(report.exposed[0].seconds, 0.04, kSum);
  EXPECT_NEAR(report.exposed[0].share, 0.4, kSum);
}

TEST(MakeReport, OfFewStepsNamesNobodyAndSaysSo) {
  for (const std::int64_t steps : {1, 2, 3, 9}) {
    const TmpDir folder;
    write_run({.last_step = steps, .change = slow_forward(1, 3.0)}, folder.path());
    const Report report = sound_report(folder.path());
    EXPECT_THAT(report.stragglers, IsEmpty());
    EXPECT_TRUE(report.step_seconds.has_value()) << steps;
    EXPECT_THAT(report.verdict, testing::StartsWith("Insufficient data"));
  }
}

TEST(MakeReport, LeavesAPhaseAloneThatNobodyOrOneRankHas) {
  for (const int ranks_without : {8, 1}) {
    const TmpDir folder;
    write_run({.change =
                   [ranks_without](int rank, trace::StepRecord& record) {
                     if (rank < ranks_without) record[Phase::kForward].wall_ns = 0;
                     return true;
                   }},
              folder.path());
    const Report report = sound_report(folder.path());
    EXPECT_THAT(report.stragglers, IsEmpty()) << ranks_without;
  }
}

TEST(MakeReport, TellsEqualTimesFromOneThatIsTenTimesAsLong) {
  const TmpDir equal, one;
  write_run({.jitter = 0.0}, equal.path());
  write_run({.jitter = 0.0, .change = slow_forward(7, 10.0)}, one.path());
  EXPECT_THAT(sound_report(equal.path()).stragglers, IsEmpty());
  const Report report = sound_report(one.path());
  ASSERT_THAT(named(report), ElementsAre(7));
  EXPECT_NEAR(report.stragglers[0].excess_percent, 900.0, 1.0);
}

TEST(MakeReport, TakesHostNamesAsTheyAre) {
  for (const std::string host : {"n\"œud-07", "<script>alert(1)</script>", "a\nb\\", "\xff\xfe", ""}) {
    const TmpDir folder;
    write_run({.host = host, .change = slow_forward(5, 1.5)}, folder.path());
    EXPECT_THAT(named(sound_report(folder.path())), ElementsAre(5)) << host;
  }
}

TEST(MakeReport, NamesNobodyWhereTeamsOfThreadsLackedCores) {
  const TmpDir folder;
  write_run({.threads = 2,
             .change =
                 [](int rank, trace::StepRecord& record) {
                   if (rank == 1) record[Phase::kForward].wall_ns *= 2;
                   record[Phase::kForward].delay_ns = record[Phase::kForward].wall_ns / 2;
                   return true;
                 }},
            folder.path());
  const Report report = sound_report(folder.path());
  EXPECT_THAT(report.stragglers, IsEmpty());
  EXPECT_THAT(report.verdict, HasSubstr("host starved"));
  EXPECT_GT(report.starved_share, 0.1);
}

TEST(MakeReport, RefusesAUtilisationAboveAll) {
  const TmpDir folder;
  write_run({}, folder.path());
  const Report report = sound_report(folder.path(), {.range = {}, .peak_tflops = 1.0});
  EXPECT_EQ(report.mfu, std::nullopt);
  EXPECT_THAT(report.incomplete, ElementsAre(HasSubstr("--peak-tflops")));
}

// A pipeline of two stages: 30 ms of 150 in it are its communication's; ideal is 1 of 4 + 1.
TEST(MakeReport, MeasuresTheBubbleOfAPipeline) {
  const TmpDir folder;
  write_run({.layout = {.tensor = 1, .pipeline = 2, .data = 2},
             .jitter = 0.0,
             .change =
                 [](int, trace::StepRecord& record) {
                   record[Phase::kPipelineComm].wall_ns = 30'000'000;
                   return true;
                 }},
            folder.path());
  const Report report = sound_report(folder.path());
  EXPECT_NEAR(report.bubble_measured.value(), 30.0 / 150.0, 1e-6);
  EXPECT_NEAR(report.bubble_ideal.value(), 1.0 / 5.0, 1e-12);
  EXPECT_NEAR(ideal_bubble(2, 4, 3).value(), 1.0 / 13.0, 1e-12) << "with three chunks a stage, 1 of 3 x 4 + 1";
  EXPECT_EQ(report.exposed[0].group, trace::GroupKind::kPipeline);
  EXPECT_EQ(report.exposed[0].waiting, std::nullopt);
}

// Two ranks, three all-reduces each: rank 0 takes 5 ms, rank 1 2 ms: 3 of 7 are waiting.
TEST(MakeReport, SplitsExposedCommunicationByItsEvents) {
  const TmpDir folder;
  const MadeRun made{.layout = {.tensor = 1, .pipeline = 1, .data = 2}, .jitter = 0.0};
  write_run(made, folder.path());
  for (int rank = 0; rank < 2; ++rank) {
    std::mt19937_64 engine(1);
    trace::TraceWriter writer(trace_of(folder, rank), made_header(made, rank));
    std::vector<trace::StepRecord> records;
    std::vector<trace::Event> events;
    for (std::int64_t step = 1; step <= 100; ++step) {
      records.push_back(made_record(step, engine, 0.0));
      set_duration(records.back());
      if (step < 50 || step > 52) continue;
      trace::Event event;
      event.step = static_cast<std::uint32_t>(step);
      event.sequence = static_cast<std::uint32_t>(step);
      event.group = 0;
      event.operation = trace::Operation::kAllReduce;
      event.phase = Phase::kWorldComm;
      event.flags = trace::kComplete;
      event.duration = static_cast<std::uint32_t>((rank == 0 ? 5'000'000 : 2'000'000) / trace::Event::kDurationUnit);
      events.push_back(event);
      event.sequence += 1000;  // beside the computation: training does not wait for it
      event.duration *= 100;
      event.flags |= trace::kOverlapped;
      events.push_back(event);
    }
    writer.append(records);
    writer.append(events);
  }
  const Report report = sound_report(folder.path());
  ASSERT_EQ(report.exposed.size(), 2U);
  EXPECT_EQ(report.exposed[0].waiting, std::nullopt);  // data: the traces have no such group
  EXPECT_NEAR(report.exposed[1].seconds, 0.005, 1e-9);
  EXPECT_NEAR(report.exposed[1].waiting.value(), 0.005 * 3.0 / 7.0, 1e-8);
}

}  // namespace
}  // namespace convoy::analysis

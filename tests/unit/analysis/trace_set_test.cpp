// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/trace_set.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libcore/base/error.h"
#include "libcore/trace/flight_ring.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/analysis/made_run.h"

namespace convoy::analysis {
namespace {

using support::TmpDir;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string text_of(const std::vector<Segment>& segments) {
  std::string text;
  for (const Segment& segment : segments)
    text +=
        fmt::format("a{}:{}-{} of {} ", segment.attempt, segment.first_step, segment.last_step, segment.header.world);
  return text;
}

Path trace_of(const TmpDir& folder, int rank, int attempt = 1) {
  return folder / "traces" / trace::trace_file_name(rank, attempt);
}

TEST(TraceSet, AlignsTheRanksByTheirStepNumbers) {
  const TmpDir folder;
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 3},
             .last_step = 150,
             .change =
                 [](int rank, trace::StepRecord& record) {
                   record.tokens = 10 * record.step + static_cast<std::uint64_t>(rank);
                   return !(rank == 1 && record.step > 140) && !(rank == 2 && (record.step < 5 || record.step == 70));
                 }},
            folder.path());
  const TraceSet traces = TraceSet::open(folder.path());
  ASSERT_EQ(text_of(traces.segments()), "a1:1-150 of 3 ");
  std::int64_t next = 1;
  traces.for_each_stretch(traces.segments()[0], [&](const TraceSet::Stretch& stretch) {
    EXPECT_EQ(stretch.first, next);
    for (std::int64_t i = 0; i < stretch.count; ++i, ++next) {
      for (int rank = 0; rank < 3; ++rank) {
        const auto& record = stretch.records[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)];
        const bool recorded = !(rank == 1 && next > 140) && !(rank == 2 && (next < 5 || next == 70));
        EXPECT_EQ(record.duration_ns > 0, recorded) << rank << " at " << next;
        if (recorded) {
          EXPECT_EQ(record.tokens, static_cast<std::uint64_t>(10 * next + rank));
        }
      }
    }
  });
  EXPECT_EQ(next, 151);
  EXPECT_THAT(traces.incomplete(), ElementsAre("rank 1: 140 of 150 steps", "rank 2: 145 of 150 steps"));
}

TEST(TraceSet, TakesTheStepsOfTheRangeAlone) {
  const TmpDir folder;
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 2}}, folder.path());
  const TraceSet traces = TraceSet::open(folder.path(), {.first = 20, .last = 29});
  EXPECT_EQ(text_of(traces.segments()), "a1:20-29 of 2 ");
  EXPECT_EQ(traces.files()[0].steps, 10);
  EXPECT_THAT(traces.incomplete(), IsEmpty());
}

TEST(TraceSet, OfStepsThatTwoAttemptsRecordedTheLaterCounts) {
  const TmpDir folder;
  write_run({.last_step = 59}, folder.path());
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 6}, .attempt = 2, .first_step = 50, .last_step = 99},
            folder.path());
  const TraceSet traces = TraceSet::open(folder.path());
  EXPECT_EQ(text_of(traces.segments()), "a1:1-49 of 8 a2:50-99 of 6 ");
  EXPECT_THAT(traces.incomplete(), IsEmpty());
}

TEST(TraceSet, SaysWhichRanksHaveNoTrace) {
  const TmpDir folder;
  write_run({}, folder.path());
  std::filesystem::remove(trace_of(folder, 3));
  const TraceSet traces = TraceSet::open(folder.path());
  EXPECT_EQ(traces.segments()[0].file_of_rank[3], -1);
  EXPECT_EQ(traces.segments()[0].file_of_rank[4], 3);
  EXPECT_THAT(traces.incomplete(), ElementsAre("rank 3: no trace"));
}

TEST(TraceSet, FindsTracesByTheirHeadersNotTheirNames) {
  const TmpDir folder;
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 2}}, folder.path());
  std::filesystem::rename(trace_of(folder, 0), folder / "traces" / "zz \"<b>\".trace");
  const TraceSet traces = TraceSet::open(folder / "traces");  // the folder itself
  EXPECT_THAT(traces.segments()[0].file_of_rank, ElementsAre(1, 0));
}

TEST(TraceSet, LeavesOutWhatDoesNotFitAndSaysSo) {
  const TmpDir folder;
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 3}}, folder.path());
  std::filesystem::copy_file(trace_of(folder, 1), folder / "traces" / "copy.trace");
  folder.write("traces/noise.trace", "no trace");
  trace::Header other = made_header({.layout = {.tensor = 1, .pipeline = 1, .data = 5}}, 4);
  { const trace::TraceWriter writer(folder / "traces" / "other.trace", other); }
  const TraceSet traces = TraceSet::open(folder.path());
  EXPECT_EQ(text_of(traces.segments()), "a1:1-100 of 3 ");
  EXPECT_THAT(traces.incomplete(),
              testing::UnorderedElementsAre(HasSubstr("noise.trace"), HasSubstr("second trace of rank 1"),
                                            HasSubstr("other.trace is of another run or layout")));
}

// The memory of the process itself has nothing at byte 0 and cannot be read there, whoever asks.
TEST(TraceSet, LeavesOutATraceThatTheSystemDoesNotLetItRead) {
  const TmpDir folder;
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 3}}, folder.path());
  std::filesystem::remove(trace_of(folder, 1));
  std::filesystem::create_symlink("/proc/self/mem", trace_of(folder, 1));
  const TraceSet traces = TraceSet::open(folder.path());
  EXPECT_THAT(traces.segments()[0].file_of_rank, ElementsAre(0, -1, 1));
  EXPECT_THAT(traces.incomplete(), ElementsAre(HasSubstr("left out: cannot read trace"), "rank 1: no trace"));
}

TEST(TraceSet, SaysWhoseStepsRepeatOrGoBack) {
  const TmpDir folder;
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 2},
             .change =
                 [](int rank, trace::StepRecord& record) {
                   if (rank == 1 && record.step > 98) record.step -= 2;
                   return true;
                 }},
            folder.path());
  EXPECT_THAT(TraceSet::open(folder.path()).incomplete(),
              ElementsAre("rank 1: 2 steps repeat or go back in rank-00001.a001.trace"));
}

TEST(TraceSet, DoesNotBelieveStepNumbersFarFromAllOthers) {
  const TmpDir folder;
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 3},
             .change =
                 [](int rank, trace::StepRecord& record) {
                   if (rank == 1 && record.step == 50) record.step = 4'000'000'000;
                   if (rank == 2) record.step += 3'000'000'000;
                   return true;
                 }},
            folder.path());
  const TraceSet traces = TraceSet::open(folder.path());
  EXPECT_EQ(text_of(traces.segments()), "a1:1-100 of 3 ");
  EXPECT_THAT(traces.segments()[0].file_of_rank, ElementsAre(0, -1, -1));
  EXPECT_THAT(traces.incomplete(), ElementsAre(HasSubstr("which are no run's"),
                                               HasSubstr("far from those of the other ranks"), "ranks 1, 2: no trace"));
}

TEST(TraceSet, WithoutAnyTraceThatCanBeReadSaysWhatItFound) {
  const TmpDir folder;
  EXPECT_THROW(TraceSet::open(folder / "absent"), ConfigError);
  EXPECT_THROW(TraceSet::open(folder.path()), DataError);
  folder.write("traces/rank-00000.a001.trace", "");
  EXPECT_THROW(TraceSet::open(folder.path()), DataError);
}

trace::Event made_event(std::uint32_t step, std::uint64_t start) {
  trace::Event event;
  event.step = step;
  event.start_ns = start;
  event.group = 0;
  event.flags = trace::kComplete;
  event.operation = trace::Operation::kAllReduce;
  return event;
}

TEST(TraceSet, GivesTheEventsOfAFileInTheOrderOfTheirSteps) {
  const TmpDir folder;
  write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 2}}, folder.path());
  {
    trace::TraceWriter writer(folder / "traces" / "rank-00000.a001.trace",
                              made_header({.layout = {.tensor = 1, .pipeline = 1, .data = 2}}, 0));
    writer.append(std::vector{made_event(7, 300), made_event(7, 200), made_event(8, 400), made_event(9, 500)});
  }
  const TraceSet traces = TraceSet::open(folder.path());
  std::vector<std::uint64_t> starts;
  for (const trace::Event& event : traces.events(traces.files()[0], {.first = 7, .last = 8}))
    starts.push_back(event.start_ns);
  EXPECT_THAT(starts, ElementsAre(200, 300, 400));
}

class RingOfATrace : public testing::Test {
 protected:
  RingOfATrace() { write_run({.layout = {.tensor = 1, .pipeline = 1, .data = 2}}, folder_.path()); }
  Path ring() const { return folder_ / "traces" / trace::ring_file_name(0, 1); }
  std::vector<trace::Event> events() const {
    const TraceSet traces = TraceSet::open(folder_.path());
    return traces.events(traces.files()[0], {});
  }

  TmpDir folder_;
};

// A copied ring of another run, or a torn slot: its trace knows one group, of two ranks.
TEST_F(RingOfATrace, GivesNoEventsThatItsTraceDoesNotKnow) {
  {
    trace::FlightRing ring(this->ring(), 16, 9);
    const auto record = [&ring](std::uint16_t group, std::uint16_t peer, trace::Operation operation) {
      trace::Event event = made_event(7, 100);
      event.flags = 0;
      event.group = group;
      event.peer = peer;
      event.operation = operation;
      ring.end(ring.begin(event), 260);
    };
    record(0, 0, trace::Operation::kAllReduce);
    record(8, 0, trace::Operation::kAllReduce);
    record(0, 1, trace::Operation::kSend);
    record(0, 2, trace::Operation::kSend);
    ring.end_step(7);
  }
  const std::vector<trace::Event> found = events();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].operation, trace::Operation::kAllReduce);
  EXPECT_EQ(found[1].peer, 1);
}

TEST_F(RingOfATrace, IsDoneWithoutWhereItCannotBeRead) {
  std::filesystem::create_directory(ring());
  EXPECT_THAT(events(), IsEmpty());
  EXPECT_THAT(TraceSet::open(folder_.path()).incomplete(),
              ElementsAre("rank 0: the last events cannot be read: rank-00000.a001.ring is not a regular file"));
}

}  // namespace
}  // namespace convoy::analysis

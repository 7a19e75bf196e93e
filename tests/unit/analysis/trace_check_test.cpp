// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/trace_check.h"

#include <fstream>

#include "libcore/analysis/synth.h"
#include "libcore/base/error.h"
#include "libcore/trace/trace_writer.h"
#include "tests/support/tmp_dir.h"

namespace convoy::analysis {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using trace::Event;
using trace::Operation;
using trace::StepRecord;

trace::Header header_of(int rank, int world, int attempt = 1) {
  trace::Header header;
  header.rank = rank;
  header.world = header.data = world;
  header.at.data = rank;
  header.attempt = attempt;
  trace::Group group{trace::GroupKind::kData, {}};
  for (int member = 0; member < world; ++member) group.members.push_back(member);
  header.groups = {group};
  return header;
}

StepRecord step_at(std::uint64_t step, std::uint64_t start) {
  StepRecord record{.step = step, .start_ns = start, .duration_ns = 100};
  record[trace::Phase::kForward].wall_ns = 100;
  return record;
}

Event call(std::uint32_t step, std::uint32_t sequence, Operation operation = Operation::kAllReduce) {
  Event event{.start_ns = step * 100, .duration = 1, .step = step, .sequence = sequence, .group = 0};
  event.operation = operation;
  event.flags = trace::kComplete;
  return event;
}

class CheckTraces : public testing::Test {
 protected:
  void write(const trace::Header& header, const std::vector<StepRecord>& steps, const std::vector<Event>& events = {}) {
    std::filesystem::create_directories(dir_ / "traces");
    trace::TraceWriter writer(dir_ / "traces" / trace::trace_file_name(header.rank, header.attempt), header);
    writer.append(steps);
    writer.append(events);
  }
  // Of the one file.
  std::vector<std::string> problems_of(const std::vector<StepRecord>& steps, const std::vector<Event>& events = {}) {
    write(header_of(0, 1), steps, events);
    const TraceCheck check = check_traces(dir_.path());
    EXPECT_THAT(check.problems, IsEmpty());
    return check.files.at(0).problems;
  }
  TraceCheck check() const { return check_traces(dir_.path()); }

  support::TmpDir dir_;
};

TEST_F(CheckTraces, GoesOnBehindAFileThatCannotBeRead) {
  write(header_of(0, 2), {step_at(1, 100)});
  std::filesystem::create_symlink("/proc/self/mem", dir_ / "traces" / trace::trace_file_name(1, 1));
  const TraceCheck found = check();
  ASSERT_EQ(found.files.size(), 2u);
  EXPECT_TRUE(found.files[0].is_readable);
  EXPECT_FALSE(found.files[1].is_readable);
  EXPECT_THAT(found.files[1].problems, testing::ElementsAre(testing::HasSubstr("cannot read trace")));
}

TEST_F(CheckTraces, FindsNothingInSoundOnes) {
  synthesize({.tensor = 2, .pipeline = 2, .data = 2, .steps = 30, .window_first = 3, .window_last = 5}, dir_ / "run");
  const TraceCheck check = check_traces(dir_ / "run");
  EXPECT_TRUE(check.is_sound());
  EXPECT_THAT(check.notes, IsEmpty());
  ASSERT_EQ(check.files.size(), 8u);
  EXPECT_EQ(check.files[7].header.rank, 7);
  EXPECT_EQ(check.files[7].steps, 30);
  EXPECT_GT(check.files[7].events, 0);
}

TEST_F(CheckTraces, FindsStepsThatLackOrComeTwice) {
  EXPECT_THAT(problems_of({step_at(1, 0), step_at(2, 100), step_at(5, 500)}),
              ElementsAre("steps are missing (3 to 4)"));
  EXPECT_THAT(problems_of({step_at(1, 0), step_at(3, 100), step_at(5, 500)}),
              ElementsAre("steps are missing (2), and 1 more times"));
  EXPECT_THAT(problems_of({step_at(1, 0), step_at(2, 100), step_at(2, 200)}),
              ElementsAre("a step is repeated or goes back at step 2, after step 2"));
}

TEST_F(CheckTraces, FindsAClockThatGoesBack) {
  EXPECT_THAT(problems_of({step_at(1, 1000), step_at(2, 1070), step_at(3, 1170)}),
              ElementsAre("the clock goes back at step 2: it begins 30 ns before step 1 ends"));
}

TEST_F(CheckTraces, FindsPhasesThatDoNotSum) {
  StepRecord wrong = step_at(2, 100);
  wrong[trace::Phase::kData].wall_ns = 1;
  EXPECT_THAT(problems_of({step_at(1, 0), wrong, step_at(3, 200)}),
              Contains(HasSubstr("1 record is left out, the first because its phases do not sum to its duration")));
}

TEST_F(CheckTraces, FindsHolesInSequencesButNotBetweenWindows) {
  const std::vector<StepRecord> steps = {step_at(1, 0), step_at(2, 100)};
  EXPECT_THAT(problems_of(steps, {call(1, 4), call(1, 5), call(2, 6), call(90, 900), call(91, 901)}), IsEmpty());
  EXPECT_THAT(problems_of(steps, {call(2, 6), call(1, 4), call(1, 5)}), IsEmpty()) << "in any order";
  EXPECT_THAT(problems_of(steps, {call(1, 4), call(2, 6)}),
              ElementsAre("calls are missing from a sequence in group data: 4 in step 1, 6 in step 2"));
  EXPECT_THAT(problems_of(steps, {call(1, 4), call(2, 4, Operation::kBarrier)}),
              ElementsAre("a call's sequence is there twice in group data: 4 in step 1, 4 in step 2"));
  EXPECT_THAT(problems_of(steps, {call(1, 4), call(2, 3)}), ElementsAre(HasSubstr("a sequence goes back")));
  EXPECT_THAT(problems_of(steps, {call(1, 1), call(1, 1, Operation::kSend), call(1, 1, Operation::kReceive)}),
              IsEmpty())
      << "messages count for themselves";
}

TEST_F(CheckTraces, FindsDamageAnywhere) {
  synthesize({.steps = 10}, dir_ / "run");
  const Path file = dir_ / "run/traces/rank-00000.a001.trace";
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(file));
  const std::string sound = support::content_of(file);
  int unreadable = 0;
  for (std::int64_t at = 0; at < size; at += 331) {
    std::string changed = sound;
    changed[static_cast<std::size_t>(at)] = static_cast<char>(changed[static_cast<std::size_t>(at)] ^ 0x10);
    dir_.write("run/traces/rank-00000.a001.trace", changed);
    unreadable += check_traces(dir_ / "run").is_sound() ? 0 : 1;
  }
  EXPECT_GT(unreadable, 5) << "what follows a block's payload is no part of it";
  dir_.write("run/traces/rank-00000.a001.trace", sound.substr(0, trace::kBlockBytes + 100));
  EXPECT_THAT(check_traces(dir_ / "run").files.at(0).problems,
              Contains(HasSubstr("1 block is torn or damaged, 100 bytes lost")));
  dir_.write("run/traces/rank-00000.a001.trace", "");
  const TraceCheck empty = check_traces(dir_ / "run");
  EXPECT_FALSE(empty.files.at(0).is_readable);
  EXPECT_THAT(empty.files.at(0).problems, ElementsAre(HasSubstr("has 0 bytes")));
}

TEST_F(CheckTraces, FindsRanksThatAreMissingOrLackSteps) {
  const std::vector<StepRecord> all = {step_at(1, 0), step_at(2, 100), step_at(3, 200)};
  write(header_of(0, 5), all);
  write(header_of(1, 5), {all[0], all[1]});
  write(header_of(2, 5), {all[0]});
  write(header_of(4, 5), {});
  const TraceCheck check = this->check();
  EXPECT_THAT(check.problems,
              ElementsAre("attempt 1: rank 3 of 5 wrote no trace", "attempt 1: rank 4: no step, others have",
                          "attempt 1: rank 2: steps end before step 3, the others' last"));
  EXPECT_FALSE(check.is_sound());
}

TEST_F(CheckTraces, FindsFilesThatContradictEachOther) {
  const std::vector<StepRecord> steps = {step_at(1, 0)};
  write(header_of(0, 2), steps);
  write(header_of(1, 3), steps);
  EXPECT_THAT(check().problems, ElementsAre(HasSubstr("are of different layouts")));
  write(header_of(1, 2), steps);
  EXPECT_TRUE(check().is_sound());
  std::filesystem::copy(dir_ / "traces/rank-00001.a001.trace", dir_ / "traces/copy.trace");
  EXPECT_THAT(check().problems, ElementsAre(AllOf(HasSubstr("copy.trace"), HasSubstr("are both of rank 1"))));
}

TEST_F(CheckTraces, TellsOfAttemptsThatRepeatSteps) {
  write(header_of(0, 1, 1), {step_at(1, 0), step_at(2, 100), step_at(3, 200)});
  write(header_of(0, 1, 2), {step_at(3, 7000), step_at(4, 7100)});
  const TraceCheck check = this->check();
  EXPECT_TRUE(check.is_sound());
  EXPECT_THAT(check.notes, ElementsAre("attempt 2 did steps 3 to 3 again; its records count"));
}

TEST_F(CheckTraces, NeedsAFolderWithTraces) {
  EXPECT_THROW(check_traces(dir_ / "absent"), ConfigError);
  EXPECT_THROW(check(), DataError);
}

}  // namespace
}  // namespace convoy::analysis

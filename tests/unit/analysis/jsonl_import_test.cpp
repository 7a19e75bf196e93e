// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/jsonl_import.h"

#include <algorithm>
#include <random>
#include <sstream>

#include "libcore/base/error.h"
#include "libcore/trace/record_check.h"
#include "libcore/trace/trace_reader.h"
#include "tests/support/tmp_dir.h"

namespace convoy::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using trace::GroupKind;
using trace::Operation;
using trace::Phase;

// Two replicas of two tensor ranks, one step each, a call inside a forward.
const std::vector<std::string> kRows = {
    R"({"rank":0,"host":"n01","tp":0,"pp":0,"dp":0,"step":1,"kind":"phase","name":"data","start_ns":1000,"duration_ns":100})",
    R"({"rank":0,"step":1,"kind":"phase","name":"forward","start_ns":1100,"duration_ns":500,"sequence":1})",
    R"({"rank":0,"step":1,"kind":"collective","name":"all_reduce","group":"tp0","sequence":1,"start_ns":1200,"duration_ns":160,"bytes":33})",
    R"({"rank":1,"host":"n01","tp":1,"pp":0,"dp":0,"step":1,"kind":"phase","name":"forward","start_ns":90,"duration_ns":320})",
    R"({"rank":1,"step":1,"kind":"collective","name":"all_reduce","group":"tp0","sequence":1,"start_ns":250,"duration_ns":160})",
    R"({"rank":2,"tp":0,"pp":0,"dp":1,"step":1,"kind":"phase","name":"backward","start_ns":5,"duration_ns":5})",
    R"({"rank":3,"tp":1,"pp":0,"dp":1,"step":1,"kind":"phase","name":"optimizer","start_ns":5,"duration_ns":5})"};

std::vector<ImportedTrace> traces_of(const std::vector<std::string>& rows, ImportSummary* summary = nullptr,
                                     bool skip = false) {
  JsonlImport import("rows", skip);
  for (const std::string& row : rows) import.add(row);
  std::vector<ImportedTrace> traces;
  import.finish([&traces](const ImportedTrace& trace) { traces.push_back(trace);
});
if (summary != nullptr) *summary = import.summary();
return traces;
}  // namespace

std::string refusal_of(const std::vector<std::string>& rows) {
  try {
    traces_of(rows);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(JsonlImport, MakesHeadersStepsAndEvents) {
  ImportSummary summary;
  const std::vector<ImportedTrace> traces = traces_of(kRows, &summary);
  ASSERT_EQ(traces.size(), 4u);
  EXPECT_EQ(summary.rows, 7);
  EXPECT_EQ(summary.steps, 4);
  const trace::Header& header = traces[1].header;
  EXPECT_EQ(header.rank, 1);
  EXPECT_EQ(header.world, 4);
  EXPECT_EQ(header.tensor, 2);
  EXPECT_EQ(header.pipeline, 1);
  EXPECT_EQ(header.data, 2);
  EXPECT_EQ(header.at, (trace::Coordinates{.tensor = 1, .pipeline = 0, .data = 0}));
  EXPECT_EQ(header.host, "n01");
  ASSERT_EQ(header.groups.size(), 1u);
  EXPECT_EQ(header.groups[0].kind, GroupKind::kTensor);
  EXPECT_THAT(header.groups[0].members, ElementsAre(0, 1));

  ASSERT_EQ(traces[0].steps.size(), 1u);
  const trace::StepRecord& step = traces[0].steps[0];
  EXPECT_EQ(step.start_ns, 1000u);
  EXPECT_EQ(step.duration_ns, 600u);
  EXPECT_EQ(step[Phase::kData].wall_ns, 100u);
  EXPECT_EQ(step[Phase::kForward].wall_ns, 340u);
  EXPECT_EQ(step[Phase::kTensorComm].wall_ns, 160u);

  ASSERT_EQ(traces[0].events.size(), 2u);
  EXPECT_EQ(traces[0].events[0].operation, Operation::kForward);
  EXPECT_EQ(traces[0].events[0].sequence, 1u);
  EXPECT_EQ(traces[0].header.micro_batches, 2);
  const trace::Event& call = traces[0].events[1];
  EXPECT_EQ(call.operation, Operation::kAllReduce);
  EXPECT_EQ(call.phase, Phase::kForward);
  EXPECT_EQ(call.group, 0);
  EXPECT_EQ(call.bytes, 3u) << "33 bytes are 3 units of 16";
  EXPECT_EQ(call.duration_ns(), 160u);
}

std::string fingerprint(const std::vector<ImportedTrace>& traces) {
  std::string all;
  for (const ImportedTrace& trace : traces) {
    all += trace::to_json(trace.header);
    all.append(reinterpret_cast<const char*>(trace.steps.data()), trace.steps.size() * sizeof(trace::StepRecord));
    all.append(reinterpret_cast<const char*>(trace.events.data()), trace.events.size() * sizeof(trace::Event));
  }
  return all;
}

TEST(JsonlImport, DoesNotDependOnTheOrderOfRows) {
  std::vector<std::string> rows = kRows;
  const std::string expected = fingerprint(traces_of(rows));
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(rows.begin(), rows.end(), random);
    EXPECT_TRUE(fingerprint(traces_of(rows)) == expected);
  }
}

TEST(JsonlImport, TakesRanksWithoutCoordinatesForReplicas) {
  const auto traces =
      traces_of({R"({"rank":2,"step":1,"kind":"phase","name":"data","start_ns":0,"duration_ns":5})",
                 R"({"duration_ns":5.0,"start_ns":7e3,"name":"data","kind":"phase","step":1,"rank":0})"});
  ASSERT_EQ(traces.size(), 2u);
  EXPECT_EQ(traces[1].header.world, 3);
  EXPECT_EQ(traces[1].header.data, 3);
  EXPECT_EQ(traces[1].header.at.data, 2);
  EXPECT_EQ(traces[0].steps.at(0).start_ns, 7000u);
}

TEST(JsonlImport, CountsWhatIsHarmless) {
  std::vector<std::string> rows = kRows;
  rows.insert(rows.end(),
              {"", "  \r", kRows[2],
               R"({"rank":3,"step":2,"kind":"phase","name":"data","start_ns":9,"duration_ns":0,"mood":"good"})"});
  ImportSummary summary;
  const auto traces = traces_of(rows, &summary);
  EXPECT_EQ(fingerprint(traces), fingerprint(traces_of(kRows)));
  EXPECT_EQ(summary.repeated_rows, 1);
  EXPECT_EQ(summary.unknown_keys, 1);
  EXPECT_EQ(summary.empty_steps, 1);
  EXPECT_EQ(summary.bad_rows, 0);
}

TEST(JsonlImport, KeepsOverlappedCallsOutOfThePhases) {
  const auto traces = traces_of(
      {R"({"rank":0,"step":1,"kind":"phase","name":"backward","start_ns":100,"duration_ns":50})",
       R"({"rank":0,"step":1,"kind":"collective","name":"all_reduce","group":"dp0","sequence":4,"start_ns":120,"duration_ns":900,"overlapped":true})"});
  ASSERT_EQ(traces.size(), 1u);
  EXPECT_EQ(traces[0].steps.at(0).duration_ns, 50u);
  EXPECT_EQ(traces[0].steps.at(0)[Phase::kDataComm].wall_ns, 0u);
  EXPECT_EQ(traces[0].events.at(1).flags, trace::kComplete | trace::kOverlapped);
  EXPECT_EQ(traces[0].events.at(1).phase, Phase::kBackward);
}

TEST(JsonlImport, FindsThePeersOfMessagesInTheirGroup) {
  const auto message = [](int rank, const std::string& name, const std::string& more) {
    return R"({"rank":)" + std::to_string(rank) + R"(,"step":1,"kind":"collective","name":")" + name +
           R"(","group":"pp0","sequence":1,"start_ns":1,"duration_ns":16)" + more + "}";
  };
  const auto traces = traces_of({message(5, "send", R"(,"peer":9)"), message(9, "receive", "")});
  EXPECT_EQ(traces.at(0).events.at(0).peer, 1) << "rank 9 is the second of the group";
  EXPECT_EQ(traces.at(1).events.at(0).peer, 1) << "not said: the rank itself";
  EXPECT_THAT(refusal_of({message(5, "send", R"(,"peer":8)"), message(9, "receive", "")}),
              HasSubstr("line 1: peer 8 has no row of group pp0"));
}

struct BadRow {
  std::string row, problem;
};

const std::string kPrefix = R"({"rank":0,"step":1,"kind":"phase","name":"data",)";
const std::string kCall = R"({"rank":0,"step":1,"start_ns":1,"duration_ns":1,"kind":"collective",)";

const std::vector<BadRow> kBadRows = {
    {"nonsense", "it is no JSON"},
    {"[1,2]", "no JSON object"},
    {kPrefix + R"("start_ns":1,"duration_ns":NaN})", "it is no JSON"},
    {kPrefix + R"("start_ns":1,"duration_ns":1e999})", "a number in it is beyond"},
    {kPrefix + R"("start_ns":1,"duration_ns":-5})", "duration_ns is below zero: the row ends before it starts"},
    {kPrefix + R"("start_ns":1,"duration_ns":0.5})", "duration_ns is 0.5, expected a whole number"},
    {kPrefix + R"("start_ns":1,"duration_ns":1e30})", "duration_ns is 1e+30"},
    {kPrefix + R"("start_ns":-1,"duration_ns":5})", "start_ns is -1"},
    {kPrefix + R"("start_ns":18446744073709551615,"duration_ns":5})", "start_ns is 18446744073709551615"},
    {kPrefix + R"("start_ns":"soon","duration_ns":5})", "start_ns is \"soon\""},
    {kPrefix + R"("duration_ns":5})", "start_ns is missing"},
    {kPrefix + R"("start_ns":5})", "duration_ns is missing"},
    {kPrefix + R"("start_ns":5,"duration_ns":null})", "duration_ns is missing"},
    {kPrefix + R"("start_ns":4611686018427387904,"duration_ns":1})", "end beyond what a clock says"},
    {kPrefix + R"("start_ns":1,"duration_ns":1,"host":7})", "host is 7, expected a string"},
    {kPrefix + R"("start_ns":1,"duration_ns":1,"dp":[1]})", "dp is a list"},
    {kPrefix + R"("start_ns":1,"duration_ns":1,"tp":70000})", "tp is 70000"},
    {kPrefix + R"("start_ns":1,"duration_ns":1,"rank":1})", "rank is there twice"},
    {kPrefix + R"("start_ns":1,"duration_ns":1,"host":"n01","host":"n01"})", "host is there twice"},
    {R"({"step":1,"kind":"phase","name":"data","start_ns":1,"duration_ns":1})", "rank is missing"},
    {R"({"rank":-1,"step":1,"kind":"phase","name":"data","start_ns":1,"duration_ns":1})", "rank is -1"},
    {R"({"rank":65536,"step":1,"kind":"phase","name":"data","start_ns":1,"duration_ns":1})", "rank is 65536"},
    {R"({"rank":0,"step":0,"kind":"phase","name":"data","start_ns":1,"duration_ns":1})", "step is 0"},
    {R"({"rank":0,"step":1,"kind":"mood","name":"data","start_ns":1,"duration_ns":1})", "kind is 'mood'"},
    {R"({"rank":0,"step":1,"kind":"phase","name":"da\nta","start_ns":1,"duration_ns":1})", "name is 'da\\x0ata'"},
    {kCall + R"("name":"forward","group":"dp0","sequence":1})", "name is 'forward', expected all_reduce"},
    {kCall + R"("name":"all_reduce","sequence":1})", "group is missing"},
    {kCall + R"("name":"all_reduce","group":"dp","sequence":1})", "group is 'dp'"},
    {kCall + R"("name":"all_reduce","group":"ep0","sequence":1})", "group is 'ep0'"},
    {kCall + R"("name":"all_reduce","group":"dp0"})", "sequence is missing"},
    {kCall + R"("name":"all_reduce","group":"dp0","sequence":1,"bytes":1e14})", "bytes is"},
    {kCall + R"("name":"all_reduce","group":"dp0","sequence":1,"overlapped":1})", "overlapped is 1"},
};

TEST(JsonlImport, RefusesBadRowsWithLineAndReason) {
  for (const BadRow& bad : kBadRows) {
    const std::string refusal = refusal_of({kRows[0], kRows[1], bad.row});
    EXPECT_THAT(refusal, HasSubstr("rows: line 3: ")) << bad.row;
    EXPECT_THAT(refusal, HasSubstr(bad.problem)) << bad.row;
  }
}

TEST(JsonlImport, MindsTheKeysOfTheRowAlone) {
  ImportSummary summary;
  traces_of({kPrefix + R"("start_ns":1,"duration_ns":1,"x":{"rank":1,"rank":2},"y":[{"step":1},{"step":2}]})"},
            &summary);
  EXPECT_EQ(summary.unknown_keys, 2);
}

TEST(JsonlImport, LeavesBadRowsOutWhereAsked) {
  std::vector<std::string> rows = kRows;
  for (const BadRow& bad : kBadRows) rows.push_back(bad.row);
  ImportSummary summary;
  EXPECT_EQ(fingerprint(traces_of(rows, &summary, true)), fingerprint(traces_of(kRows)));
  EXPECT_EQ(summary.bad_rows, static_cast<std::int64_t>(kBadRows.size()));
  EXPECT_EQ(summary.complaints.size(), 5u) << "the first few";
}

TEST(JsonlImport, RefusesRowsThatContradictOthers) {
  EXPECT_THAT(
      refusal_of({kRows[0], R"({"rank":0,"tp":1,"step":1,"kind":"phase","name":"data","start_ns":1,"duration_ns":1})"}),
      HasSubstr("line 2: tp of rank 0 is 1, but 0 in line 1"));
  EXPECT_THAT(
      refusal_of(
          {kRows[0], R"({"rank":0,"host":"n02","step":1,"kind":"phase","name":"data","start_ns":1,"duration_ns":1})"}),
      HasSubstr("line 2: host of rank 0 is not the one of line 1"));
  EXPECT_THAT(refusal_of({kRows[2], kCall + R"("name":"all_reduce","group":"tp1","sequence":2})"}),
              HasSubstr("line 2: rank 0 is in group tp1 here, but in tp0 before"));
  EXPECT_THAT(refusal_of({kRows[2], kCall + R"("name":"all_reduce","group":"tp0","sequence":1})"}),
              HasSubstr("sequence 1 of tp0 is in line"));
  EXPECT_THAT(refusal_of({R"({"rank":0,"dp":1,"step":1,"kind":"phase","name":"data","start_ns":1,"duration_ns":1})",
                          R"({"rank":1,"dp":1,"step":1,"kind":"phase","name":"data","start_ns":1,"duration_ns":1})"}),
              HasSubstr("ranks 0 and 1 are both at tp 0, pp 0, dp 1"));
  EXPECT_THAT(refusal_of({R"({"rank":4,"dp":1,"step":1,"kind":"phase","name":"data","start_ns":1,"duration_ns":1})"}),
              HasSubstr("are 2 ranks, but the last is rank 4"));
  EXPECT_THAT(refusal_of({kPrefix + R"("start_ns":1,"duration_ns":1})",
                          kPrefix + R"("start_ns":4000000000000000000,"duration_ns":1})"}),
              HasSubstr("lasts 46296 days"));
  EXPECT_THAT(refusal_of({}), HasSubstr("no row in 0 lines"));
  EXPECT_THAT(refusal_of({"", " "}), HasSubstr("no row in 2 lines"));
}

TEST(ImportJsonl, WritesTracesThatReadBack) {
  const support::TmpDir dir;
  std::string text;
  for (const std::string& row : kRows) text += row + "\n";
  text.pop_back();  // the last line without its end
  const ImportSummary summary = import_jsonl(dir.write("rows.jsonl", text), dir / "run", false);
  EXPECT_EQ(summary.ranks, 4);
  trace::TraceReader reader(dir / "run/traces/rank-00000.a001.trace");
  std::vector<trace::StepRecord> steps;
  std::vector<trace::Event> events;
  ASSERT_TRUE(reader.next(steps, events));
  EXPECT_EQ(steps.at(0).duration_ns, 600u);
  EXPECT_THROW(import_jsonl(dir / "rows.jsonl", dir / "run", false), EnvironmentError) << "it has traces";
}

TEST(ImportJsonl, LeavesNothingBehindWhatItRefuses) {
  const support::TmpDir dir;
  const Path file = dir.write(
      "rows.jsonl",
      kRows[0] + "\n" + R"({"rank":9,"dp":1,"step":1,"kind":"phase","name":"data","start_ns":1,"duration_ns":1})");
  EXPECT_THROW(import_jsonl(file, dir / "run", false), DataError);
  EXPECT_THAT(dir.names(), ElementsAre("rows.jsonl"));
  EXPECT_THROW(import_jsonl(dir / "absent.jsonl", dir / "run", false), Error);
  EXPECT_THROW(import_jsonl(dir.write("empty.jsonl", ""), dir / "run", false), DataError);
  EXPECT_THAT(dir.names(), ElementsAre("empty.jsonl", "rows.jsonl"));
}

}  // namespace convoy::analysis
}  // namespace convoy::analysis

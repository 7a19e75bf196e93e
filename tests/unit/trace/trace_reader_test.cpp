// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/trace_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "libcore/base/error.h"
#include "libcore/trace/block.h"
#include "libcore/trace/record_check.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/trace/trace_files.h"

namespace convoy::trace {
namespace {

std::span<const StepRecord> one(const StepRecord& record) { return {&record, 1}; }
std::span<const Event> one(const Event& event) { return {&event, 1}; }

// Header, a block of two steps, a block of three events, which is the last.
std::string small_file(const support::TmpDir& folder) {
  const Path file = folder / "small.trace";
  TraceWriter writer(file, some_header());
  writer.append(one(some_step(1)));
  writer.append(one(some_step(2)));
  for (std::uint32_t i = 1; i <= 3; ++i) writer.append(one(some_event(2, i)));
  return support::content_of(file);
}
constexpr std::size_t kEndOfSteps = kBlockBytes + sizeof(BlockHeader) + 2 * sizeof(StepRecord);

// Never wrong: everything that is read is sound, and one of the records that were written.
void expect_sound(const support::TraceContent& all) {
  EXPECT_LE(all.steps.size(), 2u);
  for (std::size_t i = 0; i < all.steps.size(); ++i) EXPECT_EQ(all.steps[i].step, i + 1);
  EXPECT_LE(all.events.size(), 3u);
  for (std::size_t i = 0; i < all.events.size(); ++i) EXPECT_EQ(all.events[i].sequence, i + 1);
}

TEST(TraceReader, OfAFileCutAnywhereGivesWhatIsWhole) {
  const support::TmpDir folder;
  const std::string whole = small_file(folder);
  const Path file = folder.write("cut.trace", whole);
  for (std::size_t size = whole.size(); size-- > 0;) {
    // Within the holes between blocks every cut is like the next.
    const std::size_t in_block = size % kBlockBytes;
    if (in_block > 2000 && in_block < kBlockBytes - 10) continue;
    std::filesystem::resize_file(file, size);
    SCOPED_TRACE(size);
    std::size_t header_end = 0;
    try {
      const support::TraceContent all = support::read_trace(file);
      expect_sound(all);
      EXPECT_EQ(all.steps.size(), size >= kEndOfSteps ? 2u : 0u);
      EXPECT_EQ(all.events.size(), size == whole.size() ? 3u : 0u);
      const bool is_torn = size > kBlockBytes && (size < kEndOfSteps || size > 2 * kBlockBytes);
      EXPECT_EQ(all.damage.blocks, is_torn ? 1u : 0u);
      EXPECT_EQ(all.damage.bytes, is_torn ? size % kBlockBytes : 0u);
    } catch (const DataError& error) {
      header_end = size;
      EXPECT_THAT(error.what(), testing::HasSubstr("cut.trace"));
    }
    EXPECT_LT(header_end, 2000u);
  }
}

TEST(TraceReader, NoticesEveryFlippedBitOfABlockHeader) {
  const support::TmpDir folder;
  const std::string whole = small_file(folder);
  const Path file = folder.write("flipped.trace", whole);
  for (const std::size_t block : {0u, 1u, 2u}) {
    for (std::size_t bit = 0; bit < 8 * sizeof(BlockHeader); ++bit) {
      SCOPED_TRACE(testing::Message() << "block " << block << " bit " << bit);
      const std::size_t at = block * kBlockBytes + bit / 8;
      patch(file, at, whole[at] ^ (1 << bit % 8));
      if (block == 0) {
        EXPECT_THROW(TraceReader{file}, DataError);
      } else {
        const support::TraceContent all = support::read_trace(file);
        expect_sound(all);
        EXPECT_EQ(all.steps.size(), block == 1 ? 0u : 2u);
        EXPECT_EQ(all.events.size(), block == 2 ? 0u : 3u);
        EXPECT_EQ(all.damage.blocks, 1u);
        EXPECT_EQ(all.damage.bytes, block == 1 ? kBlockBytes : whole.size() - 2 * kBlockBytes);
      }
      patch(file, at, whole[at]);
    }
  }
}

TEST(TraceReader, NoticesEveryFlippedByteOfThePayload) {
  const support::TmpDir folder;
  const std::string whole = small_file(folder);
  const Path file = folder / "small.trace";
  for (std::size_t at = kBlockBytes + sizeof(BlockHeader); at < kEndOfSteps; at += 7) {
    patch(file, at, whole[at] ^ 0x10);
    const support::TraceContent all = support::read_trace(file);
    patch(file, at, whole[at]);
    EXPECT_EQ(all.steps.size(), 0u) << at;
    EXPECT_EQ(all.events.size(), 3u);
    EXPECT_EQ(all.damage.blocks, 1u);
  }
}

TEST(TraceReader, PassesOverBlocksThatAreNotInTheirPlace) {
  const support::TmpDir folder;
  const Path file = folder / "rank.trace";
  {
    TraceWriter writer(file, some_header());
    for (std::size_t i = 0; i < 3 * kStepsPerBlock; ++i) writer.append(one(some_step(i + 1)));
  }
  std::string swapped = support::content_of(file);
  std::swap_ranges(swapped.begin() + kBlockBytes, swapped.begin() + 2 * kBlockBytes, swapped.begin() + 2 * kBlockBytes);
  const support::TraceContent all = support::read_trace(folder.write("swapped.trace", swapped));
  ASSERT_EQ(all.steps.size(), kStepsPerBlock);
  EXPECT_EQ(all.steps[0].step, 2 * kStepsPerBlock + 1);
  EXPECT_EQ(all.damage.blocks, 2u);
  EXPECT_EQ(all.damage.bytes, 2 * kBlockBytes);
}

TEST(TraceReader, PassesOverGarbageBetweenBlocks) {
  const support::TmpDir folder;
  std::string content = small_file(folder);
  content.resize(3 * kBlockBytes, '\0');
  content += std::string(1234, 'x');
  const support::TraceContent all = support::read_trace(folder.write("garbage.trace", content));
  EXPECT_EQ(all.steps.size(), 2u);
  EXPECT_EQ(all.events.size(), 3u);
  EXPECT_EQ(all.damage.blocks, 1u);
  EXPECT_EQ(all.damage.bytes, 1234u);
}

TEST(TraceReader, OfStepsAloneReadsNoEvents) {
  const support::TmpDir folder;
  const Path file = folder / "rank.trace";
  TraceWriter writer(file, some_header());
  const std::vector<Event> events(kEventsPerBlock + 1, some_event(1, 1));
  writer.append(std::span<const Event>(events));
  for (std::size_t i = 0; i < kStepsPerBlock + 1; ++i) writer.append(one(some_step(i + 1)));
  TraceReader reader(file);
  std::vector<StepRecord> steps;
  ASSERT_TRUE(reader.next_steps(steps));
  EXPECT_EQ(steps.size(), kStepsPerBlock);
  ASSERT_TRUE(reader.next_steps(steps));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].step, kStepsPerBlock + 1);
  EXPECT_FALSE(reader.next_steps(steps));
  EXPECT_TRUE(steps.empty());
  EXPECT_FALSE(reader.damage().any());
}

TEST(TraceReader, RewoundReadsTheSameAgain) {
  const support::TmpDir folder;
  const std::string whole = small_file(folder);
  TraceReader reader(folder.write("cut.trace", whole.substr(0, whole.size() - 1)));
  for (int round = 0; round < 2; ++round) {
    const support::TraceContent all = support::read_trace(reader);
    EXPECT_EQ(all.steps.size(), 2u);
    EXPECT_EQ(all.damage.blocks, 1u);
    reader.rewind();
    EXPECT_FALSE(reader.damage().any());
  }
}

TEST(TraceReader, OfAFileThatGrowsGivesMoreAfterARewind) {
  const support::TmpDir folder;
  const Path file = folder / "rank.trace";
  TraceWriter writer(file, some_header());
  TraceReader reader(file);
  for (std::size_t count = 0; count < 2 * kStepsPerBlock; ++count) {
    if (count % 50 == 0) {
      const support::TraceContent all = support::read_trace(reader);
      EXPECT_EQ(all.steps.size(), count);
      EXPECT_FALSE(all.damage.any());
      reader.rewind();
    }
    writer.append(one(some_step(count + 1)));
  }
}

TEST(TraceReader, RefusesWhatIsNoTrace) {
  const support::TmpDir folder;
  EXPECT_THROW(TraceReader(folder.write("empty", "")), DataError);
  EXPECT_THROW(TraceReader(folder.write("text", std::string(100, 'a'))), DataError);
  EXPECT_THROW(TraceReader(folder / "missing"), EnvironmentError);
  EXPECT_THROW(TraceReader(folder.path()), EnvironmentError);
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_THROW(TraceReader(folder / "fifo"), EnvironmentError);
}

// A header block whose CRC is right, with any text.
std::string header_block(std::string_view json) {
  BlockHeader header;
  header.kind = BlockKind::kHeader;
  header.bytes = static_cast<std::uint32_t>(json.size());
  header.crc = crc_of(header, crc32c(std::as_bytes(std::span(json))));
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + std::string(json);
}

TEST(TraceReader, NamesTheFileWhoseHeaderIsWrong) {
  const support::TmpDir folder;
  EXPECT_EQ(TraceReader(folder.write("good", header_block(to_json(some_header())))).header().rank, 1);
  try {
    TraceReader reader(folder.write("odd.trace", header_block(R"({"format":"convoy-trace","version":2})")));
    FAIL() << "a version that is not ours was read";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("odd.trace"));
    EXPECT_THAT(error.what(), testing::HasSubstr("version"));
  }
}

struct BadStep {
  const char* what;
  std::function<void(StepRecord&)> spoil;
};
const std::vector<BadStep>& bad_steps() {
  static const std::vector<BadStep> cases = {
      {"step 0", [](StepRecord& r) { r.step = 0; }},
      {"step of all ones", [](StepRecord& r) { r.step = UINT64_MAX; }},
      {"start of all ones", [](StepRecord& r) { r.start_ns = UINT64_MAX; }},
      {"no duration",
       [](StepRecord& r) {
         r.duration_ns = 0;
         r.phases = {};
       }},
      {"duration of all ones", [](StepRecord& r) { r.duration_ns = UINT64_MAX; }},
      {"a duration of 60 days, summed",
       [](StepRecord& r) {
         r.duration_ns = 5'184'000'000'000'000u;
         r.phases = {};
         r[Phase::kOther].wall_ns = r.duration_ns;
       }},
      {"a phase longer than the step", [](StepRecord& r) { r[Phase::kData].wall_ns = r.duration_ns + 1; }},
      {"phases that wrap to the duration",
       [](StepRecord& r) {
         r[Phase::kData].wall_ns = UINT64_MAX;
         r[Phase::kBackward].wall_ns = 1;
       }},
      {"phases that lack a nanosecond", [](StepRecord& r) { r[Phase::kForward].wall_ns -= 1; }},
      {"more delay than time", [](StepRecord& r) { r[Phase::kForward].delay_ns = r[Phase::kForward].wall_ns + 1; }},
      {"tokens of all ones", [](StepRecord& r) { r.tokens = UINT64_MAX; }},
      {"an unknown flag", [](StepRecord& r) { r.flags = 32; }},
      {"something in the reserve", [](StepRecord& r) { r.reserved = 1; }}};
  return cases;
}

TEST(TraceReader, LeavesOutStepsThatCannotBe) {
  for (const BadStep& bad : bad_steps()) {
    const support::TmpDir folder;
    TraceWriter writer(folder / "rank.trace", some_header());
    StepRecord spoilt = some_step(2);
    bad.spoil(spoilt);
    EXPECT_NE(problem_of(spoilt), "") << bad.what;
    for (const StepRecord& record : {some_step(1), spoilt, some_step(3)}) writer.append(one(record));
    const support::TraceContent all = support::read_trace(folder / "rank.trace");
    ASSERT_EQ(all.steps.size(), 2u) << bad.what;
    EXPECT_EQ(all.steps[1].step, 3u);
    EXPECT_EQ(all.damage.blocks, 1u);
    EXPECT_EQ(all.damage.bytes, sizeof(StepRecord));
  }
}

struct BadEvent {
  const char* what;
  std::function<void(Event&)> spoil;
};
const std::vector<BadEvent>& bad_events() {
  static const std::vector<BadEvent> cases = {
      {"step 0", [](Event& e) { e.step = 0; }},
      {"start of all ones", [](Event& e) { e.start_ns = UINT64_MAX; }},
      {"a group beyond the header's", [](Event& e) { e.group = 3; }},
      {"an unknown operation", [](Event& e) { e.operation = static_cast<Operation>(kOperations); }},
      {"an unknown phase", [](Event& e) { e.phase = static_cast<Phase>(kPhases); }},
      {"an unknown flag", [](Event& e) { e.flags |= 8; }},
      {"something in the reserve", [](Event& e) { e.reserved = 1; }},
      {"a peer beyond the group", [](Event& e) {
         e.operation = Operation::kSend;
         e.peer = 2;
       }}};
  return cases;
}

TEST(TraceReader, LeavesOutEventsThatCannotBe) {
  for (const BadEvent& bad : bad_events()) {
    const support::TmpDir folder;
    TraceWriter writer(folder / "rank.trace", some_header());
    Event spoilt = some_event(1, 2);
    bad.spoil(spoilt);
    for (const Event& event : {some_event(1, 1), spoilt, some_event(1, 3)}) writer.append(one(event));
    const support::TraceContent all = support::read_trace(folder / "rank.trace");
    ASSERT_EQ(all.events.size(), 2u) << bad.what;
    EXPECT_EQ(all.events[1].sequence, 3u);
    EXPECT_EQ(all.damage.bytes, sizeof(Event));
  }
}

TEST(TraceReader, ABlockOfNothingSoundIsPassedOver) {
  const support::TmpDir folder;
  TraceWriter writer(folder / "rank.trace", some_header());
  Event event = some_event(1, 1);
  event.step = 0;
  writer.append(one(event));
  writer.append(one(some_step(1)));
  const support::TraceContent all = support::read_trace(folder / "rank.trace");
  EXPECT_TRUE(all.events.empty());
  EXPECT_EQ(all.steps.size(), 1u);
}

}  // namespace
}  // namespace convoy::trace

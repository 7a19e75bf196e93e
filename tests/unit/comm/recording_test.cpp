// SPDX-License-Identifier: Apache-2.0
// What the calls of a communicator leave in the traces of its ranks, which are threads.
#include <algorithm>
#include <chrono>
#include <thread>

#include "libcore/comm/communicator.h"
#include "libcore/comm/self.h"
#include "libcore/comm/threads.h"
#include "libcore/ops/backend.h"
#include "libcore/trace/recorder.h"
#include "tests/support/tmp_dir.h"
#include "tests/support/trace_files.h"

namespace convoy::comm {
namespace {

using support::TraceContent;
using tensor::DType;
using tensor::MutableView;
using trace::Event;
using trace::GroupKind;
using trace::Operation;
using trace::Phase;

constexpr int kRanks = 3;
constexpr double kWatchdogSeconds = 30.0;

// A rank with a stream that is recorded, step 1 of the trace being all that it does.
struct RecordedRank {
  RecordedRank(Communicator& communicator, const Path& folder) : world(communicator) {
    trace::Header header;
    header.world = header.tensor = kRanks;
    header.rank = header.at.tensor = world.rank();
    header.groups = {{GroupKind::kWorld, {0, 1, 2}}, {GroupKind::kTensor, {0, 1, 2}}};
    recorder.emplace(header, trace::RecorderOptions{.directory = folder, .window = {1, 1}, .ring_events = 64});
    stream.set_lane({&*recorder, false});
    beside.set_lane({&*recorder, true});
    recorder->begin_step(1);
  }
  ~RecordedRank() { recorder->end_step(0, 0); }

  void reduce(Communicator& group, device::Stream& on) {
    std::vector<float> values(100, 1.0f);
    group.all_reduce(on, {values.data(), DType::kF32, {100}, 0}, Reduction::kSum);
  }

  Communicator& world;
  std::optional<trace::Recorder> recorder;
  device::Stream stream{ops::cpu_backend(), 1}, beside{ops::cpu_backend(), 1};
};

std::vector<TraceContent> record(const std::function<void(RecordedRank&)>& calls) {
  const support::TmpDir folder;
  run_ranks(
      kRanks,
      [&](Communicator& world) {
        RecordedRank rank(world, folder.path());
        calls(rank);
      },
      kWatchdogSeconds);
  std::vector<TraceContent> traces;
  for (int rank = 0; rank < kRanks; ++rank) traces.push_back(support::read_trace(folder.path(), rank));
  return traces;
}

std::vector<Operation> operations(const TraceContent& trace) {
  std::vector<Operation> found;
  for (const Event& event : trace.events) found.push_back(event.operation);
  return found;
}

TEST(Recording, EveryCallIsAnEventWithItsBytesAndOneNumberOnAllRanks) {
  const std::vector<TraceContent> traces = record([](RecordedRank& rank) {
    std::vector<float> whole(8), mine(8);
    const std::vector<std::int64_t> counts = {2, 5, 1};
    const auto part = [&] {
      return MutableView{mine.data(), DType::kF32, {counts[std::size_t(rank.world.rank())]}, 0};
    };
    const MutableView all{whole.data(), DType::kF32, {8}, 0};
    rank.reduce(rank.world, rank.stream);
    rank.world.reduce_scatter(rank.stream, all, part(), counts, Reduction::kSum);
    rank.world.all_gather(rank.stream, part(), all, counts);
    rank.world.broadcast(rank.stream, all, 1);
    rank.world.barrier(rank.stream.lane());
  });
  for (const TraceContent& trace : traces) {
    ASSERT_THAT(operations(trace),
                testing::ElementsAre(Operation::kAllReduce, Operation::kReduceScatter, Operation::kAllGather,
                                     Operation::kBroadcast, Operation::kBarrier));
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      const Event& event = trace.events[i];
      EXPECT_EQ(event.sequence, i + 1);
      EXPECT_EQ(event.group, 0) << "the world is the header's first group";
      EXPECT_EQ(event.step, 1u);
      EXPECT_EQ(event.flags, trace::kComplete);
      EXPECT_EQ(event.phase, Phase::kOther) << "the phase that the call interrupted";
      EXPECT_EQ(event.bytes, (std::vector<std::uint32_t>{25, 2, 2, 2, 0}[i])) << "in units of 16, rounded up";
    }
  }
}

TEST(Recording, MessagesAreCountedForEachPeerAndDirection) {
  const std::vector<TraceContent> traces = record([](RecordedRank& rank) {
    float value = 0.0f;
    const MutableView view{&value, DType::kF32, {1}, 0};
    const int me = rank.world.rank();
    if (me == 0) {
      for (const int to : {1, 2, 1}) rank.world.send(rank.stream, view, to);
    } else {
      for (int i = 0; i < 3 - me; ++i) rank.world.receive(rank.stream, view, 0);
      if (me == 1) rank.world.send(rank.stream, view, 2);
      if (me == 2) rank.world.receive(rank.stream, view, 1);
    }
  });
  const auto messages = [&](int rank) {
    std::vector<std::tuple<Operation, int, std::uint32_t>> found;
    for (const Event& event : traces[std::size_t(rank)].events)
      found.emplace_back(event.operation, event.peer, event.sequence);
    return found;
  };
  const Operation send = Operation::kSend, receive = Operation::kReceive;
  EXPECT_THAT(messages(0),
              testing::ElementsAre(std::tuple(send, 1, 1), std::tuple(send, 2, 1), std::tuple(send, 1, 2)));
  EXPECT_THAT(messages(1),
              testing::ElementsAre(std::tuple(receive, 0, 1), std::tuple(receive, 0, 2), std::tuple(send, 2, 1)));
  EXPECT_THAT(messages(2), testing::ElementsAre(std::tuple(receive, 0, 1), std::tuple(receive, 1, 1)));
}

TEST(Recording, AGroupIsRecordedAsItsKindAndCountsItsOwnCalls) {
  const std::vector<TraceContent> traces = record([](RecordedRank& rank) {
    rank.reduce(rank.world, rank.stream);
    const auto group = rank.world.split(0, rank.world.rank(), "tensor");
    EXPECT_EQ(group->kind(), GroupKind::kWorld) << "inherited";
    group->set_kind(GroupKind::kTensor);
    rank.reduce(*group, rank.stream);
    const auto inner = group->split(0, rank.world.rank(), "inner");
    EXPECT_EQ(inner->kind(), GroupKind::kTensor) << "inherited";
    rank.reduce(*group, rank.stream);
    rank.reduce(*inner, rank.stream);
  });
  std::vector<std::pair<int, std::uint32_t>> found;
  for (const Event& event : traces[2].events) found.emplace_back(event.group, event.sequence);
  EXPECT_THAT(found, testing::ElementsAre(std::pair(0, 1u), std::pair(1, 1u), std::pair(1, 2u), std::pair(1, 1u)));
}

TEST(Recording, WaitingIsAPhaseOfTheGroupOnlyOnTheTrainingThreadsOwnStream) {
  constexpr std::chrono::milliseconds kLate{60};
  constexpr std::uint64_t kAtLeast = 30'000'000;  // ns; half of it, for a rank that starts late itself
  for (const bool overlapped : {false, true}) {
    const std::vector<TraceContent> traces = record([&](RecordedRank& rank) {
      const auto group = rank.world.split(0, rank.world.rank(), "tensor");
      group->set_kind(GroupKind::kTensor);
      if (rank.world.rank() == 2) std::this_thread::sleep_for(kLate);
      rank.reduce(*group, overlapped ? rank.beside : rank.stream);
    });
    const TraceContent& waited = traces[0];
    ASSERT_EQ(waited.steps.size(), 1u);
    ASSERT_EQ(waited.events.size(), 1u);
    EXPECT_GE(waited.events[0].duration_ns(), kAtLeast);
    EXPECT_EQ((waited.events[0].flags & trace::kOverlapped) != 0, overlapped);
    if (overlapped) {
      EXPECT_EQ(waited.steps[0][Phase::kTensorComm].wall_ns, 0u);
    } else {
      EXPECT_GE(waited.steps[0][Phase::kTensorComm].wall_ns, kAtLeast);
      EXPECT_LT(traces[2].steps[0][Phase::kTensorComm].wall_ns, waited.steps[0][Phase::kTensorComm].wall_ns);
    }
  }
}

TEST(Recording, AGroupOfOneCommunicatesNothing) {
  const std::vector<TraceContent> traces = record([](RecordedRank& rank) {
    const auto alone = rank.world.split(rank.world.rank(), 0, "data");
    rank.reduce(*alone, rank.stream);
    alone->barrier(rank.stream.lane());
  });
  for (const TraceContent& trace : traces) EXPECT_TRUE(trace.events.empty());
}

TEST(Recording, WithoutALaneNothingIsRecorded) {
  const std::vector<TraceContent> traces = record([](RecordedRank& rank) {
    device::Stream silent(ops::cpu_backend(), 1);
    rank.reduce(rank.world, silent);
    rank.world.barrier();
    rank.reduce(rank.world, rank.stream);
  });
  for (const TraceContent& trace : traces) {
    ASSERT_EQ(trace.events.size(), 1u);
    EXPECT_EQ(trace.events[0].sequence, 3u) << "all calls count, recorded or not";
  }
}

}  // namespace
}  // namespace convoy::comm

// SPDX-License-Identifier: Apache-2.0
// What the recorder costs: an event, a phase, a step; and the share of a step of about 100 ms with 512 events (12
// layers under tensor parallelism call 480 times in 10 micro-batches) and with 2,048, as the difference of pairs of the
// same fixed work with and without it, which take turns. Run by hand: recorder_bench [FOLDER]
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "libcore/trace/recorder.h"

namespace convoy::trace {
namespace {

constexpr int kEvents = 2048;      // a step, at most
constexpr int kComputations = 64;  // a step: forward and backward of 32 micro-batches, around them
constexpr int kSteps = 15;
constexpr int kRounds = 30;

double cpu_ns() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// The median over rounds of what one of `count` calls costs.
template <class Call>
double cost_ns(int count, const Call& call) {
  std::vector<double> costs;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = cpu_ns();
    for (int i = 0; i < count; ++i) call(i);
    costs.push_back((cpu_ns() - begin) / count);
  }
  return median(costs);
}

Header header() {
  Header made;
  made.run = "bench";
  made.groups = {{GroupKind::kWorld, {0}}, {GroupKind::kTensor, {0}}};
  return made;
}

// Steps without delay until the recorder has learnt that cores are not short.
void settle(Recorder& recorder) {
  for (int step = 1; step <= 4; ++step) {
    recorder.begin_step(step);
    recorder.end_step(1, 0);
  }
}

// Arithmetic that nothing can shorten.
std::uint64_t work(std::uint64_t value, int rounds) {
  for (int i = 0; i < rounds; ++i) value = value * 6364136223846793005u + 1442695040888963407u;
  return value;
}

std::uint64_t computation(Recorder* recorder, int micro_batch, int events, int rounds) {
  const ComputeScope compute(recorder, Phase::kForward, Operation::kForward, micro_batch);
  std::uint64_t value = 1;
  for (int j = 0; j < events / kComputations; ++j) {
    value = work(value, rounds);
    const CommunicationScope call({recorder, false}, {.group = GroupKind::kTensor, .sequence = j, .bytes = 65536});
  }
  return value;
}

void costs_of_calls(const RecorderOptions& quiet, const RecorderOptions& real) {
  Recorder recorder(header(), quiet);
  settle(recorder);
  recorder.begin_step(5);
  fmt::print("clock_gettime, to compare                  {:7.1f} ns\n", cost_ns(kEvents, [](int) { now_ns(); }));
  fmt::print("event (begin_event + end_event)            {:7.1f} ns\n", cost_ns(kEvents, [&](int i) {
               const auto sequence = static_cast<std::uint32_t>(i);
               recorder.end_event(recorder.begin_event(Operation::kAllReduce, 1, sequence, 65536, 0, false));
             }));
  recorder.enter(Phase::kForward);
  fmt::print("inner phase (enter + leave), no run-delay  {:7.1f} ns\n", cost_ns(kEvents, [&](int) {
               recorder.enter(Phase::kTensorComm);
               recorder.leave();
             }));
  fmt::print("communication (event and phase)            {:7.1f} ns\n", cost_ns(kEvents, [&](int i) {
               const CommunicationScope call({&recorder, false}, {.group = GroupKind::kTensor, .sequence = i});
             }));
  recorder.leave();
  recorder.end_step(1, 0);
  fmt::print("empty step (begin_step + end_step)         {:7.1f} ns\n", cost_ns(50, [&](int i) {
               recorder.begin_step(6 + i);
               recorder.end_step(1, 0);
             }));
  Recorder first_steps(header(), real);
  first_steps.begin_step(1);
  fmt::print("phase, run-delay at enter and leave        {:7.1f} ns\n", cost_ns(kEvents, [&](int) {
               first_steps.enter(Phase::kForward);
               first_steps.leave();
             }));
}

void recording_alone(const RecorderOptions& options, const char* what) {
  Recorder recorder(header(), options);
  settle(recorder);
  std::uint64_t kept = 0;
  std::int64_t step = 5;
  const double cost = cost_ns(1, [&](int) {
    recorder.begin_step(step++);
    for (int i = 0; i < kComputations; ++i) kept += computation(&recorder, i, kEvents, 0);
    recorder.end_step(1, 0);
  });
  fmt::print("{}  {:7.1f} us a step = {:.4f} % of 100 ms [{}]\n", what, cost / 1e3, cost / 1e6, kept % 10);
}

// Work, and one communication after it. Never inlined: the compiler would make a second copy for the null recorder, and
// pairs would compare two loops.
[[gnu::noinline]] std::uint64_t piece(Recorder* recorder, int sequence, std::uint64_t value, int rounds) {
  value = work(value, rounds);
  const CommunicationScope call({recorder, false}, {.group = GroupKind::kTensor, .sequence = sequence, .bytes = 65536});
  return value;
}

// What an event adds to the work before it: the median of pairs of the same work with and without, some 50 or 200 us
// apart, so that what disturbs one rarely decides. A computation is an event and a phase as a communication is, and
// counts as one; the step's own begin and end are added. In the control neither of a pair records: what it shows is the
// machine's noise.
void share_of_a_step(const RecorderOptions& options, int events, bool is_control) {
  Recorder recorder(header(), options);
  settle(recorder);
  const int pieces = events + kComputations;
  const std::uint64_t begin = now_ns();
  std::uint64_t kept = work(1, 1 << 22);
  const int rounds = static_cast<int>((1 << 22) * 100e6 / pieces / static_cast<double>(now_ns() - begin));
  std::vector<double> difference, ends;
  for (int step = 0; step < kSteps; ++step) {
    const std::uint64_t start = now_ns();
    recorder.begin_step(5 + step);
    auto ends_of_step = static_cast<double>(now_ns() - start);
    for (int i = 0; i < pieces; ++i) {
      double time[2] = {};
      for (const int turn : {i % 2, 1 - i % 2}) {
        const std::uint64_t from = now_ns();
        kept = piece(turn == 1 && !is_control ? &recorder : nullptr, i, kept, rounds);
        time[turn] = static_cast<double>(now_ns() - from);
      }
      difference.push_back(time[1] - time[0]);
    }
    const std::uint64_t last = now_ns();
    recorder.end_step(1, 0);
    ends.push_back(ends_of_step + static_cast<double>(now_ns() - last));
  }
  const double an_event = median(difference), cost = pieces * an_event + (is_control ? 0.0 : median(ends));
  std::vector<double> deviations;
  for (const double value : difference) deviations.push_back(std::abs(value - an_event));
  // 1.4826 MAD is a standard deviation, and a median's error 1.25 of a mean's.
  const double error = 1.4826 * 1.25 * median(deviations) / std::sqrt(static_cast<double>(difference.size()));
  fmt::print("{}, {:4} events: {:5.1f} +- {:.1f} ns an event, {:+.1f} us = {:+.4f} % of 100 ms ({} pairs) [{}]\n",
             is_control ? "control" : "paired ", events, an_event, error, cost / 1e3, cost / 1e6, difference.size(),
             kept % 10);
}

}  // namespace
}  // namespace convoy::trace

int main(int argc, char** argv) {
  using namespace convoy::trace;
  const std::filesystem::path folder = argc > 1 ? argv[1] : std::filesystem::temp_directory_path() / "recorder_bench";
  std::filesystem::create_directories(folder);
  // A file in place of the kernel's: what cores that are not short cost, whatever else the machine does.
  std::ofstream(folder / "schedstat") << "0 0 0\n";
  RecorderOptions real = {.directory = folder};
  RecorderOptions quiet = real, window = real;
  quiet.scheduling = window.scheduling = folder / "schedstat";
  window.window = {.first = 5, .last = 1 << 30};
  costs_of_calls(quiet, real);
  recording_alone(quiet, "recording alone          ");
  recording_alone(window, "recording alone, window  ");
  recording_alone(real, "recording alone, as it is");
  for (const int events : {512, kEvents}) {
    share_of_a_step(quiet, events, true);
    share_of_a_step(quiet, events, false);
  }
  return 0;
}

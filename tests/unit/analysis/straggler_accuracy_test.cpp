// SPDX-License-Identifier: Apache-2.0
// Hundreds of synthetic runs whose faults are known: who is named is who is slow, and of a healthy run nobody.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "libcore/analysis/report.h"
#include "libcore/analysis/synth.h"
#include "tests/support/tmp_dir.h"

namespace convoy::analysis {
namespace {

using trace::Phase;

constexpr int kRuns = 200;
constexpr int kMostWrongOfFaulty = 2;   // 99 % exact
constexpr int kMostNamedOfHealthy = 2;  // 1 %
constexpr double kPoints = 4.0;         // of excess_percent, around the injected: jitter of 3 % over 15 steps and more

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  int of(int first, int last) {
    return first + static_cast<int>(engine_() % static_cast<std::uint64_t>(last - first + 1));
  }
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return *(values.begin() + of(0, static_cast<int>(values.size()) - 1));
  }

 private:
  std::mt19937_64 engine_;
};

SynthOptions healthy(Draw& draw, std::uint64_t seed) {
  SynthOptions options;
  do {
    options.data = draw.one_of({1, 2, 4, 8});
    options.tensor = draw.one_of({1, 2, 4});
    options.pipeline = draw.one_of({1, 2, 4});
  } while (options.data * options.tensor * options.pipeline < 2);
  options.steps = draw.of(40, 120);
  options.jitter = 0.01 * draw.of(0, 3);
  options.micro_batches = draw.of(1, 4);
  options.layers = 1;
  options.ranks_per_host = draw.one_of({2, 4, 8});
  options.evaluate_every = draw.one_of({0, 10, 25});
  options.checkpoint_every = draw.one_of({0, 10, 25});
  options.window_first = options.window_last = 2;
  options.seed = seed;
  return options;
}

bool has_peers(const SynthOptions& options) { return options.data * options.tensor > 1; }

// One to three ranks, a minority of each stage's peers, from 10 % on; some of them for a part of the run only, which
// a rank without peers needs to be seen at all.
void add_faults(Draw& draw, SynthOptions& options) {
  const int world = options.data * options.tensor * options.pipeline;
  const int peers = options.data * options.tensor;
  const int most = options.data >= 5 ? (options.data - 1) / 2 : (peers - 1) / 2;
  const int count =
      std::min({3, std::max(1, most), world / 2, has_peers(options) ? world : (world - 1) / 2 + (world == 2)});
  std::set<int> ranks;
  for (int i = draw.of(1, std::max(1, count)); i > 0; --i) ranks.insert(draw.of(0, world - 1));
  for (const int rank : ranks) {
    SynthFault fault;
    fault.rank = rank;
    fault.phase = draw.one_of({Phase::kForward, Phase::kBackward, Phase::kOptimizer, Phase::kData});
    fault.factor = 1.0 + 0.01 * draw.of(10, 60);
    // Ten percent of the data phase are a five-hundredth of these steps: too little for a name.
    if (fault.phase == Phase::kData) fault.factor = 1.0 + 0.1 * draw.of(5, 30);
    if (!has_peers(options)) fault.factor += 0.1;
    if (!has_peers(options) || draw.of(0, 1) == 0) {
      const int length = draw.of(15, static_cast<int>(options.steps) / 2);
      fault.first = draw.of(3, static_cast<int>(options.steps) - length);
      fault.last = fault.first + length - 1;
    }
    options.faults.push_back(fault);
  }
}

std::string describe(const SynthOptions& options) {
  std::string text = fmt::format("dp {} tp {} pp {}, {} steps, jitter {}, seed {}", options.data, options.tensor,
                                 options.pipeline, options.steps, options.jitter, options.seed);
  for (const SynthFault& fault : options.faults)
    text += fmt::format("; slow rank {} x{} {} {}-{}", fault.rank, fault.factor, name_of(fault.phase), fault.first,
                        fault.last);
  return text;
}

std::string describe(const Report& report) {
  std::string text = " -> named";
  for (const Straggler& straggler : report.stragglers)
    text += fmt::format(" [rank {} {} {:+.1f} % in {}-{}]", straggler.rank, name_of(straggler.phase),
                        straggler.excess_percent, straggler.first_step, straggler.last_step);
  return text;
}

Report report_of(const SynthOptions& options) {
  const support::TmpDir folder;
  synthesize(options, folder / "run");
  return make_report(folder / "run", {});
}

bool is_exact(const SynthOptions& options, const Report& report) {
  std::set<std::pair<int, Phase>> injected, named;
  for (const SynthFault& fault : options.faults) injected.insert({fault.rank, fault.phase});
  for (const Straggler& straggler : report.stragglers) named.insert({straggler.rank, straggler.phase});
  return injected == named;
}

TEST(StragglerAccuracy, NamesExactlyTheSlowRanksWithTheirPhaseAndExcess) {
  int wrong = 0, far = 0;
  for (int run = 0; run < kRuns; ++run) {
    Draw draw(1000 + static_cast<std::uint64_t>(run));
    SynthOptions options = healthy(draw, static_cast<std::uint64_t>(run) + 1);
    add_faults(draw, options);
    const Report report = report_of(options);
    if (!is_exact(options, report)) {
      ++wrong;
      std::printf("%s%s\n", describe(options).c_str(), describe(report).c_str());
      continue;
    }
    for (const Straggler& straggler : report.stragglers) {
      const auto fault = std::ranges::find(options.faults, straggler.rank, &SynthFault::rank);
      const double injected = 100.0 * (fault->factor - 1.0);
      if (std::abs(straggler.excess_percent - injected) <= kPoints * fault->factor) continue;
      ++far;
      std::printf("far: %s%s\n", describe(options).c_str(), describe(report).c_str());
    }
  }
  std::printf("%d of %d runs without the exact culprits, %d excesses far from the injected\n", wrong, kRuns, far);
  EXPECT_LE(wrong, kMostWrongOfFaulty);
  EXPECT_LE(far, kMostWrongOfFaulty);
}

TEST(StragglerAccuracy, NamesNobodyInHealthyRuns) {
  int named = 0;
  for (int run = 0; run < kRuns; ++run) {
    Draw draw(5000 + static_cast<std::uint64_t>(run));
    const SynthOptions options = healthy(draw, 9000 + static_cast<std::uint64_t>(run));
    const Report report = report_of(options);
    if (report.stragglers.empty()) continue;
    ++named;
    std::printf("%s%s\n", describe(options).c_str(), describe(report).c_str());
  }
  std::printf("%d of %d healthy runs named somebody\n", named, kRuns);
  EXPECT_LE(named, kMostNamedOfHealthy);
}

}  // namespace
}  // namespace convoy::analysis

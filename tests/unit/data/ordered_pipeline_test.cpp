// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/ordered_pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace convoy::data {
namespace {

using Steps = PipelineSteps<int, int>;

// Items 0 to count - 1; the work of some takes longer, so that they finish out of order.
Steps squares(int count, std::vector<int>& out) {
  return {.source = [count, next = 0](int& item) mutable { return (item = next++) < count; },
          .work =
              [](int& item) {
                if (item % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
                return item * item;
              },
          .sink = [&out](int& value) { out.push_back(value); },
          .weight = [](const int&) { return std::size_t{10}; },
          .poll = {}};
}

TEST(OrderedPipeline, KeepsTheSourcesOrderForAnyNumberOfThreads) {
  for (const int workers : {1, 2, 7}) {
    std::vector<int> out;
    OrderedPipeline<int, int>(squares(100, out), 1000).run(workers);
    ASSERT_EQ(out.size(), 100u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], i * i);
  }
}

TEST(OrderedPipeline, AnEmptySourceEndsAtOnce) {
  std::vector<int> out;
  OrderedPipeline<int, int>(squares(0, out), 1000).run(3);
  EXPECT_TRUE(out.empty());
}

TEST(OrderedPipeline, TheFirstErrorInOrderWins) {
  for (const int workers : {1, 4}) {
    std::vector<int> out;
    Steps steps = squares(100, out);
    steps.work = [](int& item) {
      if (item == 20) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (item >= 20) throw std::runtime_error(std::to_string(item));
      return item;
    };
    try {
      OrderedPipeline<int, int>(steps, 1000).run(workers);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "20");
    }
    EXPECT_EQ(out.size(), 20u);
  }
}

TEST(OrderedPipeline, ASourcesErrorComesAfterWhatItGave) {
  std::vector<int> out;
  Steps steps = squares(100, out);
  steps.source = [next = 0](int& item) mutable {
    if (next == 10) throw std::runtime_error("cut");
    item = next++;
    return true;
  };
  EXPECT_THROW((OrderedPipeline<int, int>(steps, 1000).run(2)), std::runtime_error);
  EXPECT_EQ(out.size(), 10u);
}

TEST(OrderedPipeline, AnErrorOfTheSinkOrThePollStopsAllThreads) {
  std::vector<int> out;
  Steps steps = squares(1'000'000, out);
  steps.sink = [](int&) { throw std::runtime_error("full"); };
  EXPECT_THROW((OrderedPipeline<int, int>(steps, 1000).run(2)), std::runtime_error);
  Steps polled = squares(1'000'000, out);
  polled.poll = [] { throw std::runtime_error("signal"); };
  EXPECT_THROW((OrderedPipeline<int, int>(polled, 1000).run(2)), std::runtime_error);
}

TEST(OrderedPipeline, BoundsTheWeightInFlight) {
  std::vector<int> out;
  std::atomic<int> read = 0;
  Steps steps = squares(200, out);
  steps.source = [&read](int& item) { return (item = read++) < 200; };
  int most = 0;
  steps.sink = [&](int& value) {
    out.push_back(value);
    most = std::max(most, read.load() - static_cast<int>(out.size()));
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  };
  OrderedPipeline<int, int>(steps, 50).run(2);
  EXPECT_EQ(out.size(), 200u);
  EXPECT_LE(most, 5 + 1) << "five of weight 10 in flight, one read ahead";
}

TEST(OrderedPipeline, AnItemHeavierThanTheBoundStillPasses) {
  std::vector<int> out;
  Steps steps = squares(5, out);
  steps.weight = [](const int&) { return std::size_t{1000}; };
  OrderedPipeline<int, int>(steps, 10).run(3);
  EXPECT_EQ(out.size(), 5u);
}

}  // namespace
}  // namespace convoy::data

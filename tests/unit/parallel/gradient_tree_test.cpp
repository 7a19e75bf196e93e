// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/gradient_tree.h"

#include <gtest/gtest.h>

#include "libcore/base/error.h"
#include "libcore/comm/threads.h"
#include "libcore/ops/backend.h"
#include "libcore/parallel/data_parallel.h"

namespace convoy::parallel {
namespace {

constexpr double kWatchdogSeconds = 30.0;

// Empty shares, odd sizes, some larger than a message.
const std::vector<std::int64_t> kCounts = {333, 3, 64, 1, 130, 5000, 16};
const std::vector<std::size_t> kAlone = {0};

// Of a leaf; sums of such round in almost every addition.
float value(std::int64_t leaf, std::size_t parameter, std::int64_t element) {
  const std::int64_t x = leaf * 104729 + static_cast<std::int64_t>(parameter) * 1299709 + element * 15485863;
  return (static_cast<float>(x % 2000) - 1000.0f) / 37.0f * (1.0f + static_cast<float>(leaf));
}

// The sum of leaves [first, last), in halves of which the left one has a power of two.
float tree_sum(std::int64_t first, std::int64_t last, std::size_t parameter, std::int64_t element) {
  if (last - first == 1) return value(first, parameter, element);
  std::int64_t half = 1;
  while (2 * half < last - first) half *= 2;
  return tree_sum(first, first + half, parameter, element) + tree_sum(first + half, last, parameter, element);
}

struct Gradients {
  Gradients() {
    for (const std::int64_t count : kCounts) memory.emplace_back(static_cast<std::size_t>(count), 0.0f);
    for (std::vector<float>& one : memory)
      views.push_back({one.data(), tensor::DType::kF32, {static_cast<std::int64_t>(one.size())}, 0});
  }
  // As backward does: it adds to what is there.
  void add(std::int64_t leaf, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t e = 0; e < memory[i].size(); ++e) memory[i][e] += value(leaf, i, static_cast<std::int64_t>(e));
    }
  }

  std::vector<std::vector<float>> memory;
  std::vector<tensor::MutableView> views;
};

// Two chunks of parameters, which see the micro-batches at different times, as interleaved stages do.
void run_step(device::Stream& stream, GradientTree& tree, DataParallel& data, Gradients& gradients, int rank,
              std::int64_t micro_batches) {
  for (std::vector<float>& one : gradients.memory) std::ranges::fill(one, 0.0f);
  for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{3, 7}, {0, 3}}) {
    for (std::int64_t i = 0; i < micro_batches; ++i) {
      gradients.add(rank * micro_batches + i, begin, end);
      if (tree.add_leaf(stream, begin, end)) data.ready(begin, end);
    }
  }
  data.finish(stream);
}

TEST(GradientTree, TheSumsAreThoseOfOneTreeForAnyNumberOfReplicas) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const int zero : {0, 1}) {
      for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 20}) {
        for (const bool overlap : {false, true}) {
          comm::run_ranks(
              ranks,
              [&](comm::Communicator& world) {
                device::Stream stream(ops::cpu_backend(), 1);
                Gradients gradients;
                const std::vector<std::int64_t> planned = {1, 4, 3, 6};
                GradientTree tree(world, gradients.views, planned, bytes);
                DataParallel data(world, gradients.views, kAlone,
                                  {.zero = zero, .tree = &tree, .bucket_bytes = bytes, .overlap = overlap});
                for (const std::int64_t micro_batches : planned) {
                  tree.plan(micro_batches);
                  run_step(stream, tree, data, gradients, world.rank(), micro_batches);
                  for (std::size_t i = 0; i < kCounts.size(); ++i) {
                    const Range share = data.share(i);
                    for (std::int64_t e = share.begin; e < share.end; ++e) {
                      ASSERT_EQ(gradients.memory[i][static_cast<std::size_t>(e)],
                                tree_sum(0, ranks * micro_batches, i, e))
                          << ranks << " ranks, zero " << zero << ", " << micro_batches << " micro-batches, parameter "
                          << i << ", element " << e;
                    }
                  }
                }
              },
              kWatchdogSeconds);
        }
      }
    }
  }
}

TEST(GradientTree, OneMicroBatchNeedsNoCopiesAndEightNeedThree) {
  comm::run_ranks(
      2,
      [](comm::Communicator& world) {
        const Gradients gradients;
        const std::vector<std::int64_t> one = {1}, eight = {1, 8};
        EXPECT_EQ(GradientTree(world, gradients.views, one, 1024).copies(), 0u);
        EXPECT_EQ(GradientTree(world, gradients.views, eight, 1024).copies(), 3u);
      },
      kWatchdogSeconds);
}

TEST(GradientTree, ParametersThatHaveSeenOtherMicroBatchesAreNotReportedTogether) {
  comm::run_ranks(
      1,
      [](comm::Communicator& world) {
        device::Stream stream(ops::cpu_backend(), 1);
        const Gradients gradients;
        const std::vector<std::int64_t> planned = {4};
        GradientTree tree(world, gradients.views, planned, 1024);
        EXPECT_FALSE(tree.add_leaf(stream, 2, 4));
        EXPECT_THROW(tree.add_leaf(stream, 2, 5), InternalError);
        EXPECT_THROW(tree.plan(4), InternalError);  // in the middle of a step
        EXPECT_THROW(GradientTree(world, gradients.views, planned, 1024).plan(3), InternalError);
      },
      kWatchdogSeconds);
}

}  // namespace
}  // namespace convoy::parallel

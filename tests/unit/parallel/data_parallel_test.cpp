// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/data_parallel.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "libcore/base/error.h"
#include "libcore/comm/self.h"
#include "libcore/comm/threads.h"
#include "libcore/device/arena.h"
#include "libcore/ops/backend.h"

namespace convoy::parallel {
namespace {

constexpr double kWatchdogSeconds = 30.0;

// Smaller than a cut of 64, empty shares, odd sizes, and one larger than the small buckets.
const std::vector<tensor::Shape> kShapes = {{37, 9}, {3}, {64}, {1}, {130}, {65}, {20, 40}, {16}, {128}};
const std::vector<std::size_t> kAlone = {0, 4};

// A value that does not add up exactly, of a replica's gradient.
float value(int rank, int step, std::size_t parameter, std::int64_t element) {
  const std::int64_t x =
      rank * 7919 + step * 104729 + static_cast<std::int64_t>(parameter) * 1299709 + element * 15485863;
  return (static_cast<float>(x % 2000) - 1000.0f) / 37.0f * (1.0f + static_cast<float>(rank));
}

// The sum in rank order: ((x0 + x1) + x2) + ..
float sum(int ranks, int step, std::size_t parameter, std::int64_t element) {
  float total = value(0, step, parameter, element);
  for (int rank = 1; rank < ranks; ++rank) total += value(rank, step, parameter, element);
  return total;
}

// Tensors of one arena in table order, each at a multiple of 64 bytes.
class Table {
 public:
  explicit Table(tensor::DType dtype) {
    std::vector<std::size_t> offsets;
    for (const tensor::Shape& shape : kShapes) {
      offsets.push_back(arena_.reserve(static_cast<std::size_t>(shape.count()) * tensor::size_of(dtype)));
    }
    arena_.allocate({});
    for (std::size_t i = 0; i < kShapes.size(); ++i) views_.push_back({arena_.at(offsets[i]), dtype, kShapes[i], 0});
  }

  const std::vector<tensor::MutableView>& views() const { return views_; }
  void fill(int rank, int step) {
    for (std::size_t i = 0; i < views_.size(); ++i) {
      for (std::int64_t e = 0; e < views_[i].count(); ++e) views_[i].as<float>()[e] = value(rank, step, i, e);
    }
  }

 private:
  device::Arena arena_{"table"};
  std::vector<tensor::MutableView> views_;
};

// Reports all parameters in an order that depends on `variant`.
void report_all(DataParallel& data, int variant) {
  const std::size_t count = kShapes.size();
  if (variant % 3 == 0) {
    data.ready(0, count);
  } else if (variant % 3 == 1) {
    for (std::size_t i = count; i-- > 0;) data.ready(i, i + 1);
  } else {
    data.ready(0, 4);
    data.ready(4, count);
  }
}

void expect_sums(const DataParallel& data, const Table& gradients, int ranks, int step) {
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    const Range share = data.share(i);
    for (std::int64_t e = share.begin; e < share.end; ++e) {
      ASSERT_EQ(gradients.views()[i].as<float>()[e], sum(ranks, step, i, e)) << "parameter " << i << ", element " << e;
    }
  }
}

struct Case {
  int ranks;
  DataParallelOptions options;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (const int zero : {0, 1}) {
      for (const bool overlap : {false, true}) {
        all.push_back({ranks, {.zero = zero, .bucket_bytes = 4, .overlap = overlap}});
        all.push_back({ranks, {.zero = zero, .bucket_bytes = 1024, .overlap = overlap}});
        all.push_back({ranks, {.zero = zero, .bucket_bytes = 1 << 20, .overlap = overlap}});
        all.push_back({ranks, {.zero = zero, .bucket_bytes = 1 << 20, .in_place_bytes = 1, .overlap = overlap}});
      }
    }
  }
  return all;
}

std::string text(const Case& c) {
  return "ranks " + std::to_string(c.ranks) + ", zero " + std::to_string(c.options.zero) + ", bucket bytes " +
         std::to_string(c.options.bucket_bytes) + ", in place from " + std::to_string(c.options.in_place_bytes) +
         ", overlap " + std::to_string(c.options.overlap);
}

// Every combination against the same sums, to the bit: so they are equal to each other.
TEST(DataParallel, GradientsBecomeTheSumsOverTheReplicasWhateverTheBucketsAndTheOrderOfReports) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(text(c));
    comm::run_ranks(
        c.ranks,
        [&](comm::Communicator& world) {
          device::Stream stream(ops::cpu_backend(), 1);
          Table gradients(tensor::DType::kF32);
          DataParallel data(world, gradients.views(), kAlone, c.options);
          for (int step = 0; step < 3; ++step) {
            gradients.fill(world.rank(), step);
            report_all(data, world.rank() + step);
            data.finish(stream);
            expect_sums(data, gradients, c.ranks, step);
          }
        },
        kWatchdogSeconds);
  }
}

TEST(DataParallel, SharesAreWholeUnderZeroNoughtAndTileUnderZeroOne) {
  comm::run_ranks(
      3,
      [](comm::Communicator& world) {
        Table gradients(tensor::DType::kF32);
        DataParallel whole(world, gradients.views(), {}, {.zero = 0});
        DataParallel shared(world, gradients.views(), {}, {.zero = 1});
        for (std::size_t i = 0; i < kShapes.size(); ++i) {
          const std::int64_t count = kShapes[i].count();
          EXPECT_EQ(whole.share(i), (Range{0, count}));
          EXPECT_EQ(shared.share(i), flat_partition(count, 3, world.rank()));
        }
      },
      kWatchdogSeconds);
}

// The bits of a weight element that its owner writes; of a size.
template <class Bits>
Bits bits_of(std::size_t parameter, std::int64_t element) {
  return static_cast<Bits>(parameter * 4099 + static_cast<std::size_t>(element) * 31 + 1);
}

template <class Bits>
void expect_gathered(tensor::DType dtype) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(text(c));
    comm::run_ranks(
        c.ranks,
        [&](comm::Communicator& world) {
          device::Stream stream(ops::cpu_backend(), 1);
          Table gradients(tensor::DType::kF32), weights(dtype);
          DataParallel data(world, gradients.views(), kAlone, c.options);
          for (std::size_t i = 0; i < kShapes.size(); ++i) {
            const Range share = data.share(i);
            for (std::int64_t e = share.begin; e < share.end; ++e) {
              weights.views()[i].as<Bits>()[e] = bits_of<Bits>(i, e);
            }
          }
          data.gather(stream, weights.views());
          for (std::size_t i = 0; i < kShapes.size(); ++i) {
            for (std::int64_t e = 0; e < kShapes[i].count(); ++e) {
              ASSERT_EQ(weights.views()[i].as<Bits>()[e], bits_of<Bits>(i, e)) << "weight " << i << ", element " << e;
            }
          }
        },
        kWatchdogSeconds);
  }
}

TEST(DataParallel, EveryRanksShareOfTheWeightsReachesAll) {
  expect_gathered<std::uint16_t>(tensor::DType::kBF16);
  expect_gathered<std::uint32_t>(tensor::DType::kF32);
  expect_gathered<std::uint64_t>(tensor::DType::kF64);
}

// Gradients of single tensors are reduced where they lie, and others' shares are nobody's business.
TEST(DataParallel, LeavesTheGapsBetweenTensorsAlone) {
  comm::run_ranks(
      2,
      [](comm::Communicator& world) {
        device::Stream stream(ops::cpu_backend(), 1);
        std::vector<float> memory(20, 5.0f);
        const std::vector<tensor::MutableView> views = {{memory.data(), tensor::DType::kF32, {3}, 0},
                                                        {memory.data() + 16, tensor::DType::kF32, {4}, 0}};
        DataParallel data(world, views, {}, {.zero = 0});
        data.ready(0, 2);
        data.finish(stream);
        for (std::size_t e = 0; e < memory.size(); ++e) EXPECT_EQ(memory[e], e < 3 || e >= 16 ? 10.0f : 5.0f) << e;
      },
      kWatchdogSeconds);
}

TEST(DataParallel, OneReplicaHasItsSumsAlready) {
  device::Stream stream(ops::cpu_backend(), 1);
  const std::unique_ptr<comm::Communicator> self = comm::make_self();
  Table gradients(tensor::DType::kF32);
  DataParallel data(*self, gradients.views(), kAlone, {.zero = 1});
  gradients.fill(0, 0);
  report_all(data, 1);
  data.finish(stream);
  expect_sums(data, gradients, 1, 0);
}

TEST(DataParallel, AReportTwiceOrAMissingOneIsOurFault) {
  device::Stream stream(ops::cpu_backend(), 1);
  const std::unique_ptr<comm::Communicator> self = comm::make_self();
  Table gradients(tensor::DType::kF32);
  DataParallel data(*self, gradients.views(), {}, {});
  data.ready(3, 5);
  EXPECT_THROW(data.ready(4, 5), InternalError);
  EXPECT_THROW(data.finish(stream), InternalError);
  EXPECT_THROW(data.ready(kShapes.size(), kShapes.size() + 1), InternalError);
}

TEST(DataParallel, EndsInTheMiddleOfAStep) {
  for (const bool overlap : {false, true}) {
    comm::run_ranks(
        3,
        [&](comm::Communicator& world) {
          Table gradients(tensor::DType::kF32);
          DataParallel data(world, gradients.views(), kAlone, {.zero = 1, .bucket_bytes = 256, .overlap = overlap});
          gradients.fill(world.rank(), 0);
          data.ready(5, kShapes.size());
        },
        kWatchdogSeconds);
  }
}

TEST(DataParallel, ARankThatFailsIsHeardOfByTheOthersAtFinish) {
  std::vector<int> heard(3, 0);
  const auto body = [&](comm::Communicator& world) {
    device::Stream stream(ops::cpu_backend(), 1);
    Table gradients(tensor::DType::kF32);
    DataParallel data(world, gradients.views(), kAlone, {.zero = 0, .bucket_bytes = 256});
    gradients.fill(world.rank(), 0);
    if (world.rank() == 1) throw std::runtime_error("rank 1 has had it");
    report_all(data, 0);
    try {
      data.finish(stream);
    } catch (const ClusterError&) {
      heard[static_cast<std::size_t>(world.rank())] = 1;
      throw;
    }
  };
  EXPECT_THROW(comm::run_ranks(3, body, kWatchdogSeconds), std::runtime_error);
  EXPECT_EQ(heard, (std::vector<int>{1, 0, 1}));
}

}  // namespace
}  // namespace convoy::parallel

// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/threads.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"
#include "libcore/tensor/fp16.h"

namespace convoy::comm {
namespace {

using tensor::DType;
using tensor::MutableView;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kWatchdog = 60;  // of a test that waits for nobody who does not come
constexpr double kShortWatchdog = 0.3;

template <class T>
constexpr DType kTypeOf = DType::kU8;
template <>
constexpr DType kTypeOf<float> = DType::kF32;
template <>
constexpr DType kTypeOf<double> = DType::kF64;
template <>
constexpr DType kTypeOf<std::int64_t> = DType::kI64;
template <>
constexpr DType kTypeOf<tensor::Bf16> = DType::kBF16;

template <>
constexpr DType kTypeOf<tensor::Fp16> = DType::kF16;

template <class T>
MutableView view(std::vector<T>& values) {
  return {values.data(), kTypeOf<T>, {static_cast<std::int64_t>(values.size())}, 0};
}

device::Stream stream() { return device::Stream(ops::cpu_backend(), 1); }

// Numbers of many magnitudes and both signs, so that another order of a sum has other bits.
float value_of(int rank, std::size_t i) {
  const auto mixed = static_cast<std::uint32_t>((i * 7 + static_cast<std::size_t>(rank) * 13 + 1) * 2654435761u);
  return std::ldexp(static_cast<float>(mixed % 2001) - 1000.0f, static_cast<int>(mixed >> 20) % 24 - 12);
}

template <class T>
T make(int rank, std::size_t i) {
  if constexpr (std::is_same_v<T, tensor::Bf16>) {
    return tensor::to_bf16(value_of(rank, i));
  } else if constexpr (std::is_same_v<T, tensor::Fp16>) {
    return tensor::to_fp16(value_of(rank, i));
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return static_cast<std::int64_t>(value_of(rank, i) * 1e3);
  } else if constexpr (std::is_same_v<T, double>) {
    return value_of(rank, i) / 3.0;
  } else {
    return value_of(rank, i);
  }
}

template <class T>
std::vector<T> values_of(int rank, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = make<T>(rank, i);
  return values;
}

double plain(float x) { return x; }
double plain(double x) { return x; }
double plain(tensor::Bf16 x) { return tensor::to_float(x); }
double plain(tensor::Fp16 x) { return tensor::to_float(x); }

// The documented order by hand: from the left, in rank order, bf16 and fp16 in fp32.
template <class T>
T expected(Reduction reduction, int ranks, std::size_t i) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    std::int64_t result = make<T>(0, i);
    for (int rank = 1; rank < ranks; ++rank) {
      const std::int64_t next = make<T>(rank, i);
      result = reduction == Reduction::kSum   ? result + next
               : reduction == Reduction::kMax ? std::max(result, next)
                                              : std::min(result, next);
    }
    return result;
  } else {
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    Wide result = static_cast<Wide>(plain(make<T>(0, i)));
    for (int rank = 1; rank < ranks; ++rank) {
      const Wide next = static_cast<Wide>(plain(make<T>(rank, i)));
      result = reduction == Reduction::kSum   ? result + next
               : reduction == Reduction::kMax ? std::max(result, next)
                                              : std::min(result, next);
    }
    if constexpr (std::is_same_v<T, tensor::Bf16>) {
      return tensor::to_bf16(result);
    } else if constexpr (std::is_same_v<T, tensor::Fp16>) {
      return tensor::to_fp16(result);
    } else {
      return result;
    }
  }
}

template <class T>
void expect_bits(const std::vector<T>& got, std::size_t begin, Reduction reduction, int ranks, const char* what) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    const T wanted = expected<T>(reduction, ranks, begin + i);
    ASSERT_EQ(std::memcmp(&got[i], &wanted, sizeof wanted), 0)
        << what << " of " << ranks << " ranks, element " << begin + i;
  }
}

template <class T>
class Reductions : public testing::Test {};
using Types = testing::Types<float, double, std::int64_t, tensor::Bf16, tensor::Fp16>;
TYPED_TEST_SUITE(Reductions, Types);

TYPED_TEST(Reductions, AreTakenInRankOrder) {
  for (const Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin}) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
      for (const std::size_t count : {0u, 1u, 3u, 1031u, 4999u}) {
        run_ranks(
            ranks,
            [&](Communicator& world) {
              device::Stream host = stream();
              std::vector<TypeParam> data = values_of<TypeParam>(world.rank(), count);
              world.all_reduce(host, view(data), reduction);
              expect_bits(data, 0, reduction, ranks, "all_reduce");
            },
            kWatchdog);
      }
    }
  }
}

// Rank r's part of uneven ones: the first takes what the others leave, the last has none.
std::vector<std::int64_t> uneven(int ranks, std::int64_t count) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks), 0);
  for (std::size_t r = 1; r + 1 < counts.size(); ++r) counts[r] = static_cast<std::int64_t>(3 * r);
  counts[0] = count - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  return counts;
}

std::int64_t begin_of(const std::vector<std::int64_t>& counts, int rank) {
  return std::accumulate(counts.begin(), counts.begin() + rank, std::int64_t{0});
}

TYPED_TEST(Reductions, ScatterUnevenParts) {
  constexpr std::size_t kCount = 2053;
  for (const bool in_place : {false, true}) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
      run_ranks(
          ranks,
          [&](Communicator& world) {
            device::Stream host = stream();
            const std::vector<std::int64_t> counts = uneven(ranks, kCount);
            const std::int64_t count = counts[static_cast<std::size_t>(world.rank())];
            const std::int64_t begin = begin_of(counts, world.rank());
            std::vector<TypeParam> whole = values_of<TypeParam>(world.rank(), kCount);
            std::vector<TypeParam> mine(static_cast<std::size_t>(count));
            const MutableView target = in_place ? tensor::flat_part(view(whole), begin, begin + count) : view(mine);
            world.reduce_scatter(host, view(whole), target, counts, Reduction::kSum);
            if (in_place && count > 0) std::memcpy(mine.data(), target.data, mine.size() * sizeof(TypeParam));
            expect_bits(mine, static_cast<std::size_t>(begin), Reduction::kSum, ranks, "reduce_scatter");
          },
          kWatchdog);
    }
  }
}

TEST(ThreadWorld, SumsOfWholeNumbersWrap) {
  run_ranks(2, [](Communicator& world) {
    device::Stream host = stream();
    std::vector<std::int64_t> data = {world.rank() == 0 ? std::numeric_limits<std::int64_t>::max() : 2};
    world.all_reduce(host, view(data), Reduction::kSum);
    EXPECT_EQ(data[0], std::numeric_limits<std::int64_t>::min() + 1);
  });
}

// (2^25 - 2^25) + 1 is 1; in any other order 1 is lost, because fp32 has 24 bits.
TEST(ThreadWorld, TheLastRankComesLastInBf16Too) {
  run_ranks(3, [](Communicator& world) {
    device::Stream host = stream();
    const std::vector<float> inputs = {std::ldexp(1.0f, 25), -std::ldexp(1.0f, 25), 1.0f};
    std::vector<tensor::Bf16> data(5, tensor::to_bf16(inputs[static_cast<std::size_t>(world.rank())]));
    world.all_reduce(host, view(data), Reduction::kSum);
    for (const tensor::Bf16 sum : data) EXPECT_EQ(tensor::to_float(sum), 1.0f);
  });
}

TEST(ThreadWorld, Bf16IsRoundedOnce) {
  // 256 + 1 + 1 in bf16 steps would stay 256; in fp32 it is 258, which bf16 has.
  run_ranks(3, [](Communicator& world) {
    device::Stream host = stream();
    std::vector<tensor::Bf16> data = {tensor::to_bf16(world.rank() == 0 ? 256.0f : 1.0f)};
    world.all_reduce(host, view(data), Reduction::kSum);
    EXPECT_EQ(tensor::to_float(data[0]), 258.0f);
  });
}

TEST(ThreadWorld, ANanWinsEveryMaximumAndMinimum) {
  for (const Reduction reduction : {Reduction::kMax, Reduction::kMin}) {
    for (int where = 0; where < 3; ++where) {
      run_ranks(3, [&](Communicator& world) {
        device::Stream host = stream();
        std::vector<float> data = {world.rank() == where ? std::nanf("") : 1.0f, 2.0f};
        world.all_reduce(host, view(data), reduction);
        EXPECT_TRUE(std::isnan(data[0])) << "the NaN of rank " << where;
        EXPECT_EQ(data[1], 2.0f);
      });
    }
  }
}

TEST(ThreadWorld, GathersUnevenPartsOfAnyType) {
  for (const bool in_place : {false, true}) {
    run_ranks(4, [&](Communicator& world) {
      device::Stream host = stream();
      const std::vector<std::int64_t> counts = {2, 0, 3, 1};
      const auto rank = static_cast<std::size_t>(world.rank());
      std::vector<std::uint8_t> whole(6, 99),
          mine(static_cast<std::size_t>(counts[rank]), static_cast<std::uint8_t>(rank));
      MutableView part = view(mine);
      if (in_place) {
        const std::int64_t begin = begin_of(counts, world.rank());
        part = tensor::flat_part(view(whole), begin, begin + counts[rank]);
        if (!mine.empty()) std::memcpy(part.data, mine.data(), mine.size());
      }
      world.all_gather(host, part, view(whole), counts);
      EXPECT_THAT(whole, ElementsAre(0, 0, 2, 2, 2, 3));
    });
  }
}

TEST(ThreadWorld, BroadcastsFromAnyRank) {
  run_ranks(3, [](Communicator& world) {
    device::Stream host = stream();
    for (int root = 0; root < 3; ++root) {
      std::vector<float> data = {static_cast<float>(world.rank()), 7.0f};
      world.broadcast(host, view(data), root);
      EXPECT_THAT(data, ElementsAre(static_cast<float>(root), 7.0f));
    }
  });
}

TEST(ThreadWorld, MessagesOfAPairArriveInOrder) {
  run_ranks(3, [](Communicator& world) {
    device::Stream host = stream();
    constexpr int kMessages = 20;
    if (world.rank() > 0) {
      for (int i = 0; i < kMessages; ++i) {
        std::vector<float> data = {static_cast<float>(100 * world.rank() + i)};
        world.send(host, view(data), 0);
        data[0] = -1;  // a send has copied
      }
      return;
    }
    for (int i = 0; i < kMessages; ++i) {
      for (const int from : {2, 1}) {
        std::vector<float> data = {0};
        world.receive(host, view(data), from);
        EXPECT_EQ(data[0], static_cast<float>(100 * from + i));
      }
    }
  });
}

TEST(ThreadWorld, AMessageOfAnotherSizeIsABug) {
  EXPECT_THROW(run_ranks(2,
                         [](Communicator& world) {
                           device::Stream host = stream();
                           std::vector<float> three(3), two(2);
                           if (world.rank() == 0) world.send(host, view(three), 1);
                           if (world.rank() == 1) world.receive(host, view(two), 0);
                         }),
               InternalError);
}

TEST(ThreadWorld, NobodyLeavesABarrierBeforeAllAreThere) {
  std::atomic<int> here = 0;
  run_ranks(4, [&here](Communicator& world) {
    for (int round = 1; round <= 50; ++round) {
      ++here;
      world.barrier();
      EXPECT_GE(here, 4 * round);
      world.barrier();
    }
  });
}

TEST(ThreadWorld, SplitsByColorAndOrdersByKey) {
  run_ranks(5, [](Communicator& world) {
    device::Stream host = stream();
    const int color = world.rank() == 4 ? -1 : world.rank() % 2;
    const std::unique_ptr<Communicator> group = world.split(color, -world.rank(), "half");
    if (color < 0) {
      EXPECT_EQ(group, nullptr);
      return;
    }
    EXPECT_EQ(group->name(), "half");
    EXPECT_EQ(group->size(), 2);
    EXPECT_EQ(group->rank(), world.rank() >= 2 ? 0 : 1);  // the larger rank has the smaller key
    EXPECT_EQ(group->watchdog_seconds(), world.watchdog_seconds());
    std::vector<float> data = {static_cast<float>(world.rank())};
    group->all_reduce(host, view(data), Reduction::kSum);
    EXPECT_EQ(data[0], color == 0 ? 2.0f : 4.0f);
  });
}

TEST(ThreadWorld, GroupsWorkAtTheSameTimeFromDifferentThreads) {
  run_ranks(4, [](Communicator& world) {
    const std::unique_ptr<Communicator> rows = world.split(world.rank() / 2, world.rank(), "rows");
    const std::unique_ptr<Communicator> columns = world.split(world.rank() % 2, world.rank(), "columns");
    std::jthread beside([&columns] {
      device::Stream host = stream();
      for (int i = 0; i < 100; ++i) {
        std::vector<float> data = {1.0f};
        columns->all_reduce(host, view(data), Reduction::kSum);
        EXPECT_EQ(data[0], 2.0f);
      }
    });
    device::Stream host = stream();
    for (int i = 0; i < 100; ++i) {
      std::vector<double> data = {3.0};
      rows->all_reduce(host, view(data), Reduction::kSum);
      EXPECT_EQ(data[0], 6.0);
    }
  });
}

template <class Error, class Body>
std::string failure(int ranks, Body body, double watchdog = kWatchdog) {
  try {
    run_ranks(ranks, body, watchdog);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// What ends the sleep of a rank that does not come: the others' failure, which it sees at its next call.
TEST(ThreadWatchdog, NamesTheMissingRankAndTheCollective) {
  const std::string message = failure<ClusterError>(
      4,
      [](Communicator& world) {
        device::Stream host = stream();
        world.set_nodes({"n01", "n01", "n02", "n02"});
        std::vector<float> data = {1.0f};
        world.all_reduce(host, view(data), Reduction::kSum);
        const std::unique_ptr<Communicator> group = world.split(world.rank() == 1 ? 1 : 0, world.rank(), "data");
        if (world.rank() == 1) return world.barrier();
        group->barrier();
        if (world.rank() == 2) std::this_thread::sleep_for(std::chrono::duration<double>(3 * kShortWatchdog));
        group->all_reduce(host, view(data), Reduction::kSum);
      },
      kShortWatchdog);
  // Ranks 0 and 3 wait for 2 in "data", and rank 1 for the three others at its barrier.
  EXPECT_THAT(message,
              testing::AnyOf(HasSubstr("rank 2 (node n02) did not arrive at all_reduce #2 of group data within 0.3 s; "
                                       "waiting there: ranks 0 (node n01) and 3 (node n02)"),
                             HasSubstr("ranks 0 (node n01), 2 and 3 (node n02) did not arrive at barrier #3 of group "
                                       "world within 0.3 s; waiting there: rank 1 (node n01)")));
}

TEST(ThreadWatchdog, NamesTheSenderOfAMessageThatDoesNotCome) {
  const std::string message = failure<ClusterError>(
      2,
      [](Communicator& world) {
        device::Stream host = stream();
        std::vector<float> data = {1.0f};
        if (world.rank() == 0) {
          world.receive(host, view(data), 1);
          world.receive(host, view(data), 1);
        } else {
          world.send(host, view(data), 0);
          std::this_thread::sleep_for(std::chrono::duration<double>(3 * kShortWatchdog));
        }
      },
      kShortWatchdog);
  EXPECT_THAT(message, HasSubstr("rank 1 sent nothing for receive #2 from rank 1 of group world within 0.3 s"));
}

TEST(ThreadWatchdog, NoticesARankThatHasLeftAtOnce) {
  const std::string message = failure<ClusterError>(3, [](Communicator& world) {
    if (world.rank() != 1) world.barrier();
  });
  EXPECT_THAT(message, HasSubstr("rank 1 has left the group before barrier #1 of group world"));
}

TEST(ThreadWatchdog, NoticesRanksThatMakeDifferentCalls) {
  const std::string message = failure<ClusterError>(2, [](Communicator& world) {
    device::Stream host = stream();
    std::vector<float> data(static_cast<std::size_t>(3 + world.rank()));
    world.all_reduce(host, view(data), Reduction::kSum);
  });
  EXPECT_THAT(message, AllOf(HasSubstr("the ranks do not make the same calls: as #1 of group world"),
                             HasSubstr("rank 0 calls all_reduce of 3 fp32 and rank 1 calls all_reduce of 4 fp32")));
}

TEST(RunRanks, RethrowsTheFirstExceptionAndReleasesTheOthers) {
  std::atomic<int> released = 0;
  const std::string message = failure<DataError>(4, [&released](Communicator& world) {
    const std::unique_ptr<Communicator> group = world.split(world.rank() % 2, world.rank(), "data");
    if (world.rank() == 2) throw DataError("shard 7 is torn");
    try {
      world.rank() == 0 ? group->barrier() : world.barrier();
    } catch (const ClusterError& error) {
      EXPECT_THAT(error.what(), HasSubstr("cannot be completed: rank 2 failed: shard 7 is torn"));
      ++released;
      throw;
    }
  });
  EXPECT_EQ(message, "shard 7 is torn");
  EXPECT_EQ(released, 3);
}

TEST(RunRanks, EndJobReleasesThePeers) {
  const std::string message = failure<ClusterError>(3, [](Communicator& world) {
    if (world.rank() == 1) return world.end_job(4);
    world.barrier();
  });
  EXPECT_THAT(message, HasSubstr("rank 1 ended the job with exit code 4"));
}

TEST(MakeThreadWorld, GivesOneCommunicatorARank) {
  const std::vector<std::unique_ptr<Communicator>> world = make_thread_world(3);
  ASSERT_EQ(world.size(), 3u);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(world[static_cast<std::size_t>(rank)]->rank(), rank);
    EXPECT_EQ(world[static_cast<std::size_t>(rank)]->size(), 3);
    EXPECT_EQ(world[static_cast<std::size_t>(rank)]->name(), "world");
  }
}

}  // namespace
}  // namespace convoy::comm

// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/layer_shards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "libcore/base/error.h"
#include "libcore/comm/self.h"
#include "libcore/comm/threads.h"
#include "libcore/device/arena.h"
#include "libcore/ops/backend.h"

namespace convoy::parallel {
namespace {

using tensor::DType;
using tensor::MutableView;

constexpr double kWatchdogSeconds = 30.0;
constexpr int kMicroBatches = 3;

// Embeddings; four layers of a vector and two matrices; a head. Sizes below a cut of 64, and odd ones.
struct Shapes {
  std::vector<tensor::Shape> all = {{37, 9}, {5, 3}};
  std::vector<Unit> units = {{0, 2}};
  Shapes() {
    for (int layer = 0; layer < 4; ++layer) {
      units.push_back({all.size(), all.size() + 3, layer % 2});
      all.insert(all.end(), {{7}, {20, 13}, {65, 2}});
    }
    units.push_back({all.size(), all.size() + 1});
    all.push_back({130});
  }
};

// A value that does not add up exactly.
float value(int rank, int micro_batch, std::size_t parameter, std::int64_t element) {
  const std::int64_t x =
      rank * 7919 + micro_batch * 104729 + static_cast<std::int64_t>(parameter) * 1299709 + element * 15485863;
  return (static_cast<float>(x % 2000) - 1000.0f) / 37.0f * (1.0f + static_cast<float>(rank));
}

// Over the micro-batches in order, the sum over the ranks in order: what the contract says, in its own order.
float expected_sum(int ranks, std::size_t parameter, std::int64_t element) {
  float total = 0.0f;
  for (int micro_batch = 0; micro_batch < kMicroBatches; ++micro_batch) {
    float sum = value(0, micro_batch, parameter, element);
    for (int rank = 1; rank < ranks; ++rank) sum += value(rank, micro_batch, parameter, element);
    total += sum;
  }
  return total;
}

// The memory of a rank: rooms that layers share, and shares.
class Memory {
 public:
  Memory(DType dtype, const Sharding& sharding) {
    std::array<std::size_t, 2> slots{};
    for (std::size_t& slot : slots) slot = rooms_.reserve(slot_bytes(dtype));
    std::vector<std::size_t> room_at, share_at;
    for (const Unit& unit : shapes_.units) {
      std::size_t used = 0;
      for (std::size_t i = unit.begin; i < unit.end; ++i) {
        const std::size_t bytes = static_cast<std::size_t>(shapes_.all[i].count()) * tensor::size_of(dtype);
        const bool in_slot = unit.slot >= 0 && shapes_.all[i].rank() > 1;
        room_at.push_back(in_slot ? slots[static_cast<std::size_t>(unit.slot)] + used : rooms_.reserve(bytes));
        if (in_slot) used += device::Arena::piece_bytes(bytes);
        share_at.push_back(shares_.reserve(static_cast<std::size_t>(sharding.share(shapes_.all[i].count()).size()) *
                                           tensor::size_of(dtype)));
      }
    }
    rooms_.allocate({});
    shares_.allocate({});
    for (std::size_t i = 0; i < shapes_.all.size(); ++i) {
      whole.push_back({rooms_.at(room_at[i]), dtype, shapes_.all[i], 0});
      share.push_back({shares_.at(share_at[i]), dtype, {sharding.share(shapes_.all[i].count()).size()}, 0});
    }
  }

  std::vector<MutableView> whole, share;

 private:
  std::size_t slot_bytes(DType dtype) const {
    return device::Arena::piece_bytes(260 * tensor::size_of(dtype)) +
           device::Arena::piece_bytes(130 * tensor::size_of(dtype));
  }

  Shapes shapes_;
  device::Arena rooms_{"rooms"}, shares_{"shares"};
};

struct Case {
  int ranks;
  bool overlap;
  std::size_t bucket_bytes, in_place_bytes;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int ranks : {2, 3, 4}) {
    for (const bool overlap : {false, true}) {
      all.push_back({ranks, overlap, 4, 512});
      all.push_back({ranks, overlap, 1 << 20, 1 << 20});
      all.push_back({ranks, overlap, 1 << 20, 1});
    }
  }
  return all;
}

template <class Body>
void on_ranks(Body&& body) {
  for (const Case& c : cases()) {
    SCOPED_TRACE("ranks " + std::to_string(c.ranks) + ", overlap " + std::to_string(c.overlap) + ", bucket bytes " +
                 std::to_string(c.bucket_bytes) + ", in place from " + std::to_string(c.in_place_bytes));
    comm::run_ranks(
        c.ranks, [&](comm::Communicator& world) { body(world, c); }, kWatchdogSeconds);
  }
}

DataParallelOptions options_of(const Case& c) {
  return {.bucket_bytes = c.bucket_bytes, .in_place_bytes = c.in_place_bytes, .overlap = c.overlap};
}

// Adds a micro-batch's gradients unit by unit from the last to the first, as a backward pass does.
void backward(LayerShards& shards, Memory& gradients, int rank, int micro_batch) {
  const Shapes shapes;
  for (std::size_t u = shapes.units.size(); u-- > 0;) {
    const Unit& unit = shapes.units[u];
    shards.gradients_needed(unit.end - 1);
    for (std::size_t i = unit.begin; i < unit.end; ++i) {
      for (std::int64_t e = 0; e < gradients.whole[i].count(); ++e)
        gradients.whole[i].as<float>()[e] += value(rank, micro_batch, i, e);
    }
    if (u == 0) {
      shards.ready(1, 2);
      shards.ready(0, 1);
    } else {
      shards.ready(unit.begin, unit.end);
    }
  }
}

TEST(LayerShards, SharesOfGradientsAreTheSumsOverReplicasMicroBatchByMicroBatch) {
  on_ranks([](comm::Communicator& world, const Case& c) {
    const Sharding sharding = sharding_of(2, c.ranks, world.rank());
    Memory weights(DType::kF32, sharding), gradients(DType::kF32, sharding);
    LayerShards shards(world,
                       {.sharding = sharding,
                        .units = Shapes().units,
                        .weights = weights.whole,
                        .gradients = gradients.whole,
                        .weight_shares = {},
                        .gradient_shares = gradients.share},
                       options_of(c));
    for (int m = 0; m < kMicroBatches; ++m) backward(shards, gradients, world.rank(), m);
    shards.finish();
    for (std::size_t i = 0; i < gradients.whole.size(); ++i) {
      const Range share = sharding.share(gradients.whole[i].count());
      for (std::int64_t e = share.begin; e < share.end; ++e) {
        ASSERT_EQ(gradients.share[i].as<float>()[e - share.begin], expected_sum(c.ranks, i, e))
            << "parameter " << i << ", element " << e;
      }
      const auto* room = gradients.whole[i].as<float>();
      EXPECT_TRUE(std::all_of(room, room + gradients.whole[i].count(), [](float x) { return x == 0.0f; })) << i;
    }
  });
}

// The bits that the owner of a weight's element gives it.
std::uint16_t bits_of(int version, std::size_t parameter, std::int64_t element) {
  return static_cast<std::uint16_t>(version * 977 + static_cast<int>(parameter) * 4099 +
                                    static_cast<int>(element) * 31);
}

void set_shares(Memory& weights, const Sharding& sharding, int version) {
  for (std::size_t i = 0; i < weights.whole.size(); ++i) {
    const Range share = sharding.share(weights.whole[i].count());
    for (std::int64_t e = share.begin; e < share.end; ++e)
      weights.share[i].as<std::uint16_t>()[e - share.begin] = bits_of(version, i, e);
  }
}

void expect_whole(const Memory& weights, const Unit& unit, int version) {
  for (std::size_t i = unit.begin; i < unit.end; ++i) {
    for (std::int64_t e = 0; e < weights.whole[i].count(); ++e) {
      ASSERT_EQ(weights.whole[i].as<std::uint16_t>()[e], bits_of(version, i, e)) << "weight " << i << ", element " << e;
    }
  }
}

// There and back through the layers, and again after an update.
TEST(LayerShards, EveryUnitsWeightsAreThereWhileAPassIsAtIt) {
  on_ranks([](comm::Communicator& world, const Case& c) {
    const Sharding sharding = sharding_of(3, c.ranks, world.rank());
    device::Stream stream(ops::cpu_backend(), 1);
    Memory weights(DType::kBF16, sharding), gradients(DType::kF32, sharding);
    LayerShards shards(world,
                       {.sharding = sharding,
                        .units = Shapes().units,
                        .weights = weights.whole,
                        .gradients = gradients.whole,
                        .weight_shares = weights.share,
                        .gradient_shares = gradients.share},
                       options_of(c));
    const std::vector<Unit> units = Shapes().units;
    for (int version = 1; version <= 2; ++version) {
      set_shares(weights, sharding, version);
      shards.weights_changed(stream);
      for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
        for (std::size_t u = 0; u < units.size(); ++u) {
          shards.weights_needed(units[u].begin, u + 1 < units.size() ? units[u + 1].begin : LayerShards::kNone);
          expect_whole(weights, units[u], version);
        }
        for (std::size_t u = units.size(); u-- > 0;) {
          shards.weights_needed(units[u].begin, u > 0 ? units[u - 1].begin : LayerShards::kNone);
          expect_whole(weights, units[u], version);
        }
      }
      shards.finish();
    }
  });
}

TEST(LayerShards, UnderZeroTwoChangedWeightsReachAll) {
  on_ranks([](comm::Communicator& world, const Case& c) {
    const Sharding sharding = sharding_of(2, c.ranks, world.rank());
    device::Stream stream(ops::cpu_backend(), 1);
    Memory gradients(DType::kF32, sharding);
    // Whole weights: rooms in which nobody takes turns.
    std::vector<Unit> own = Shapes().units;
    device::Arena arena("weights");
    std::vector<std::size_t> at;
    const Shapes shapes;
    for (const tensor::Shape& shape : shapes.all)
      at.push_back(arena.reserve(static_cast<std::size_t>(shape.count()) * 2));
    arena.allocate({});
    std::vector<MutableView> whole;
    for (std::size_t i = 0; i < at.size(); ++i) whole.push_back({arena.at(at[i]), DType::kBF16, shapes.all[i], 0});
    LayerShards shards(world,
                       {.sharding = sharding,
                        .units = own,
                        .weights = whole,
                        .gradients = gradients.whole,
                        .weight_shares = {},
                        .gradient_shares = gradients.share},
                       options_of(c));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const Range share = sharding.share(whole[i].count());
      for (std::int64_t e = share.begin; e < share.end; ++e) whole[i].as<std::uint16_t>()[e] = bits_of(1, i, e);
    }
    shards.weights_changed(stream);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (std::int64_t e = 0; e < whole[i].count(); ++e)
        ASSERT_EQ(whole[i].as<std::uint16_t>()[e], bits_of(1, i, e)) << "weight " << i << ", element " << e;
    }
  });
}

TEST(LayerShards, AGradientThatIsReportedWithoutItsBucketsOthersIsOurFault) {
  comm::run_ranks(
      2,
      [](comm::Communicator& world) {
        const Sharding sharding = sharding_of(2, 2, world.rank());
        Memory weights(DType::kF32, sharding), gradients(DType::kF32, sharding);
        LayerShards shards(world,
                           {.sharding = sharding,
                            .units = Shapes().units,
                            .weights = weights.whole,
                            .gradients = gradients.whole,
                            .weight_shares = {},
                            .gradient_shares = gradients.share},
                           {});
        shards.ready(0, 1);
        EXPECT_THROW(shards.finish(), InternalError);
      },
      kWatchdogSeconds);
}

}  // namespace
}  // namespace convoy::parallel

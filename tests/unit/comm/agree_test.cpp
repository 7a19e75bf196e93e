// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/agree.h"

#include <atomic>

#include "libcore/base/error.h"
#include "libcore/comm/self.h"
#include "libcore/comm/threads.h"
#include "libcore/ops/backend.h"

namespace convoy::comm {
namespace {

TEST(Together, GoesOnWhereNoRankFails) {
  std::atomic<int> ran = 0;
  run_ranks(3, [&ran](Communicator& world) {
    device::Stream host(ops::cpu_backend(), 1);
    together(world, host, [&ran] { ++ran; });
  });
  EXPECT_EQ(ran, 3);
}

// What every rank throws if the ranks of `failing` do.
std::vector<std::string> told(int ranks, const std::vector<int>& failing) {
  std::vector<std::string> messages(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](Communicator& world) {
    device::Stream host(ops::cpu_backend(), 1);
    world.set_nodes({"n01", "n01", "n02"});
    std::string& mine = messages[static_cast<std::size_t>(world.rank())];
    try {
      together(world, host, [&] {
        if (std::ranges::find(failing, world.rank()) == failing.end()) return;
        if (world.rank() == 1) throw DataError("shard 1 is torn");
        throw EnvironmentError("the disk is full");
      });
    } catch (const AgreedError& error) {
      mine = std::to_string(static_cast<int>(error.code())) + " " + error.what();
    }
    world.barrier();  // all are still in step
  });
  return messages;
}

TEST(Together, EveryRankThrowsWhatTheFirstThatFailedMet) {
  EXPECT_THAT(told(3, {2}), testing::Each("7 rank 2 (node n02): the disk is full"));
  EXPECT_THAT(told(3, {1, 2}), testing::Each("3 rank 1 (node n01): shard 1 is torn"));
}

TEST(Together, NoRankIsNamedForWhatAllMet) { EXPECT_THAT(told(3, {0, 1, 2}), testing::Each("7 the disk is full")); }

TEST(Together, OneRankAloneThrowsItsOwnError) {
  device::Stream host(ops::cpu_backend(), 1);
  EXPECT_THROW(together(*make_self(), host, [] { throw DataError("torn"); }), DataError);
}

}  // namespace
}  // namespace convoy::comm

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

TEST(Agree, SaysWhoFailedAndWhetherAllDidAlike) {
  run_ranks(3, [](Communicator& world) {
    device::Stream host(ops::cpu_backend(), 1);
    EXPECT_THAT(agree(world, host, 0, "").failed, testing::IsEmpty());
    const Verdict some = agree(world, host, world.rank() == 0 ? 0 : 7, "rank " + std::to_string(world.rank()));
    EXPECT_THAT(some.failed, testing::ElementsAre(1, 2));
    EXPECT_EQ(some.code, 7);
    EXPECT_EQ(some.message, "rank 1");
    EXPECT_FALSE(some.alike);
    EXPECT_FALSE(agree(world, host, 7, "rank " + std::to_string(world.rank())).alike) << "each says its own";
    EXPECT_TRUE(agree(world, host, 7, "full").alike);
  });
}

TEST(Texts, ReachTheRootAloneInRankOrder) {
  run_ranks(3, [](Communicator& world) {
    device::Stream host(ops::cpu_backend(), 1);
    const std::string mine(static_cast<std::size_t>(world.rank()) * 2, static_cast<char>('a' + world.rank()));
    const std::vector<std::string> all = {"", "bb", "cccc"};
    EXPECT_EQ(gather_texts(world, host, mine, 1), world.rank() == 1 ? all : std::vector<std::string>{});
  });
}

TEST(Together, OneRankAloneThrowsItsOwnError) {
  device::Stream host(ops::cpu_backend(), 1);
  EXPECT_THROW(together(*make_self(), host, [] { throw DataError("torn"); }), DataError);
}

}  // namespace
}  // namespace convoy::comm

// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/agreement.h"

#include <atomic>

#include "libcore/base/error.h"
#include "libcore/comm/self.h"
#include "libcore/comm/threads.h"

namespace convoy::train {
namespace {

using testing::ElementsAre;

// What `work` makes each rank of three throw: code and message; "" where it throws nothing.
std::vector<std::string> outcomes(const std::function<void(Agreement&)>& work) {
  std::vector<std::string> all(3);
  comm::run_ranks(3, [&](comm::Communicator& world) {
    Agreement agreement(world, "node" + std::to_string(world.rank()));
    try {
      work(agreement);
    } catch (const Error& error) {
      EXPECT_TRUE(agreement.is_shared());
      all[static_cast<std::size_t>(world.rank())] = std::to_string(static_cast<int>(error.code())) + " " + error.what();
    }
  });
  return all;
}

TEST(Agreement, TheLowestFailingRankIsNamedOnAll) {
  const std::string said = "7 rank 1 on node1: full";
  EXPECT_THAT(outcomes([](Agreement& agreement) {
                agreement.all([&] {
                  if (agreement.world().rank() == 1) throw EnvironmentError("full");
                  if (agreement.world().rank() == 2) throw DataError("torn");
                });
              }),
              ElementsAre(said, said, said));
}

TEST(Agreement, WhatAllSayAlikeIsSaidWithoutARank) {
  EXPECT_THAT(outcomes([](Agreement& agreement) { agreement.all([] { throw ConfigError("wrong"); }); }),
              ElementsAre("2 wrong", "2 wrong", "2 wrong"));
}

TEST(Agreement, OnlyRankZeroWorksAndAllLearnOfItsFailure) {
  std::atomic<int> worked{0};
  EXPECT_THAT(outcomes([&](Agreement& agreement) {
                agreement.root([&] {
                  ++worked;
                  throw DataError("none");
                });
              }),
              ElementsAre("3 none", "3 none", "3 none"));
  EXPECT_EQ(worked, 1);
}

TEST(Agreement, NothingIsThrownWhereNothingFails) {
  EXPECT_THAT(outcomes([](Agreement& agreement) {
                agreement.all([] {});
                agreement.root([] {});
                agreement.alike([] {});
              }),
              ElementsAre("", "", ""));
}

TEST(Agreement, ALostPeerIsNotKnownToAll) {
  const std::unique_ptr<comm::Communicator> world = comm::make_self();
  Agreement agreement(*world, "here");
  EXPECT_THROW(agreement.alike([] { throw ClusterError("rank 3 is missing"); }), ClusterError);
  EXPECT_FALSE(agreement.is_shared());
}

TEST(Texts, AreGatheredInRankOrderAndMayBeEmpty) {
  comm::run_ranks(3, [](comm::Communicator& world) {
    const std::string mine(static_cast<std::size_t>(world.rank()) * 3, static_cast<char>('a' + world.rank()));
    EXPECT_THAT(gather_texts(world, mine), ElementsAre("", "bbb", "cccccc"));
    EXPECT_EQ(broadcast_text(world, mine, 2), "cccccc");
    EXPECT_EQ(broadcast_text(world, mine, 0), "");
  });
}

}  // namespace
}  // namespace convoy::train

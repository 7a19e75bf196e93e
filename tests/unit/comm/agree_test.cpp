// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/agree.h"

#include "libcore/comm/threads.h"
#include "libcore/ops/backend.h"

namespace convoy::comm {
namespace {

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

}  // namespace
}  // namespace convoy::comm

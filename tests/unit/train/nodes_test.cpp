// SPDX-License-Identifier: Apache-2.0
// Runs whose ranks say that they are on several nodes.
#include "tests/unit/train/layout_runs.h"

namespace convoy::train {
namespace {

// Two ranks a node.
void train_on_nodes(const config::RunOptions& options, int ranks) {
  comm::run_ranks(ranks, [&](comm::Communicator& world) {
    const int rank = world.rank();
    const Rank self{world, {"n" + std::to_string(rank / 2), 1 + rank, "", "here"}, tiny_machine(ranks)};
    EXPECT_EQ(run(options, self, {{"convoy-train", "run"}, "[train]\n", {}}), ExitCode::kDone);
  });
}

TEST(Nodes, TensorRanksStayOnOneUnlessTheyMayNot) {
  const TmpDir folder;
  config::RunOptions options = with_layout(tiny_options(folder), {"tp4", 4, 1, 1});
  try {
    train_on_nodes(options, 4);
    FAIL() << "four tensor-parallel ranks trained on two nodes";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("ranks 0, 1, 2, 3 share every matrix but are on nodes n0, n1"));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("rank 0 on")));  // all found the same
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
  options.layout.tensor_across_nodes = true;
  train_on_nodes(options, 4);
  EXPECT_EQ(rows_of(folder / "run", "step").size(), 6u);
}

TEST(Nodes, TwoTensorRanksOfANodeNeedNoLeave) {
  const TmpDir folder;
  train_on_nodes(with_layout(tiny_options(folder), {"tp2_dp2", 2, 1, 2}), 4);
}

}  // namespace
}  // namespace convoy::train

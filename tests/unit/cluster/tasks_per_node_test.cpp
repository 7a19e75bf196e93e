// SPDX-License-Identifier: Apache-2.0
#include "libcore/cluster/tasks_per_node.h"

namespace convoy::cluster {
namespace {

TEST(TasksOnNode, ReadsRepeatsAndSingles) {
  EXPECT_EQ(tasks_on_node("4", 0), 4);
  const std::vector<int> expected = {2, 2, 1, 8, 8, 8};
  for (int node = 0; node < 6; ++node)
    EXPECT_EQ(tasks_on_node("2(x2),1,8(x3)", node), expected[static_cast<std::size_t>(node)]);
}

TEST(TasksOnNode, KnowsNothingPastTheEndOrOfAnotherText) {
  EXPECT_EQ(tasks_on_node("2(x2),1", 3), std::nullopt);
  for (const char* text : {"", "x", "2(x", "2(x2", "2(x0)", "0", "-1", "2;3"})
    EXPECT_EQ(tasks_on_node(text, 1), std::nullopt) << text;
}

}  // namespace
}  // namespace convoy::cluster

// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/node_problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace convoy::parallel {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// `each` neighbouring ranks a node: n0 n0 n1 n1 ..
std::vector<std::string> nodes(int ranks, int each) {
  std::vector<std::string> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back("n" + std::to_string(rank / each));
  return all;
}

TEST(NodeProblems, AGroupOnOneNodeIsNone) {
  EXPECT_EQ(tensor_across_nodes_problem({}, nodes(1, 1)), "");
  EXPECT_EQ(tensor_across_nodes_problem({.data = 8}, nodes(8, 1)), "");
  EXPECT_EQ(tensor_across_nodes_problem({.pipeline = 4, .data = 2}, nodes(8, 2)), "");
  EXPECT_EQ(tensor_across_nodes_problem({.tensor = 4, .pipeline = 2, .data = 2}, nodes(16, 4)), "");
  EXPECT_EQ(tensor_across_nodes_problem({.tensor = 2, .pipeline = 2, .data = 2}, nodes(8, 8)), "");
}

TEST(NodeProblems, AGroupThatIsWiderThanANodeIsNamedWithTheWidestThatFits) {
  EXPECT_THAT(tensor_across_nodes_problem({.tensor = 8, .data = 2}, nodes(16, 4)),
              AllOf(HasSubstr("--tensor-parallel 8:"), HasSubstr("ranks 0, 1, 2, 3, 4, 5, 6, 7 share"),
                    HasSubstr("nodes n0, n1,"), HasSubstr("nearest legal value: 4;"),
                    HasSubstr("--allow-tensor-parallel-across-nodes"), Not(HasSubstr("--rank-order"))));
  // Six ranks a node: groups of four begin on every second node's third rank.
  EXPECT_THAT(tensor_across_nodes_problem({.tensor = 4, .data = 3}, nodes(12, 6)),
              AllOf(HasSubstr("ranks 4, 5, 6, 7 share"), HasSubstr("nearest legal value: 2;")));
  EXPECT_THAT(tensor_across_nodes_problem({.tensor = 2, .data = 2}, nodes(4, 1)), HasSubstr("nearest legal value: 1;"));
}

TEST(NodeProblems, ARankOrderThatPutsAGroupAcrossNodesIsNamedWithTheOneThatDoesNot) {
  Layout layout{.tensor = 2, .pipeline = 2, .data = 2, .rank_order = rank_order_of("dp,pp,tp")};
  EXPECT_THAT(tensor_across_nodes_problem(layout, nodes(8, 4)),
              AllOf(HasSubstr("--tensor-parallel 2 with --rank-order dp,pp,tp: ranks 0, 4 share"),
                    HasSubstr(", or --rank-order tp,pp,dp;")));
  layout.rank_order = rank_order_of("dp,tp,pp");
  EXPECT_EQ(tensor_across_nodes_problem(layout, nodes(8, 4)), "");
}

// As a launcher that deals ranks out in turn places them.
TEST(NodeProblems, RanksThatAreDealtOutInTurnAreSeen) {
  EXPECT_THAT(tensor_across_nodes_problem({.tensor = 2, .data = 2}, {"a", "b", "a", "b"}),
              AllOf(HasSubstr("ranks 0, 1 share"), HasSubstr("nodes a, b,")));
}

}  // namespace
}  // namespace convoy::parallel

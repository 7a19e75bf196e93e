// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/watchdog.h"

namespace convoy::comm {
namespace {

using Members = std::vector<int>;

const std::vector<std::string> kNodes = {"n01", "n01", "n01", "n02", "n02", "n02"};
const Call kSum = {"all_reduce", 123};

Report at(int rank, const Call& call, const Members& members, const char* group) {
  return make_report(rank, call, members, group);
}

TEST(Watchdog, NamesTheRankThatSaysNothing) {
  const Members data = {1, 3, 5};
  const std::vector<Report> heard = {at(3, kSum, data, "data"), at(0, {"barrier", 4}, {0, 1, 2}, "tensor")};
  EXPECT_EQ(
      conclusion(at(1, kSum, data, "data"), data, 6, heard, 60, &kNodes),
      "rank 5 (node n02) did not arrive at all_reduce #123 of group data within 60 s; waiting there: ranks 1 (node "
      "n01) and 3 (node n02)");
}

TEST(Watchdog, TellsWhereTheOthersOfTheGroupAre) {
  const Members data = {1, 3, 5};
  const std::vector<Report> heard = {at(3, {"barrier", 4}, {3, 4}, "tensor")};
  EXPECT_EQ(
      conclusion(at(1, kSum, data, "data"), data, 6, heard, 1.5, nullptr),
      "rank 5 did not arrive at all_reduce #123 of group data within 1.5 s; waiting there: rank 1; rank 3 waits at "
      "barrier #4 of group tensor");
}

TEST(Watchdog, LooksForTheCauseInTheWholeWorld) {
  const Members data = {0, 2};
  const std::vector<Report> heard = {at(1, kSum, {1, 3}, "data"), at(2, {"all_reduce", 7}, {2, 3}, "tensor")};
  EXPECT_EQ(
      conclusion(at(0, kSum, data, "data"), data, 4, heard, 60, &kNodes),
      "rank 2 (node n01) did not arrive at all_reduce #123 of group data within 60 s; waiting there: rank 0 (node "
      "n01); rank 2 (node n01) waits at all_reduce #7 of group tensor; no word came from rank 3 (node n02)");
}

// Groups of one name differ by their members, calls of one group by their number.
TEST(Watchdog, DoesNotTakeAnotherCallForTheSame) {
  const Members data = {0, 1};
  const Report mine = at(0, kSum, data, "data");
  EXPECT_TRUE(mine.same_call(at(1, kSum, data, "data")));
  EXPECT_FALSE(mine.same_call(at(1, {"all_reduce", 124}, data, "data")));
  EXPECT_FALSE(mine.same_call(at(1, {"barrier", 123}, data, "data")));
  EXPECT_FALSE(mine.same_call(at(1, kSum, {1, 2}, "data")));
  EXPECT_THAT(conclusion(mine, data, 2, {at(1, {"all_reduce", 124}, data, "data")}, 60, nullptr),
              testing::HasSubstr("every rank waits for another"));
}

TEST(Watchdog, NamesTheSenderOfAMessage) {
  const Members pipeline = {0, 4};
  const Report mine = at(4, {"receive", 2, 0}, pipeline, "pipeline");
  EXPECT_EQ(conclusion(mine, pipeline, 6, {}, 60, &kNodes),
            "rank 0 (node n01) did not take part in receive #2 from rank 0 of group pipeline within 60 s");
  EXPECT_THAT(
      conclusion(mine, pipeline, 6, {at(0, kSum, {0, 1}, "data")}, 60, nullptr),
      testing::HasSubstr("; rank 0 waits at all_reduce #123 of group data; no word came from ranks 1, 2, 3 and 5"));
}

TEST(Watchdog, KeepsLongNamesApartFromWhatFollows) {
  const std::string name(100, 'x');
  EXPECT_EQ(at(0, kSum, {0, 1}, name.c_str()).text(), "all_reduce #123 of group " + std::string(39, 'x'));
}

}  // namespace
}  // namespace convoy::comm

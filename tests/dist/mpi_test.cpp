// SPDX-License-Identifier: Apache-2.0
// The MPI backend, through the library that the programs load. Every job has a limit on its time.
#include <chrono>

#include "tests/support/mpi_launch.h"

namespace convoy {
namespace {

using support::mpi_call;
using support::ProgramResult;
using support::run_program;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// `ranks_said`: what the launcher is said to have started; `ranks` unless given.
ProgramResult run_case(const std::string& name, int ranks, int ranks_said = 0) {
  return run_program(mpi_call(ranks, {CONVOY_RANKS, name, std::to_string(ranks_said == 0 ? ranks : ranks_said)}));
}

TEST(MpiWorld, GivesTheBitsOfTheThreadWorld) {
  const ProgramResult result = run_case("collectives", 4);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(result.out, "");
}

TEST(MpiWorld, CutsMessagesIntoPiecesWithoutAChangeOfBits) {
  const ProgramResult result = run_case("pieces", 3);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(result.out, "");
}

TEST(MpiWorld, EndJobGivesItsExitCodeToTheLauncher) {
  const ProgramResult result = run_case("end-job", 3);
  EXPECT_EQ(result.exit_code, 75) << result.out << result.err;
}

// 124 would be the time limit.
TEST(MpiWorld, AnExceptionOfOneRankEndsAllOfThem) {
  const ProgramResult result = run_case("throw", 3);
  EXPECT_EQ(result.exit_code, 3) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("error: only rank 1 found this"));
}

TEST(MpiWorld, AKilledRankEndsAllOfThem) {
  const ProgramResult result = run_case("die", 3);
  EXPECT_EQ(result.exit_code, 137) << result.out << result.err;
}

TEST(MpiWorld, OfAnotherSizeThanTheLaunchersIsRefused) {
  const ProgramResult result = run_case("collectives", 2, 8);
  EXPECT_EQ(result.exit_code, 5) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("the launcher started 8 ranks, but MPI connects 2"));
}

// Started without mpirun, MPI connects one rank: what a launcher of another MPI looks like.
TEST(MpiWorld, ARankThatIsStartedAloneIsToldHowToStartIt) {
  const ProgramResult result = run_program({.arguments = {"timeout", "60", CONVOY_RANKS, "collectives", "2"}});
  EXPECT_EQ(result.exit_code, 5) << result.out << result.err;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("the launcher started 2 ranks, but MPI connects 1"), HasSubstr("srun --mpi=pmix")));
}

// The error comes out of the loaded library and is caught as the program's own type.
TEST(MpiWatchdog, NamesTheMissingRankAndTheCollective) {
  const auto start = std::chrono::steady_clock::now();
  const ProgramResult result = run_case("hang", 4);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(result.exit_code, 5) << result.out << result.err;
  // A rank that hears of another's alarm first has itself waited less than the watchdog's 1.5 s, and says so.
  EXPECT_THAT(result.err,
              ContainsRegex("rank 0 says: rank 2 \\(node n02\\) did not arrive at all_reduce #2 of group data within "
                            "[01]\\.[0-9] s; waiting there: rank 0 \\(node n01\\)"));
  EXPECT_THAT(result.err, Not(HasSubstr("of another type")));
  EXPECT_LT(took.count(), 30.0);
}

TEST(MpiWatchdog, SaysWhereTheOthersWait) {
  const ProgramResult result = run_case("hang-elsewhere", 4);
  EXPECT_EQ(result.exit_code, 5) << result.out << result.err;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("rank 0 says: rank 2 (node"), HasSubstr("did not arrive at all_reduce #1 of group data"),
                    HasSubstr("waits at all_reduce #1 of group tensor; no word came from rank 3 (node")));
}

TEST(MpiWatchdog, NamesTheSenderOfAMessageThatDoesNotCome) {
  const ProgramResult result = run_case("message", 2);
  EXPECT_EQ(result.exit_code, 5) << result.out << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("rank 0 says: rank 1 (node"),
                                HasSubstr("did not take part in receive #1 from rank 1 of group world")));
}

}  // namespace
}  // namespace convoy

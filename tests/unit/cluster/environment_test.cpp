// SPDX-License-Identifier: Apache-2.0
#include "libcore/cluster/environment.h"

#include <sched.h>

#include <cstdlib>
#include <map>

#include "libcore/base/error.h"

namespace convoy::cluster {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Lookup fixed(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

void expect_launch(const Launch& launch, const std::string& launcher, std::array<int, 4> ranks) {
  EXPECT_EQ(launch.launcher, launcher);
  EXPECT_EQ((std::array<int, 4>{launch.rank, launch.world, launch.local_rank, launch.local_size}), ranks);
}

TEST(ReadLaunch, OfAProcessStartedAloneIsOneRank) {
  const Launch launch = read_launch(fixed({}));
  expect_launch(launch, "", {0, 1, 0, 1});
  EXPECT_FALSE(launch.node.empty());
  EXPECT_EQ(launch.job, "");
}

// The variables that Slurm sets in a step of `srun -N2 --ntasks-per-node=2`.
TEST(ReadLaunch, ReadsAStepOfSrun) {
  const Launch launch = read_launch(fixed({{"SLURM_STEP_ID", "0"},
                                           {"SLURM_STEP_NUM_TASKS", "5"},
                                           {"SLURM_NTASKS", "8"},
                                           {"SLURM_PROCID", "4"},
                                           {"SLURM_LOCALID", "1"},
                                           {"SLURM_NODEID", "1"},
                                           {"SLURM_STEP_TASKS_PER_NODE", "3,2"},
                                           {"SLURMD_NODENAME", "n02"},
                                           {"SLURM_JOB_ID", "17"}}));
  expect_launch(launch, "srun", {4, 5, 1, 2});
  EXPECT_EQ(launch.node, "n02");
  EXPECT_EQ(launch.job, "17");
}

TEST(ReadLaunch, OfABatchScriptsOwnProcessIsOneRank) {
  expect_launch(read_launch(fixed({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "17"}})), "",
                {0, 1, 0, 1});
}

TEST(ReadLaunch, PrefersMpirunToTheSlurmStepOfItsDaemon) {
  const Launch launch = read_launch(fixed({{"SLURM_STEP_ID", "0"},
                                           {"SLURM_STEP_NUM_TASKS", "2"},
                                           {"SLURM_PROCID", "0"},
                                           {"SLURM_LOCALID", "0"},
                                           {"OMPI_COMM_WORLD_SIZE", "8"},
                                           {"OMPI_COMM_WORLD_RANK", "5"},
                                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                           {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}));
  expect_launch(launch, "mpirun", {5, 8, 1, 4});
}

TEST(ReadLaunch, ReadsPmi) {
  expect_launch(
      read_launch(fixed({{"PMI_SIZE", "4"}, {"PMI_RANK", "3"}, {"MPI_LOCALNRANKS", "2"}, {"MPI_LOCALRANKID", "1"}})),
      "pmi", {3, 4, 1, 2});
}

TEST(ReadLaunch, NamesTheElementOfAJobArray) {
  EXPECT_EQ(
      read_launch(fixed({{"SLURM_JOB_ID", "20"}, {"SLURM_ARRAY_JOB_ID", "17"}, {"SLURM_ARRAY_TASK_ID", "3"}})).job,
      "17_3");
}

TEST(ReadLaunch, InTheShellOfAnInteractiveJobIsOneRank) {
  // The step of `salloc` with LaunchParameters=use_interactive_step
  expect_launch(read_launch(fixed({{"SLURM_STEP_ID", "4294967290"},
                                   {"SLURM_STEP_NUM_TASKS", "2"},
                                   {"SLURM_PROCID", "0"},
                                   {"SLURM_JOB_ID", "17"}})),
                "", {0, 1, 0, 1});
}

std::string problem(std::map<std::string, std::string> variables) {
  const Lookup lookup = fixed(std::move(variables));
  return launch_problem(read_launch(lookup), lookup);
}

TEST(LaunchProblem, IsOneRankAloneInAJobOfSeveral) {
  EXPECT_THAT(problem({{"SLURM_JOB_ID", "17"}, {"SLURM_NTASKS", "4"}}),
              AllOf(HasSubstr("job 17 has 4 tasks"), HasSubstr("srun --mpi=pmix")));
  EXPECT_THAT(problem({{"SLURM_JOB_ID", "17"}, {"SLURM_JOB_NUM_NODES", "2"}}), HasSubstr("job 17 has 2 nodes"));
  EXPECT_EQ(problem({{"SLURM_JOB_ID", "17"}, {"SLURM_NTASKS", "1"}, {"SLURM_JOB_NUM_NODES", "1"}}), "");
  EXPECT_EQ(problem({{"SLURM_JOB_ID", "17"}}), "");
  EXPECT_EQ(problem({{"SLURM_NTASKS", "4"}}), "") << "left over from sbatch's options, outside of any job";
}

TEST(LaunchProblem, IsAStepWhoseTasksNothingConnects) {
  std::map<std::string, std::string> step = {{"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "0"},
                                             {"SLURM_PROCID", "1"},  {"SLURM_LOCALID", "1"},
                                             {"SLURM_NTASKS", "4"},  {"SLURM_STEP_NUM_TASKS", "4"}};
  EXPECT_THAT(problem(step), AllOf(HasSubstr("4 tasks of job 17"), HasSubstr("srun --mpi=pmix")));
  step["PMIX_RANK"] = "1";
  EXPECT_EQ(problem(step), "");
}

// `srun --ntasks=1` in a job of four is meant.
TEST(LaunchProblem, IsNotAStepOfOneTask) {
  EXPECT_EQ(problem({{"SLURM_JOB_ID", "17"},
                     {"SLURM_STEP_ID", "0"},
                     {"SLURM_PROCID", "0"},
                     {"SLURM_NTASKS", "4"},
                     {"SLURM_JOB_NUM_NODES", "2"},
                     {"SLURM_STEP_NUM_TASKS", "1"}}),
            "");
}

// `mpirun` inside a job: its daemon's step says --mpi=none.
TEST(LaunchProblem, IsNotMpirunInAJob) {
  EXPECT_EQ(problem({{"SLURM_JOB_ID", "17"},
                     {"SLURM_STEP_ID", "0"},
                     {"SLURM_PROCID", "0"},
                     {"SLURM_NTASKS", "4"},
                     {"OMPI_COMM_WORLD_SIZE", "4"},
                     {"OMPI_COMM_WORLD_RANK", "1"}}),
            "");
}

TEST(SpreadProblem, NamesANodeWithManyAndOneWithFew) {
  EXPECT_EQ(spread_problem({"n01"}), "");
  EXPECT_EQ(spread_problem({"n01", "n01", "n02", "n02"}), "");
  EXPECT_EQ(spread_problem({"n01", "n02", "n01", "n02"}), "");
  EXPECT_THAT(spread_problem({"n01", "n01", "n01", "n01", "n02"}),
              AllOf(HasSubstr("5 ranks"), HasSubstr("4 on n01, 1 on n02"), HasSubstr("2 ranks a node are 4")));
}

std::string refusal(std::map<std::string, std::string> variables) {
  try {
    read_launch(fixed(std::move(variables)));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(ReadLaunch, RefusesVariablesThatMakeNoSense) {
  EXPECT_THAT(refusal({{"OMPI_COMM_WORLD_SIZE", "four"}, {"OMPI_COMM_WORLD_RANK", "0"}}),
              HasSubstr("OMPI_COMM_WORLD_SIZE=four"));
  EXPECT_THAT(refusal({{"OMPI_COMM_WORLD_SIZE", "0"}, {"OMPI_COMM_WORLD_RANK", "0"}}), HasSubstr("at least 1"));
  EXPECT_THAT(refusal({{"PMI_SIZE", "4"}, {"PMI_RANK", "4"}}), HasSubstr("rank 4 of 4"));
}

TEST(Describe, NamesJobRankProcessAndNode) {
  Launch launch;
  launch.node = "n01";
  EXPECT_THAT(describe(launch), testing::MatchesRegex("process [0-9]+ on n01"));
  launch.job = "17";
  launch.rank = 3;
  launch.world = 8;
  EXPECT_THAT(describe(launch), AllOf(HasSubstr("job 17, rank 3 of 8, process "), HasSubstr(" on n01")));
}

TEST(AllowedCores, FollowTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(allowed_cores(), CPU_COUNT(&before));
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  sched_setaffinity(0, sizeof one, &one);
  EXPECT_EQ(allowed_cores(), 1);
  sched_setaffinity(0, sizeof before, &before);
}

TEST(RequestedThreads, ComeFromOmpNumThreads) {
  EXPECT_EQ(requested_threads(fixed({})), std::nullopt);
  EXPECT_EQ(requested_threads(fixed({{"OMP_NUM_THREADS", "4"}})), 4);
  EXPECT_EQ(requested_threads(fixed({{"OMP_NUM_THREADS", "4,2"}})), 4);
  for (const char* text : {"0", "-1", "x", "4x"})
    EXPECT_THROW(requested_threads(fixed({{"OMP_NUM_THREADS", text}})), ConfigError) << text;
}

TEST(DefaultThreads, ShareTheCores) {
  EXPECT_EQ(default_threads(8, 2), 4);
  EXPECT_EQ(default_threads(2, 4), 1);
}

TEST(ProcessEnvironment, IsTheRealOne) {
  ::setenv("CONVOY_TEST_VARIABLE", "x=y", 1);
  EXPECT_EQ(process_environment()("CONVOY_TEST_VARIABLE"), "x=y");
  ::unsetenv("CONVOY_TEST_VARIABLE");
  EXPECT_EQ(process_environment()("CONVOY_TEST_VARIABLE"), std::nullopt);
}

TEST(RanksSharing, CountsThoseWithACommonCore) {
  EXPECT_EQ(ranks_sharing("0-3", {"0-3", "0-3", "4-7"}), 2);
  EXPECT_EQ(ranks_sharing("0", {"0", "1", "2", "3"}), 1);
  EXPECT_EQ(ranks_sharing("0-1,8", {"0-1,8", "8-9", "2-3", "1"}), 3);
  EXPECT_EQ(ranks_sharing("", {"", ""}), 2);
}

TEST(CoreList, NamesAsManyCoresAsAreAllowed) {
  EXPECT_FALSE(core_list().empty());
  EXPECT_EQ(ranks_sharing(core_list(), {core_list()}), 1);
}

}  // namespace
}  // namespace convoy::cluster

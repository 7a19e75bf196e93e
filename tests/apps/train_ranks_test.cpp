// SPDX-License-Identifier: Apache-2.0
// convoy-train under mpirun: a run, a stop by a signal to one rank, lost and hanging ranks, and going on after each.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "libcore/checkpoint/checkpoint.h"
#include "tests/apps/train_program.h"
#include "tests/support/megatron_pair.h"
#include "tests/support/mpi_launch.h"
#include "tests/support/tmp_dir.h"
#include "tests/support/trace_files.h"

namespace convoy::apps {
namespace {

using nlohmann::json;
using support::ProgramResult;
using testing::AllOf;
using testing::HasSubstr;

constexpr int kRanks = 4;
constexpr int kSecondsToBeGone = 60;  // what a lost rank may cost

class Ranks : public testing::Test {
 protected:
  Ranks() {
    std::vector<std::int32_t> tokens;
    for (std::int32_t i = 0; i < 3000; ++i) tokens.push_back(i * 7 % 250);
    support::write_pair(folder_ / "data", tokens, {3000});
  }

  std::vector<std::string> arguments(const std::string& run, const std::vector<std::string>& more) const {
    std::vector<std::string> all =
        tiny_run(folder_ / "data", folder_ / run,
                 {"--steps", "12", "--lr", "1e-3", "--global-batch-size", "8", "--micro-batch-size", "2",
                  "--checkpoint-every", "4", "--tensor-parallel", "2", "--zero", "1"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  ProgramResult train(const std::string& run, const std::vector<std::string>& more = {}, int seconds = 120) const {
    return support::run_program(support::mpi_call(kRanks, arguments(run, more), seconds));
  }

  json status(const std::string& run) const { return json::parse(support::content_of(folder_ / run / "status.json")); }
  std::string metrics(const std::string& run) const { return support::content_of(folder_ / run / "metrics.jsonl"); }
  std::string digest(const std::string& run) const {
    return checkpoint::Checkpoint(folder_ / run / "checkpoints/step_000000012").digest();
  }

  // The processes of rank `rank` of the run, by what the launcher put into their environment.
  int process_of(const std::string& run, int rank) const {
    const std::string out = (folder_ / run).string(), variable = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const std::string command = words_of(entry.path() / "cmdline"), environment = words_of(entry.path() / "environ");
      if (command.starts_with(program("convoy-train")) && command.find('\n' + out + '\n') != std::string::npos &&
          environment.find('\n' + variable + '\n') != std::string::npos)
        return std::stoi(name);
    }
    return -1;
  }

  // A line a word.
  static std::string words_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::string words((std::istreambuf_iterator<char>(in)), {});
    for (char& c : words) c = c == '\0' ? '\n' : c;
    return words;
  }

  bool wait_for_step(const std::string& run, int step) const {
    const std::string sign = "\"step\":" + std::to_string(step) + ",";
    for (int i = 0; i < 600; ++i) {
      if (std::filesystem::exists(folder_ / run / "metrics.jsonl") && metrics(run).find(sign) != std::string::npos)
        return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

  support::TmpDir folder_;
};

TEST_F(Ranks, ASignalToOneStopsAllAndTheSameCommandGoesOnToTheByte) {
  const ProgramResult whole = train("whole");
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_THAT(whole.err, AllOf(HasSubstr("(dp, pp, tp)"), HasSubstr("(1, 0, 1)")));
  // Slow enough that a signal comes before the end.
  const std::vector<std::string> slow = {"--fault", "slow:rank=1,sleep=300ms,phase=data"};
  auto running = std::async(std::launch::async, [&] { return train("parts", slow); });
  ASSERT_TRUE(wait_for_step("parts", 2));
  const int process = process_of("parts", 3);
  ASSERT_GT(process, 0);
  ASSERT_EQ(::kill(process, SIGTERM), 0);
  const ProgramResult stopped = running.get();
  EXPECT_EQ(stopped.exit_code, 75) << stopped.err;
  EXPECT_EQ(status("parts")["state"], "stopped");
  EXPECT_THAT(status("parts")["reason"].get<std::string>(), HasSubstr("TERM"));
  EXPECT_LT(status("parts")["step"].get<int>(), 12);
  const ProgramResult resumed = train("parts");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(metrics("parts"), metrics("whole"));
  EXPECT_EQ(digest("parts"), digest("whole"));
}

// Four ranks of two replicas lose one; one replica goes on.
TEST_F(Ranks, UnderReductionTreeHalfOfTheRanksGoOnToTheByte) {
  const std::vector<std::string> tree = {"--reduction", "tree", "--micro-batch-size", "1"};
  ASSERT_EQ(train("whole", tree).exit_code, 0);
  std::vector<std::string> lost = tree;
  lost.insert(lost.end(), {"--fault", "kill:step=7,rank=3", "--watchdog-seconds", "10"});
  EXPECT_NE(train("parts", lost).exit_code, 0);
  const ProgramResult rest = support::run_program(support::mpi_call(kRanks / 2, arguments("parts", tree), 120));
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(metrics("parts"), metrics("whole"));
  EXPECT_EQ(digest("parts"), digest("whole"));
}

// Nodes that share the data alone: each rank has a folder and a cache of its own, and leaves nothing beside the data.
TEST_F(Ranks, OfDifferentFoldersTrainOnTheSameSamplesWithoutAFileBesideTheData) {
  ASSERT_EQ(train("whole", {"--log-samples"}).exit_code, 0);
  const std::string script = "mkdir -p \"$0\"/node$OMPI_COMM_WORLD_RANK && cd \"$0\"/node$OMPI_COMM_WORLD_RANK && export HOME=$PWD TMPDIR=$PWD "
                             "XDG_CACHE_HOME=$PWD && exec \"$@\"";
  std::vector<std::string> all = {"bash", "-c", script, folder_.path().string()};
  const std::vector<std::string> run = arguments("apart", {"--log-samples"});
  all.insert(all.end(), run.begin(), run.end());
  const ProgramResult apart = support::run_program(support::mpi_call(kRanks, all));
  ASSERT_EQ(apart.exit_code, 0) << apart.err;
  EXPECT_EQ(metrics("apart"), metrics("whole"));
  EXPECT_THAT(folder_.names(), testing::ElementsAre("apart", "data.bin", "data.idx", "node0", "node1", "node2", "node3", "whole"));
  for (const char* node : {"node0", "node1", "node2", "node3"}) {
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / node)) << node;
  }
}

TEST_F(Ranks, EveryRankLeavesATraceOfItsAttemptAndTheMetricsDoNotDependOnIt) {
  ASSERT_EQ(train("run", {"--trace-window", "5-6"}).exit_code, 0);
  std::vector<std::size_t> of_world;  // world collectives in the window, a rank
  for (int rank = 0; rank < kRanks; ++rank) {
    const support::TraceContent trace = support::read_trace(folder_ / "run/traces", rank);
    EXPECT_FALSE(trace.damage.any());
    EXPECT_EQ(trace.header.world, kRanks);
    EXPECT_EQ(trace.header.rank, rank);
    EXPECT_EQ(trace.header.at, (trace::Coordinates{rank % 2, 0, rank / 2}));
    EXPECT_EQ(trace.header.tensor, 2);
    EXPECT_EQ(trace.header.data, 2);
    ASSERT_EQ(trace.steps.size(), 12u);
    for (const trace::StepRecord& step : trace.steps) {
      std::uint64_t sum = 0;
      for (const trace::PhaseTime& phase : step.phases) sum += phase.wall_ns;
      EXPECT_EQ(sum, step.duration_ns);
      EXPECT_EQ((step.flags & trace::kSaved) != 0, step.step % 4 == 0);
      EXPECT_GT(step[trace::Phase::kTensorComm].wall_ns, 0u);
    }
    std::size_t count = 0;
    for (const trace::Event& event : trace.events) {
      EXPECT_TRUE(event.step == 5 || event.step == 6);
      if (event.group == 0) ++count;
    }
    of_world.push_back(count);
  }
  EXPECT_THAT(of_world, testing::AllOf(testing::Each(of_world[0]), testing::Each(testing::Ge(2u))));
  ASSERT_EQ(train("off", {"--trace", "off"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "off/traces"));
  EXPECT_EQ(metrics("off"), metrics("run"));
}

TEST_F(Ranks, AKilledRankEndsTheJobAndTheSameCommandResumes) {
  const std::vector<std::string> fault = {"--fault", "kill:step=7,rank=2"};
  const ProgramResult killed = train("run", fault, kSecondsToBeGone);
  EXPECT_EQ(killed.exit_code, 128 + SIGKILL)
      << "124: the other ranks were still there after " << kSecondsToBeGone << " seconds";
  EXPECT_THAT(killed.err, HasSubstr("rank 2"));
  EXPECT_EQ(process_of("run", 0), -1);
  const ProgramResult resumed = train("run", fault);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, AllOf(HasSubstr("step_000000004"), HasSubstr("has struck before")));
  EXPECT_EQ(status("run")["state"], "finished");
}

TEST_F(Ranks, AHangingRankIsNamedWithTheCollective) {
  const ProgramResult hanging =
      train("run", {"--fault", "hang:step=3,rank=1", "--watchdog-seconds", "5"}, kSecondsToBeGone);
  EXPECT_EQ(hanging.exit_code, 5);
  EXPECT_THAT(hanging.err, AllOf(HasSubstr("rank 1"), HasSubstr("all_reduce")));
  EXPECT_EQ(status("run")["state"], "failed");
  EXPECT_EQ(status("run")["exit_code"], 5);
}

TEST_F(Ranks, ASpoiledGradientSkipsTheStepOfAllAndTooManyInARowEndTheJob) {
  const ProgramResult skipped = train("skipped", {"--fault", "nan-gradient:step=3,rank=3"});
  EXPECT_EQ(skipped.exit_code, 0) << skipped.err;
  EXPECT_THAT(metrics("skipped"), HasSubstr("\"step\":12,\"update\":11,"));
  const ProgramResult ended = train("ended", {"--fault", "nan-gradient:step=6,rank=1", "--fault",
                                              "nan-gradient:step=7,rank=2", "--max-skipped-steps", "2"});
  EXPECT_EQ(ended.exit_code, 4) << ended.err;
  EXPECT_EQ(status("ended")["exit_code"], 4);
  EXPECT_EQ(status("ended")["last_checkpoint"], "checkpoints/step_000000004");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ended/checkpoints/step_000000008"));
  EXPECT_EQ(metrics("ended").find("\"step\":8,"), std::string::npos);
}

// Of two replicas of two tensor-parallel ranks: ranks 1 and 3 hold the same half.
TEST_F(Ranks, AFlippedBitIsFoundBeforeItIsSaved) {
  const ProgramResult flipped =
      train("run", {"--fault", "flip-bit:step=6,rank=3", "--check-replicas-every", "2"}, kSecondsToBeGone);
  EXPECT_EQ(flipped.exit_code, 4) << flipped.err;
  EXPECT_THAT(flipped.err, AllOf(HasSubstr("step 6: ranks that must hold the same do not"), HasSubstr("rank 1 (node "),
                                 HasSubstr("rank 3 (node "), HasSubstr("different values of the weight of model.")));
  EXPECT_EQ(status("run")["last_checkpoint"], "checkpoints/step_000000004");
  const ProgramResult resumed = train("run", {"--check-replicas-every", "2"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
}

TEST_F(Ranks, AnErrorIsToldOnceForTheJob) {
  const ProgramResult refused = train("run", {"--tensor-parallel", "3", "--warmup-steps", "13"}, 60);
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  const std::string sign = "--warmup-steps 13";
  const std::size_t first = refused.err.find(sign);
  ASSERT_NE(first, std::string::npos) << refused.err;
  EXPECT_EQ(refused.err.find(sign, first + 1), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

}  // namespace
}  // namespace convoy::apps

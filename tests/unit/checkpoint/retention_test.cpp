// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcore/base/error.h"
#include "libcore/base/host.h"
#include "libcore/checkpoint/hidden_names.h"
#include "libcore/checkpoint/save.h"
#include "tests/support/tmp_dir.h"

namespace convoy::checkpoint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(StepsToRemove, AreAllButTheLastOnes) {
  EXPECT_THAT(steps_to_remove({100, 200, 300, 400}, 2, 0), ElementsAre(100, 200));
  EXPECT_THAT(steps_to_remove({100, 200}, 2, 0), IsEmpty());
  EXPECT_THAT(steps_to_remove({}, 2, 0), IsEmpty());
}

TEST(StepsToRemove, AreNoneWithoutALimit) { EXPECT_THAT(steps_to_remove({1, 2, 3}, 0, 0), IsEmpty()); }

TEST(StepsToRemove, NeverHoldTheNewest) {
  EXPECT_THAT(steps_to_remove({3}, 1, 0), IsEmpty());
  EXPECT_THAT(steps_to_remove({1, 2, 3}, 1, 0), ElementsAre(1, 2));
}

TEST(StepsToRemove, AreOrderedAsNumbers) {
  EXPECT_THAT(steps_to_remove({1000000000, 999999999, 10000, 9000}, 1, 0), ElementsAre(9000, 10000, 999999999));
}

TEST(StepsToRemove, SpareThoseThatKeepEveryDivides) {
  EXPECT_THAT(steps_to_remove({100, 150, 200, 250, 300}, 1, 100), ElementsAre(150, 250));
}

// A run that went on from step 10 while 1000 was there: 10 must not go because 1000 is newer.
TEST(StepsToRemove, DoNotCountTheFutureThatARunLeft) {
  EXPECT_THAT(steps_to_remove({5, 10, 1000}, 1, 0, 10), ElementsAre(5));
}

TEST(HiddenNames, SayWhoMadeThem) {
  const Path path = hidden_sibling("/runs/a/checkpoints/step_000000010", Hidden::kTemporary);
  EXPECT_EQ(path.parent_path(), "/runs/a/checkpoints");
  const auto name = parse_hidden_name(path.filename().string());
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->host, host_name());
  EXPECT_EQ(name->pid, ::getpid());
  EXPECT_EQ(name->kind, Hidden::kTemporary);
  const auto trash = parse_hidden_name(".step_000000010.node-1.site.org.77-3.trash");
  ASSERT_TRUE(trash.has_value());
  EXPECT_EQ(trash->host, "node-1.site.org");
  EXPECT_EQ(trash->pid, 77);
  EXPECT_EQ(trash->kind, Hidden::kTrash);
}

TEST(HiddenNames, AreNothingElse) {
  for (const char* name : {"step_000000010", ".step_000000010.tmp", ".step_000000010.77-3.tmp", ".step_10.h.77-3.tmp",
                           ".step_000000010.h.77.tmp", ".step_000000010.h.-1-3.tmp", ".step_000000010.h.77-3x.tmp",
                           ".step_000000010.h.77-3", "step_000000010.h.77-3.tmp", ".x.h.77-3.tmp", ""})
    EXPECT_FALSE(parse_hidden_name(name).has_value()) << name;
}

// The number of a process that has ended.
pid_t dead_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(Leftovers, OfDeadProcessesGoAndNothingElse) {
  const support::TmpDir tmp;
  const std::string dead = fmt::format(".step_000000020.{}.{}-0.tmp", host_name(), dead_process());
  const std::string alive = fmt::format(".step_000000020.{}.{}-0.tmp", host_name(), ::getppid());
  const std::string foreign = ".step_000000010.elsewhere.1-0.trash";
  for (const std::string& name : {dead, alive, foreign, std::string("step_000000010"), std::string(".hidden.1-0.tmp")})
    tmp.write(name + "/file", "x");
  remove_leftovers(tmp.path());
  EXPECT_THAT(tmp.names(), testing::UnorderedElementsAre(alive, "step_000000010", ".hidden.1-0.tmp"));
  remove_leftovers(tmp / "nowhere");
}

TEST(RemoveStep, LeavesNothing) {
  const support::TmpDir tmp;
  tmp.write("step_000000010/COMMIT", "x");
  tmp.write("step_000000020/COMMIT", "x");
  remove_step(tmp / "step_000000010");
  EXPECT_THAT(tmp.names(), ElementsAre("step_000000020"));
  EXPECT_THROW(remove_step(tmp / "step_000000010"), EnvironmentError);
}

TEST(CommittedSteps, HaveACommit) {
  const support::TmpDir tmp;
  tmp.write("step_000000200/COMMIT", "x");
  tmp.write("step_000000030/COMMIT", "x");
  tmp.write("step_000000300/manifest.json", "x");
  tmp.write(".step_000000400.h.1-0.tmp/COMMIT", "x");
  EXPECT_THAT(committed_steps(tmp.path()), ElementsAre(30, 200));
  EXPECT_THAT(committed_steps(tmp / "nowhere"), IsEmpty());
}

}  // namespace
}  // namespace convoy::checkpoint

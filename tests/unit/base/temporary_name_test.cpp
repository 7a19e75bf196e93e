// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/temporary_name.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcore/base/host.h"
#include "tests/support/tmp_dir.h"

#include <gmock/gmock.h>

namespace convoy {
namespace {

using support::TmpDir;
using testing::UnorderedElementsAre;

// The number of a process that has ended.
pid_t dead_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(TemporaryName, TellsHostAndProcess) {
  const std::string name = temporary_sibling("folder/x.bin").string();
  EXPECT_TRUE(name.starts_with(fmt::format("folder/.x.bin.{}.{}-", host_name(), ::getpid()))) << name;
  EXPECT_NE(temporary_sibling("folder/x.bin"), name);
}

TEST(TemporaryName, ThatAKilledProcessLeftDoesNotStopTheNextWriter) {
  const TmpDir dir;
  // What a process of our number would have left, had it been killed in its first files.
  const std::string next = temporary_sibling(dir / "x").filename().string();
  const int number = std::stoi(next.substr(next.rfind('-') + 1));
  for (int n = number + 1; n < number + 4; ++n) dir.write(fmt::format(".x.{}.{}-{}.tmp", host_name(), ::getpid(), n), "half");
  write_file_atomically(dir / "x", "whole");
  EXPECT_EQ(support::content_of(dir / "x"), "whole");
}

TEST(RemoveAbandoned, RemovesWhatDeadProcessesOfThisHostLeftAndNothingElse) {
  const TmpDir dir;
  const pid_t dead = dead_process();
  const std::string host = host_name();
  const std::string alive = fmt::format(".shard-1.bin.{}.{}-0.tmp", host, ::getppid());
  const std::string elsewhere = fmt::format(".shard-1.bin.not-{}.{}-0.tmp", host, dead);
  const std::string other = fmt::format(".shard-11.bin.{}.{}-0.tmp", host, dead);
  const std::string final_name = fmt::format("shard-1.bin.{}.{}-0.tmp", host, dead);
  const std::string no_number = fmt::format(".shard-1.bin.{}.{}x-0.tmp", host, dead);
  for (const std::string& name : {alive, elsewhere, other, final_name, no_number}) dir.write(name, "x");
  dir.write(fmt::format(".shard-1.bin.{}.{}-7.tmp", host, dead), "x");
  dir.write(fmt::format(".shard-1.meta.json.{}.{}-8.tmp", host, dead), "x");
  remove_abandoned(dir.path(), "shard-1.");
  EXPECT_THAT(dir.names(), UnorderedElementsAre(alive, elsewhere, other, final_name, no_number));
  remove_abandoned(dir / "nowhere", "shard-1.");
}

}  // namespace
}  // namespace convoy

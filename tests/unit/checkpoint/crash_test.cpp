// SPDX-License-Identifier: Apache-2.0
// A process that saves without pause is killed at some instant, again and again: the newest committed step always
// opens, is sound, and has the digest that was announced for it. CONVOY_KILLS of them (default 5).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "libcore/checkpoint/checkpoint.h"
#include "libcore/checkpoint/save.h"
#include "libcore/checkpoint/step_directory.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/checkpoint/layouts.h"

namespace convoy::checkpoint {
namespace {

constexpr int kRanks = 2;

struct Announcement {
  std::int64_t step;
  char digest[64];
};

// Saves step after step, with retention, until it is killed.
[[noreturn]] void save_for_ever(const Path& folder, std::int64_t step, int announce) {
  try {
    comm::run_ranks(kRanks, [&](comm::Communicator& world) {
      const layouts::Held held = layouts::held_by(layouts::spreads()[2].second, world.rank(), kRanks);
      Saver saver(world, shard_file_name(world.rank(), 0, 0), 1);
      for (std::int64_t next = step;; ++next) {
        saver.stage(folder / step_directory_name(next), layouts::description(next), held.states);
        saver.write();
        const SaveReport report = saver.commit();
        if (world.rank() != 0) continue;
        Announcement told{.step = next, .digest = {}};
        report.digest.copy(told.digest, sizeof told.digest);
        if (::write(announce, &told, sizeof told) != sizeof told) ::_exit(2);
        for (const std::int64_t old : steps_to_remove(committed_steps(folder), 2, 5))
          remove_step(folder / step_directory_name(old));
      }
    });
  } catch (const std::exception&) {
  }
  ::_exit(3);
}

// Starts it, kills it after a while, and returns what it announced.
std::map<std::int64_t, std::string> killed_run(const Path& folder, std::int64_t step, std::chrono::microseconds life) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ::alarm(60);  // should the parent die
    save_for_ever(folder, step, ends[1]);
  }
  ::close(ends[1]);
  std::this_thread::sleep_for(life);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself";
  std::map<std::int64_t, std::string> announced;
  Announcement told;
  while (::read(ends[0], &told, sizeof told) == sizeof told)
    announced[told.step] = std::string(told.digest, sizeof told.digest);
  ::close(ends[0]);
  return announced;
}

int kills() {
  const char* text = std::getenv("CONVOY_KILLS");
  return text == nullptr ? 5 : std::atoi(text);
}

TEST(Crash, TheNewestCommittedStepIsAlwaysSound) {
  const support::TmpDir tmp;
  std::mt19937 random(11);
  std::int64_t newest = 0;
  int leftovers = 0, saves = 0;
  for (int kill = 0; kill < kills(); ++kill) {
    const auto announced = killed_run(tmp.path(), newest + 1, std::chrono::microseconds(20000 + random() % 150000));
    saves += static_cast<int>(announced.size());
    const std::int64_t last = announced.empty() ? newest : announced.rbegin()->first;
    for (const std::string& name : tmp.names()) leftovers += name.starts_with('.') ? 1 : 0;
    std::vector<std::string> skipped;
    const std::optional<Path> found = newest_checkpoint(tmp.path(), skipped);
    EXPECT_THAT(skipped, testing::IsEmpty());
    if (!found) {
      EXPECT_EQ(last, 0) << "a committed step is lost";
      continue;
    }
    const Checkpoint checkpoint(*found);
    checkpoint.verify();
    newest = checkpoint.manifest().description.progress.step;
    EXPECT_TRUE(newest == last || newest == last + 1) << newest << " after " << last;  // one may lack its announcement
    if (announced.contains(newest)) {
      EXPECT_EQ(checkpoint.digest(), announced.at(newest));
    }
    remove_leftovers(tmp.path());
    for (const std::string& name : tmp.names()) EXPECT_TRUE(parse_step_directory(name).has_value()) << name;
  }
  std::printf("%d kills, %d saves, %d leftovers\n", kills(), saves, leftovers);
}

}  // namespace
}  // namespace convoy::checkpoint

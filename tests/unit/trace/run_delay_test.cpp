// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/run_delay.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "libcore/trace/recorder.h"
#include "tests/support/tmp_dir.h"

namespace convoy::trace {
namespace {

TEST(RunDelay, IsTheSecondNumberOfTheFile) {
  const support::TmpDir folder;
  RunDelay delay(folder.write("schedstat", "18446744073709551615 4711 5\n"));
  EXPECT_EQ(delay.read(), 4711u);
}

TEST(RunDelay, OfAFileThatIsNotThereIsNone) {
  RunDelay delay("/no/such/schedstat");
  EXPECT_EQ(delay.read(), 0u);
}

TEST(RunDelay, NeverFallsWhateverTheFileSays) {
  const support::TmpDir folder;
  RunDelay delay(folder.write("schedstat", "1 500 1\n"));
  EXPECT_EQ(delay.read(), 500u);
  for (const char* text : {"1 400 1\n", "", "7", "a b c", "1 -3 1\n", "1 99999999999999999999999 1\n", " ", "1 "}) {
    folder.write("schedstat", text);
    EXPECT_EQ(delay.read(), 500u) << text;
  }
  folder.write("schedstat", "1 600 1\n");
  EXPECT_EQ(delay.read(), 600u);
}

// What the kernel counts for us is at most the time that passed.
TEST(RunDelay, OfThisThreadIsAtMostTheTimeThatPassed) {
  const Path file = RecorderOptions{}.scheduling;
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "this kernel has no " << file;
  RunDelay delay(file);
  const std::uint64_t begin = now_ns(), before = delay.read();
  while (now_ns() < begin + 20'000'000) {
  }
  const std::uint64_t grown = delay.read() - before;
  EXPECT_LE(grown, now_ns() - begin + 1'000'000);
}

}  // namespace
}  // namespace convoy::trace

// SPDX-License-Identifier: Apache-2.0
#include "libcore/cluster/signals.h"

#include <csignal>

namespace convoy::cluster {
namespace {

TEST(StopSignals, RemembersWhichCame) {
  for (const auto& [number, reason] :
       {std::pair{SIGTERM, StopReason::kTerminate}, std::pair{SIGUSR2, StopReason::kRequested},
        std::pair{SIGINT, StopReason::kInterrupt}}) {
    const StopSignals signals("USR2");
    EXPECT_EQ(signals.seen(), StopReason::kNone);
    std::raise(number);
    EXPECT_EQ(signals.seen(), reason);
  }
}

TEST(StopSignals, ASecondTerminationChangesNothing) {
  const StopSignals signals("USR2");
  std::raise(SIGTERM);
  std::raise(SIGTERM);
  EXPECT_EQ(signals.seen(), StopReason::kTerminate);
}

TEST(StopSignals, ASecondInterruptEndsTheProcess) {
  EXPECT_EXIT(
      {
        const StopSignals signals("USR2");
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::ExitedWithCode(130), "");
}

TEST(StopSignals, LeavesAnIgnoredSignalIgnored) {
  std::signal(SIGUSR1, SIG_IGN);
  {
    const StopSignals signals("USR1");
    std::raise(SIGUSR1);
    EXPECT_EQ(signals.seen(), StopReason::kNone);
  }
  EXPECT_EQ(std::signal(SIGUSR1, SIG_DFL), SIG_IGN);
}

}  // namespace
}  // namespace convoy::cluster

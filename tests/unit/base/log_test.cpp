// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/log.h"

#include <thread>

namespace convoy {
namespace {

class Log : public testing::Test {
 protected:
  void TearDown() override { set_log_level(LogLevel::kInfo); }
};

TEST_F(Log, GoesToStderrWithItsLevel) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  log_info("rank 0 of 4");
  log_warning("{} stays as it is");
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      testing::AllOf(testing::HasSubstr("info rank 0 of 4\n"), testing::HasSubstr("warning {} stays as it is\n")));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST_F(Log, BelowTheLevelIsSilent) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError, LogLevel::kOff}) {
    set_log_level(level);
    EXPECT_EQ(log_level(), level);
  }
  testing::internal::CaptureStderr();
  set_log_level(LogLevel::kWarning);
  log_debug("no");
  log_info("no");
  log_error("yes");
  set_log_level(LogLevel::kOff);
  log_error("no");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::AllOf(testing::HasSubstr("error yes"), testing::Not(testing::HasSubstr("no"))));
}

TEST_F(Log, LinesOfThreadsDoNotMix) {
  testing::internal::CaptureStderr();
  const std::string line(200, 'x');
  const auto talk = [&line] {
    for (int i = 0; i < 100; ++i) log_info(line);
  };
  std::thread other(talk);
  talk();
  other.join();
  const std::string said = testing::internal::GetCapturedStderr();
  std::size_t found = 0;
  for (std::size_t at = 0; (at = said.find("info " + line + "\n", at)) != std::string::npos; ++at) ++found;
  EXPECT_EQ(found, 200u);
}

}  // namespace
}  // namespace convoy

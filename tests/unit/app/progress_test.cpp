// SPDX-License-Identifier: Apache-2.0
#include "libcore/app/progress.h"

#include <thread>

#include "libcore/base/log.h"

namespace convoy::app {
namespace {

using testing::HasSubstr;

constexpr std::chrono::milliseconds kPastTheSilence{1050};

TEST(ProgressLines, SayNothingInTheFirstSecond) {
  testing::internal::CaptureStderr();
  {
    Progress progress("encode", 10, "documents");
    progress.update(5);
    progress.finish();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ProgressLines, NameShareRateAndTimeLeft) {
  testing::internal::CaptureStderr();
  Progress progress("encode", 4000, "documents");
  std::this_thread::sleep_for(kPastTheSilence);
  progress.update(1000, "2 bad");
  progress.update(1001);
  progress.finish();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said,
              testing::ContainsRegex("encode: 25 % of 4.00 K documents, [0-9.]+ documents/s, [0-9.]+ s left, 2 bad\n"));
  EXPECT_THAT(said, HasSubstr("took 1."));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;  // the second update came too soon for a log file
}

TEST(ProgressLines, OfAnUnknownTotalCount) {
  testing::internal::CaptureStderr();
  Progress progress("read", 0, "bytes");
  std::this_thread::sleep_for(kPastTheSilence);
  progress.update(3 << 20);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("read: 3.00 MiB, "));
}

TEST(ProgressLines, AreSilentAboveInfo) {
  testing::internal::CaptureStderr();
  set_log_level(LogLevel::kWarning);
  Progress progress("read", 0, "bytes");
  std::this_thread::sleep_for(kPastTheSilence);
  progress.update(1);
  progress.finish();
  set_log_level(LogLevel::kInfo);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace convoy::app

// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/report.h"

#include <gtest/gtest.h>

namespace convoy::analysis {
namespace {

TEST(Causes, HaveTheNamesThatScriptsRead) {
  EXPECT_STREQ(name_of(Cause::kCompute), "compute");
  EXPECT_STREQ(name_of(Cause::kData), "data");
  EXPECT_STREQ(name_of(Cause::kHost), "host");
  EXPECT_STREQ(name_of(Cause::kLink), "link");
  EXPECT_STREQ(name_of(Cause::kCheckpoint), "checkpoint");
  EXPECT_STREQ(name_of(Cause::kUnknown), "unknown");
}

}  // namespace
}  // namespace convoy::analysis

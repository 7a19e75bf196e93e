// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/version.h"

namespace convoy {
namespace {

TEST(Version, IsThreeNumbers) {
  EXPECT_THAT(std::string(version()), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace convoy

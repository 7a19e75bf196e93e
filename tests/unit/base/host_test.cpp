// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/host.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

namespace convoy {
namespace {

TEST(Host, IsNamedAsTheSystemNamesIt) {
  utsname system{};
  ASSERT_EQ(::uname(&system), 0);
  EXPECT_EQ(host_name(), system.nodename);
}

}  // namespace
}  // namespace convoy

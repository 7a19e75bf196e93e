// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/backend.h"

#include <gtest/gtest.h>

namespace convoy::ops {
namespace {

TEST(Backend, TheHostsTableIsCalledCpu) { EXPECT_EQ(cpu_backend().name, "cpu"); }

TEST(Backend, IsTheSameTableEachTime) { EXPECT_EQ(&cpu_backend(), &cpu_backend()); }

}  // namespace
}  // namespace convoy::ops

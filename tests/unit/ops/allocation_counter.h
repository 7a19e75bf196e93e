// SPDX-License-Identifier: Apache-2.0
// Counts the heap allocations of this test executable: allocation_counter.cpp replaces the global operator new.
#pragma once

#include <cstdint>

namespace convoy::ops::test {

std::int64_t allocation_count();

}  // namespace convoy::ops::test

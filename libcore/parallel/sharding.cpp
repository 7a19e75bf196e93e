// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/sharding.h"

#include <fmt/format.h>

#include "libcore/base/error.h"

namespace convoy::parallel {

Sharding sharding_of(int zero, int ranks, int rank) {
  check(zero >= 0 && zero <= 3, fmt::format("ZeRO {} is none of 0 to 3", zero));
  Sharding sharding{.ranks = ranks, .rank = rank};
  if (ranks == 1) return sharding;
  sharding.states = zero >= 1;
  sharding.gradients = zero >= 2;
  sharding.weights = zero >= 3;
  return sharding;
}

}  // namespace convoy::parallel

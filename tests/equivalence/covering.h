// SPDX-License-Identifier: Apache-2.0
// Covering arrays: few combinations of factor values in which every pair of values occurs that can occur at all. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

namespace convoy::equivalence {

using Assignment = std::vector<std::size_t>;  // the index of a value, a factor
using Legal = std::function<bool(const Assignment&)>;

struct Pair {
  std::size_t first = 0, first_value = 0;  // of factor `first`
  std::size_t second = 0, second_value = 0;
  friend auto operator<=>(const Pair&, const Pair&) = default;
};

// Every pair of values of two factors, the first before the second.
std::set<Pair> all_pairs(const std::vector<std::size_t>& sizes);

// Assignments whose pairs are all those that a legal assignment has: greedily, each of them the one of many random
// legal ones that covers most. `sizes`: the number of values, a factor. The same seed gives the same rows. A pair that
// no legal one was found for in `tries` random completions counts as impossible.
std::vector<Assignment> covering_array(const std::vector<std::size_t>& sizes, const Legal& legal, std::uint64_t seed,
                                       int tries = 4000);

// All legal assignments.
std::vector<Assignment> full_product(const std::vector<std::size_t>& sizes, const Legal& legal);

// Whether any assignment with this pair is legal: all of them are tried.
bool is_possible(const Pair& pair, const std::vector<std::size_t>& sizes, const Legal& legal);

// What of `pairs` no row has.
std::set<Pair> uncovered(std::set<Pair> pairs, const std::vector<Assignment>& rows);

}  // namespace convoy::equivalence

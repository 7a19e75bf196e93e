// SPDX-License-Identifier: Apache-2.0
#include "tests/equivalence/covering.h"

#include <algorithm>

#include "libcore/base/random.h"

namespace convoy::equivalence {
namespace {

constexpr int kCandidates = 60;  // legal ones, of which the best becomes a row

void erase_pairs_of(const Assignment& row, std::set<Pair>& pairs) {
  for (std::size_t a = 0; a < row.size(); ++a) {
    for (std::size_t b = a + 1; b < row.size(); ++b) pairs.erase({a, row[a], b, row[b]});
  }
}

std::size_t count_pairs_of(const Assignment& row, const std::set<Pair>& pairs) {
  std::size_t count = 0;
  for (std::size_t a = 0; a < row.size(); ++a) {
    for (std::size_t b = a + 1; b < row.size(); ++b) count += pairs.contains({a, row[a], b, row[b]});
  }
  return count;
}

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  Assignment completion(const std::vector<std::size_t>& sizes, const Pair& pair) {
    Assignment row(sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) row[i] = next() % sizes[i];
    row[pair.first] = pair.first_value;
    row[pair.second] = pair.second_value;
    return row;
  }

 private:
  std::uint64_t next() { return mix64(++state_); }
  std::uint64_t state_;
};

// The best of the legal completions that the draws find; empty if there is none.
Assignment best_row(const Pair& pair, const std::vector<std::size_t>& sizes, const Legal& legal,
                    const std::set<Pair>& open, int tries, Draws& draws) {
  Assignment best;
  std::size_t most = 0;
  int candidates = 0;
  for (int i = 0; i < tries && candidates < kCandidates; ++i) {
    const Assignment row = draws.completion(sizes, pair);
    if (!legal(row)) continue;
    ++candidates;
    const std::size_t count = count_pairs_of(row, open);
    if (count <= most) continue;
    most = count;
    best = row;
  }
  return best;
}

// Calls `visit` with every assignment until it returns true.
template <class Visit>
bool any_assignment(const std::vector<std::size_t>& sizes, Visit&& visit) {
  Assignment row(sizes.size(), 0);
  while (true) {
    if (visit(row)) return true;
    std::size_t i = 0;
    while (i < row.size() && ++row[i] == sizes[i]) row[i++] = 0;
    if (i == row.size()) return false;
  }
}

}  // namespace

std::set<Pair> all_pairs(const std::vector<std::size_t>& sizes) {
  std::set<Pair> pairs;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    for (std::size_t b = a + 1; b < sizes.size(); ++b) {
      for (std::size_t i = 0; i < sizes[a]; ++i) {
        for (std::size_t j = 0; j < sizes[b]; ++j) pairs.insert({a, i, b, j});
      }
    }
  }
  return pairs;
}

std::vector<Assignment> covering_array(const std::vector<std::size_t>& sizes, const Legal& legal, std::uint64_t seed,
                                       int tries) {
  std::vector<Assignment> rows;
  std::set<Pair> open = all_pairs(sizes);
  Draws draws(seed);
  while (!open.empty()) {
    const Pair pair = *open.begin();
    open.erase(open.begin());
    std::set<Pair> gain = open;
    gain.insert(pair);
    const Assignment row = best_row(pair, sizes, legal, gain, tries, draws);
    if (row.empty()) continue;
    erase_pairs_of(row, open);
    rows.push_back(row);
  }
  return rows;
}

std::vector<Assignment> full_product(const std::vector<std::size_t>& sizes, const Legal& legal) {
  std::vector<Assignment> rows;
  any_assignment(sizes, [&](const Assignment& row) {
    if (legal(row)) rows.push_back(row);
    return false;
  });
  return rows;
}

bool is_possible(const Pair& pair, const std::vector<std::size_t>& sizes, const Legal& legal) {
  std::vector<std::size_t> others = sizes;
  others[pair.first] = others[pair.second] = 1;
  return any_assignment(others, [&](Assignment row) {
    row[pair.first] = pair.first_value;
    row[pair.second] = pair.second_value;
    return legal(row);
  });
}

std::set<Pair> uncovered(std::set<Pair> pairs, const std::vector<Assignment>& rows) {
  for (const Assignment& row : rows) erase_pairs_of(row, pairs);
  return pairs;
}

}  // namespace convoy::equivalence

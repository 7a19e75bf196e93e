// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/buckets.h"

#include <algorithm>

#include "libcore/base/error.h"

namespace convoy::parallel {

std::vector<Bucket> cut_buckets(std::span<const std::int64_t> counts, std::span<const std::size_t> alone,
                                std::int64_t elements) {
  std::vector<char> is_alone(counts.size());
  for (const std::size_t i : alone) {
    check(i < counts.size(), "a tensor that is reduced alone is one of the table");
    is_alone[i] = 1;
  }
  std::vector<Bucket> buckets, last;
  bool open = false;  // the newest bucket ends at the tensor behind
  for (std::size_t i = counts.size(); i-- > 0;) {
    if (is_alone[i]) {
      last.push_back({i, i + 1, counts[i]});
      open = false;
    } else if (open && buckets.back().count + counts[i] <= elements) {
      buckets.back().begin = i;
      buckets.back().count += counts[i];
    } else {
      buckets.push_back({i, i + 1, counts[i]});
      open = true;
    }
  }
  buckets.insert(buckets.end(), last.begin(), last.end());
  return buckets;
}

RankMajor::RankMajor(const Bucket& bucket, std::span<const std::int64_t> counts, int ranks) {
  std::int64_t offset = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    first_piece_.push_back(pieces_.size());
    const std::int64_t start = offset;
    for (std::size_t i = bucket.begin; i < bucket.end; ++i) {
      const Range range = flat_partition(counts[i], ranks, rank);
      if (range.size() == 0) continue;
      pieces_.push_back({i, range, offset});
      offset += range.size();
    }
    rank_counts_.push_back(offset - start);
  }
  first_piece_.push_back(pieces_.size());
}

Range RankMajor::part(int rank) const {
  Range range;
  for (int r = 0; r <= rank; ++r) {
    range.begin = range.end;
    range.end += rank_counts_[static_cast<std::size_t>(r)];
  }
  return range;
}

std::span<const Piece> RankMajor::pieces(int rank) const {
  const std::size_t first = first_piece_[static_cast<std::size_t>(rank)];
  return pieces().subspan(first, first_piece_[static_cast<std::size_t>(rank) + 1] - first);
}

}  // namespace convoy::parallel

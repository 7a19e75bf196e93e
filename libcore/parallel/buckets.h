// SPDX-License-Identifier: Apache-2.0
// How parameters are grouped for collectives, and how a group is laid out in one buffer. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libcore/parallel/partition.h"

namespace convoy::parallel {

// Parameters [begin, end) of a table, `count` elements together.
struct Bucket {
  std::size_t begin = 0, end = 0;
  std::int64_t count = 0;

  friend bool operator==(const Bucket&, const Bucket&) = default;
};

// Cuts a table of tensors of `counts` elements into buckets of neighbours, from the end of the table, in the order in
// which backward finishes them. A bucket has at most `elements`, or is one tensor. Those `alone` have buckets of their
// own, which come last: they wait for what happens after backward.
std::vector<Bucket> cut_buckets(std::span<const std::int64_t> counts, std::span<const std::size_t> alone,
                                std::int64_t elements);

// A piece of a tensor, and where it lies in the bucket's buffer.
struct Piece {
  std::size_t parameter = 0;
  Range range;              // flat, in the parameter
  std::int64_t offset = 0;  // elements from the buffer's start
};

// The buffer of a bucket that `ranks` ranks share: all pieces of rank 0 (its flat_partition() of each tensor), then
// those of rank 1, and so on, so that a rank's part of the buffer is one range.
class RankMajor {
 public:
  RankMajor(const Bucket& bucket, std::span<const std::int64_t> counts, int ranks);

  std::span<const std::int64_t> counts() const { return rank_counts_; }  // elements a rank
  Range part(int rank) const;                                            // of the buffer
  std::span<const Piece> pieces() const { return pieces_; }              // of all ranks, empty ones left out
  std::span<const Piece> pieces(int rank) const;

 private:
  std::vector<Piece> pieces_;
  std::vector<std::size_t> first_piece_;  // a rank; and the number of pieces
  std::vector<std::int64_t> rank_counts_;
};

}  // namespace convoy::parallel

// SPDX-License-Identifier: Apache-2.0
// Where a text may be cut before it is encoded without changing its ids. The library's BPE is superlinear in the length of
// its input, so long texts are encoded in segments; but only where the segments' ids are provably those of the whole.
//
// The proof, for BPE with identity normalisation and byte fallback: a merge builds a piece, user-defined symbols are pieces,
// and both are matched within the text. If no piece holds the characters x and y side by side, no symbol ever spans the
// boundary of x|y, merges left and right of it do not see each other, and an order of merges by (score, position) restricted
// to either side is the order of that side alone. Unused pieces void it (their resegmentation remembers the last split of a
// string in the whole text), and so do normalisers that look across the cut; such models are not cut at all.
// Unigram sums scores from the start of the text in single precision, so no cut is exact there either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_set>

#include "libcore/data/model_proto.h"

namespace convoy::data {

class Segmenter {
 public:
  explicit Segmenter(const ModelProto& model);

  bool can_cut() const { return can_cut_; }
  // The first exact cut at or after `from` (> 0), or text.size().
  std::size_t next_cut(std::string_view text, std::size_t from) const;

 private:
  void add_pairs(std::string_view piece);
  bool joined(std::uint32_t left, std::uint32_t right) const;

  bool can_cut_ = false;
  std::unordered_set<std::uint64_t> pairs_;  // neighbouring characters of any piece, a blank as U+2581
};

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/gradient_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/ops/optimizer.h"

namespace convoy::parallel {
namespace {

using tensor::DType;
using tensor::MutableView;

// Elements that a message carries at least, however many nodes share the room.
constexpr std::int64_t kShortestStretch = 1024;

MutableView flat(const MutableView& view) { return tensor::reshaped(view, {view.count()}); }

// Part `stretch` of a rank's part of a bucket: each piece of it, with its place in the stretch.
template <class Visit>
void for_each_piece(const RankMajor& shares, int rank, const Range& stretch, Visit&& visit) {
  const std::int64_t start = shares.part(rank).begin;
  for (const Piece& piece : shares.pieces(rank)) {
    const std::int64_t at = piece.offset - start;  // in the rank's part
    const std::int64_t begin = std::max(stretch.begin, at), end = std::min(stretch.end, at + piece.range.size());
    if (begin < end) visit(piece.parameter, piece.range.begin + begin - at, end - begin, begin - stretch.begin);
  }
}

}  // namespace

GradientTree::GradientTree(comm::Communicator& data, std::vector<MutableView> gradients,
                           std::span<const std::int64_t> micro_batches, std::size_t exchange_bytes)
    : data_(data),
      gradients_(std::move(gradients)),
      planned_(micro_batches.begin(), micro_batches.end()),
      exchange_elements_(static_cast<std::int64_t>(exchange_bytes / sizeof(float))),
      leaves_of_(gradients_.size(), 0) {
  for (const MutableView& view : gradients_)
    check(view.dtype == DType::kF32 && view.dense(), "gradients are dense fp32 tensors");
  for (const std::int64_t count : planned_) {
    for (const LeafSums::Leaf& leaf : sum_leaves(data.rank() * count, count).leaves)
      copies_ = std::max(copies_, leaf.before);
  }
  for (std::size_t k = 0; k < copies_; ++k) {
    for (const MutableView& view : gradients_)
      offsets_.push_back(nodes_.reserve(static_cast<std::size_t>(view.count()) * sizeof(float)));
  }
  if (copies_ > 0) nodes_.allocate({});
  check(!planned_.empty(), "a replica has micro-batches");
  plan(planned_.back());
}

void GradientTree::plan(std::int64_t micro_batches) {
  check(std::ranges::find(planned_, micro_batches) != planned_.end(),
        fmt::format("{} micro-batches are among those that the tree has room for", micro_batches));
  check(std::ranges::all_of(leaves_of_, [](std::size_t leaves) { return leaves == 0; }),
        "a tree is planned between two steps");
  std::vector<TreeNode> all;
  nodes_of_.clear();
  for (int rank = 0; rank < data_.size(); ++rank) {
    LeafSums sums = sum_leaves(rank * micro_batches, micro_batches);
    all.insert(all.end(), sums.nodes.begin(), sums.nodes.end());
    nodes_of_.push_back(sums.nodes.size());
    if (rank == data_.rank()) sums_ = std::move(sums);
  }
  additions_ = additions_to_root(all);
}

MutableView GradientTree::node(std::size_t k, std::size_t parameter) const {
  return {nodes_.at(offsets_[k * gradients_.size() + parameter]), DType::kF32, {gradients_[parameter].count()}, 0};
}

bool GradientTree::add_leaf(device::Stream& stream, std::size_t begin, std::size_t end) {
  check(begin < end && end <= gradients_.size(), "leaves are of parameters of the table");
  const std::size_t number = leaves_of_[begin];
  const auto [before, added] = sums_.leaves[number];
  const bool last = number + 1 == sums_.leaves.size();
  // One replica has all leaves: what is left are the nodes on the path to the root.
  const std::size_t all = last && data_.size() == 1 ? before : added;
  for (std::size_t i = begin; i < end; ++i) {
    check(leaves_of_[i] == number, "parameters that are reported together have seen the same micro-batches");
    leaves_of_[i] = last ? 0 : number + 1;
    const MutableView newest = flat(gradients_[i]);
    for (std::size_t k = 0; k < all; ++k) ops::add(stream, node(before - 1 - k, i), newest);
    if (last) continue;
    ops::cast(stream, newest, node(before - added, i));
    ops::fill_zero(stream, newest);
  }
  return last;
}

const float* GradientTree::left_node(std::size_t k, std::size_t parameter) const {
  const bool newest = k + 1 == sums_.nodes.size();
  return newest ? gradients_[parameter].as<float>() : node(k, parameter).as<float>();
}

// The rank's nodes of a stretch of an owner's part, one behind the other.
void GradientTree::pack(const RankMajor& shares, int owner, const Range& stretch, float* out) const {
  for (std::size_t k = 0; k < sums_.nodes.size(); ++k, out += stretch.size()) {
    for_each_piece(shares, owner, stretch, [&](std::size_t i, std::int64_t first, std::int64_t count, std::int64_t at) {
      std::copy_n(left_node(k, i) + first, count, out + at);
    });
  }
}

void GradientTree::unpack(const RankMajor& shares, const Range& stretch, const float* sums) {
  for_each_piece(shares, data_.rank(), stretch,
                 [&](std::size_t i, std::int64_t first, std::int64_t count, std::int64_t at) {
                   std::copy_n(sums + at, count, gradients_[i].as<float>() + first);
                 });
}

// Elements [begin, end) of every rank's part, as far as it has them.
void GradientTree::reduce_stretch(device::Stream& stream, const RankMajor& shares, std::int64_t begin,
                                  std::int64_t end) {
  const auto stretch_of = [&](int rank) {
    const std::int64_t count = shares.counts()[static_cast<std::size_t>(rank)];
    return Range{std::min(begin, count), std::min(end, count)};
  };
  const auto room = [](std::vector<float>& buffer, std::int64_t count) {
    if (static_cast<std::int64_t>(buffer.size()) < count) buffer.resize(static_cast<std::size_t>(count));
    return buffer.data();
  };
  const int ranks = data_.size(), me = data_.rank();
  for (int distance = 1; distance < ranks; ++distance) {
    const int owner = (me + distance) % ranks;
    const Range theirs = stretch_of(owner);
    if (theirs.size() == 0) continue;
    const std::int64_t count = theirs.size() * static_cast<std::int64_t>(sums_.nodes.size());
    pack(shares, owner, theirs, room(leaving_, count));
    data_.send(stream, {leaving_.data(), DType::kF32, {count}}, owner);
  }
  const Range mine = stretch_of(me);
  if (mine.size() == 0) return;
  float* const all =
      room(arriving_, mine.size() * static_cast<std::int64_t>(std::reduce(nodes_of_.begin(), nodes_of_.end())));
  float* from = all;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t count = mine.size() * static_cast<std::int64_t>(nodes_of_[static_cast<std::size_t>(rank)]);
    if (rank == me) {
      pack(shares, me, mine, from);
    } else {
      data_.receive(stream, {from, DType::kF32, {count}, 0}, rank);
    }
    from += count;
  }
  for (const Addition& addition : additions_) {
    float* into = all + static_cast<std::int64_t>(addition.into) * mine.size();
    const float* term = all + static_cast<std::int64_t>(addition.from) * mine.size();
    for (std::int64_t e = 0; e < mine.size(); ++e) into[e] += term[e];
  }
  unpack(shares, mine, all);
}

void GradientTree::reduce(device::Stream& stream, const RankMajor& shares) {
  check(data_.size() > 1, "replicas exchange nodes");
  const auto nodes = static_cast<std::int64_t>(std::reduce(nodes_of_.begin(), nodes_of_.end()));
  const std::int64_t step = std::max(kShortestStretch, exchange_elements_ / nodes);
  const std::int64_t longest = *std::ranges::max_element(shares.counts());
  for (std::int64_t begin = 0; begin < longest; begin += step) reduce_stretch(stream, shares, begin, begin + step);
}

}  // namespace convoy::parallel

// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/bucket_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

using tensor::MutableView;
using Tensors = std::span<const MutableView>;

constexpr std::size_t kElementBytes = 4;  // fp32

MutableView flat(const MutableView& view) { return tensor::reshaped(view, {view.count()}); }

std::byte* place(const MutableView& view, std::int64_t element) {
  return static_cast<std::byte*>(view.data) + static_cast<std::size_t>(element) * tensor::size_of(view.dtype);
}

enum class Direction { kToBuffer, kFromBuffer };

void copy_pieces(std::span<const Piece> pieces, Tensors tensors, const MutableView& buffer, Direction direction) {
  for (const Piece& piece : pieces) {
    std::byte* of_tensor = place(tensors[piece.parameter], piece.range.begin);
    std::byte* of_buffer = place(buffer, piece.offset);
    const std::size_t bytes = static_cast<std::size_t>(piece.range.size()) * tensor::size_of(buffer.dtype);
    if (direction == Direction::kToBuffer) {
      std::memcpy(of_buffer, of_tensor, bytes);
    } else {
      std::memcpy(of_tensor, of_buffer, bytes);
    }
  }
}

// The bucket in pieces that one collective can take where they lie, from the end: whole tensors one right behind the
// other, or, where each is cut into shares of its own, single ones.
std::vector<Bucket> pieces_of(const Bucket& bucket, Tensors tensors, bool in_shares) {
  std::vector<Bucket> pieces;
  for (std::size_t i = bucket.end; i-- > bucket.begin;) {
    const std::int64_t count = tensors[i].count();
    const bool adjoins = i + 1 < bucket.end && place(tensors[i], count) == tensors[i + 1].data;
    if (!in_shares && adjoins) {
      pieces.back().begin = i;
      pieces.back().count += count;
    } else {
      pieces.push_back({i, i + 1, count});
    }
  }
  return pieces;
}

std::size_t bytes_of(const Bucket& bucket) { return static_cast<std::size_t>(bucket.count) * kElementBytes; }

}  // namespace

std::vector<Route> BucketTransport::routes(const Bucket& bucket, Tensors tensors, bool in_shares) const {
  std::vector<std::int64_t> counts;
  for (const MutableView& view : tensors) counts.push_back(view.count());
  const auto route = [&](const Bucket& part, bool staged) {
    return Route{part, RankMajor(part, counts, data_.size()), RankMajor(part, counts, 1), staged};
  };
  const std::vector<Bucket> pieces = pieces_of(bucket, tensors, in_shares);
  if (pieces.size() > 1 && bytes_of(bucket) / pieces.size() < in_place_) return {route(bucket, true)};
  std::vector<Route> routes;
  for (const Bucket& piece : pieces) routes.push_back(route(piece, false));
  return routes;
}

void BucketTransport::make_room(std::span<const Route> routes) {
  std::size_t bytes = staging_.size();
  for (const Route& route : routes) {
    if (route.staged) bytes = std::max(bytes, bytes_of(route.bucket));
  }
  if (is_needed() && bytes > staging_.size()) staging_ = device::Buffer(bytes, {});
}

MutableView BucketTransport::buffer(const Bucket& bucket, tensor::DType dtype) {
  const std::size_t bytes = static_cast<std::size_t>(bucket.count) * tensor::size_of(dtype);
  if (bytes > staging_.size()) staging_ = device::Buffer(bytes, {});  // for wider elements alone
  return {staging_.data(), dtype, {bucket.count}, 0};
}

void BucketTransport::reduce(device::Stream& stream, const Route& route, Tensors tensors) {
  if (!route.staged) {
    const MutableView all{tensors[route.bucket.begin].data, tensor::DType::kF32, {route.bucket.count}, 0};
    data_.all_reduce(stream, all, comm::Reduction::kSum);
    return;
  }
  const MutableView all = buffer(route.bucket, tensor::DType::kF32);
  copy_pieces(route.whole.pieces(), tensors, all, Direction::kToBuffer);
  data_.all_reduce(stream, all, comm::Reduction::kSum);
  copy_pieces(route.whole.pieces(), tensors, all, Direction::kFromBuffer);
}

void BucketTransport::reduce_to_shares(device::Stream& stream, const Route& route, Tensors tensors) {
  // The shares of one tensor are rank-major where they lie.
  const bool staged = route.staged;
  const MutableView all = staged ? buffer(route.bucket, tensor::DType::kF32) : flat(tensors[route.bucket.begin]);
  if (staged) copy_pieces(route.shares.pieces(), tensors, all, Direction::kToBuffer);
  const Range part = route.shares.part(data_.rank());
  const MutableView mine = tensor::flat_part(all, part.begin, part.end);
  data_.reduce_scatter(stream, all, mine, route.shares.counts(), comm::Reduction::kSum);
  if (staged) copy_pieces(route.shares.pieces(data_.rank()), tensors, all, Direction::kFromBuffer);
}

void BucketTransport::gather(device::Stream& stream, const Route& route, Tensors tensors) {
  const tensor::DType dtype = tensors[route.bucket.begin].dtype;
  for (std::size_t i = route.bucket.begin; i < route.bucket.end; ++i) {
    check(tensors[i].dtype == dtype && tensors[i].dense(),
          fmt::format("tensor {} of a bucket is dense and of the others' dtype", i));
  }
  const bool staged = route.staged;
  const MutableView all = staged ? buffer(route.bucket, dtype) : flat(tensors[route.bucket.begin]);
  if (staged) copy_pieces(route.shares.pieces(data_.rank()), tensors, all, Direction::kToBuffer);
  const Range part = route.shares.part(data_.rank());
  data_.all_gather(stream, tensor::flat_part(all, part.begin, part.end), all, route.shares.counts());
  if (staged) copy_pieces(route.shares.pieces(), tensors, all, Direction::kFromBuffer);
}

}  // namespace convoy::parallel

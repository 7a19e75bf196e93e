// SPDX-License-Identifier: Apache-2.0
// How buckets of tensors travel between the replicas: through one buffer where their tensors are small, where they lie
// where these are large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libcore/comm/communicator.h"
#include "libcore/device/arena.h"
#include "libcore/device/stream.h"
#include "libcore/parallel/buckets.h"
#include "libcore/tensor/view.h"

namespace convoy::parallel {

// A bucket and how its tensors travel.
struct Route {
  Bucket bucket;
  RankMajor shares;     // cut into a share a rank
  RankMajor whole;      // of one rank: the tensors in table order
  bool staged = false;  // through the buffer; else it is one piece of memory
};

// Collectives over the replicas, one at a time, from one thread at a time.
class BucketTransport {
 public:
  // `in_place_bytes`: a bucket whose pieces are smaller than this on average goes through the buffer.
  BucketTransport(comm::Communicator& data, std::size_t in_place_bytes) : data_(data), in_place_(in_place_bytes) {}

  comm::Communicator& data() const { return data_; }
  bool is_needed() const { return data_.size() > 1; }

  // The routes of a bucket of these tensors (fp32, dense), in the order in which they should go: one, or one for each
  // piece that a collective can take where it lies. `in_shares`: each tensor is cut into a share a rank.
  std::vector<Route> routes(const Bucket& bucket, std::span<const tensor::MutableView> tensors, bool in_shares) const;
  // Takes the memory that these routes go through, for tensors of up to four bytes an element.
  void make_room(std::span<const Route> routes);

  // Every tensor of the route becomes its sum over the ranks; or this rank's share of every tensor does.
  void reduce(device::Stream& stream, const Route& route, std::span<const tensor::MutableView> tensors);
  void reduce_to_shares(device::Stream& stream, const Route& route, std::span<const tensor::MutableView> tensors);
  // Every rank's share of the tensors (any dtype, dense) reaches all.
  void gather(device::Stream& stream, const Route& route, std::span<const tensor::MutableView> tensors);

 private:
  tensor::MutableView buffer(const Bucket& bucket, tensor::DType dtype);

  comm::Communicator& data_;
  std::size_t in_place_;
  device::Buffer staging_;
};

}  // namespace convoy::parallel

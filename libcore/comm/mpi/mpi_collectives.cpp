// SPDX-License-Identifier: Apache-2.0
// The collectives of a group of MPI ranks.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "libcore/comm/mpi/mpi_communicator.h"
#include "libcore/comm/reduce.h"

namespace convoy::comm {
namespace {

using tensor::MutableView;
using tensor::View;

std::size_t bytes_of(std::int64_t count, tensor::DType dtype) {
  return static_cast<std::size_t>(count) * size_of(dtype);
}

const std::byte* bytes_at(const View& view) { return static_cast<const std::byte*>(view.data); }
std::byte* bytes_at(const MutableView& view) { return static_cast<std::byte*>(view.data); }

void copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) {
  if (from != to && bytes != 0) std::memcpy(to, from, bytes);
}

// Where each part begins, and where the last ends.
std::vector<std::int64_t> begins_of(std::span<const std::int64_t> counts) {
  std::vector<std::int64_t> begins(counts.size() + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), begins.begin() + 1);
  return begins;
}

}  // namespace

std::byte* MpiCommunicator::scratch(std::size_t bytes) {
  if (bytes > scratch_bytes_) {
    scratch_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    scratch_bytes_ = bytes;
  }
  return scratch_.get();
}

// A dissemination barrier (Hensgen et al., 1988): after step k, a rank knows of 2^k ranks before it.
void MpiCommunicator::meet(const Call& call) {
  for (int distance = 1; distance < size(); distance *= 2) {
    post_receive(nullptr, 0, peer(-distance), tag());
    post_send(nullptr, 0, peer(distance), tag(), posted_);
    wait(call);
  }
}

void MpiCommunicator::do_barrier() { meet(begin("barrier")); }

void MpiCommunicator::exchange(const Call& call, std::byte* blocks, const std::vector<std::size_t>& offsets) {
  for (int have = 1; have < size(); have *= 2) {
    const int moved = std::min(have, size() - have);
    const std::size_t begin = offsets[static_cast<std::size_t>(have)];
    post_receive(blocks + begin, offsets[static_cast<std::size_t>(have + moved)] - begin, peer(have), tag());
    post_send(blocks, offsets[static_cast<std::size_t>(moved)], peer(-have), tag(), posted_);
    wait(call);
  }
}

void MpiCommunicator::reduce_small(const Call& call, const MutableView& data, Reduction reduction) {
  const std::size_t bytes = bytes_of(data.count(), data.dtype);
  std::vector<std::size_t> offsets(static_cast<std::size_t>(size()) + 1);
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = i * bytes;
  std::byte* blocks = scratch(offsets.back());
  copy_bytes(bytes_at(data), blocks, bytes);
  exchange(call, blocks, offsets);
  std::vector<const void*> inputs;
  for (int other = 0; other < size(); ++other)
    inputs.push_back(blocks + offsets[static_cast<std::size_t>((other - rank() + size()) % size())]);
  reduce_in_rank_order(data.dtype, reduction, inputs, data.data, data.count());
}

std::vector<const void*> MpiCommunicator::post_inputs(const void* mine, std::size_t bytes) {
  std::byte* room = scratch(bytes * static_cast<std::size_t>(size() - 1));
  std::vector<const void*> inputs(static_cast<std::size_t>(size()));
  inputs[static_cast<std::size_t>(rank())] = mine;
  for (int distance = 1; distance < size(); ++distance, room += bytes) {
    inputs[static_cast<std::size_t>(peer(-distance))] = room;
    if (bytes > 0) post_receive(room, bytes, peer(-distance), tag());
  }
  return inputs;
}

// Every rank reduces its part of the chunk and sends it to all.
void MpiCommunicator::reduce_chunk(const Call& call, const MutableView& chunk, Reduction reduction) {
  const auto place = [&](int other) {
    const Part part = part_of(chunk.count(), size(), other);
    return std::pair(bytes_at(chunk) + bytes_of(part.begin, chunk.dtype), bytes_of(part.size(), chunk.dtype));
  };
  const auto [mine, bytes] = place(rank());
  const std::vector<const void*> inputs = post_inputs(mine, bytes);
  for (int distance = 1; distance < size(); ++distance) {
    const auto [part, part_bytes] = place(peer(distance));
    if (part_bytes > 0) post_send(part, part_bytes, peer(distance), tag(), posted_);
  }
  wait(call);
  reduce_in_rank_order(chunk.dtype, reduction, inputs, mine, part_of(chunk.count(), size(), rank()).size());
  for (int distance = 1; distance < size(); ++distance) {
    const auto [part, part_bytes] = place(peer(-distance));
    if (part_bytes > 0) post_receive(part, part_bytes, peer(-distance), tag());
    if (bytes > 0) post_send(mine, bytes, peer(distance), tag(), posted_);
  }
  wait(call);
}

void MpiCommunicator::do_all_reduce(device::Stream&, const MutableView& data, Reduction reduction) {
  const Call call = begin("all_reduce");
  if (size() == 1) return;
  const std::size_t bytes = bytes_of(data.count(), data.dtype);
  if (bytes * static_cast<std::size_t>(size()) <= job_->options().small_bytes)
    return reduce_small(call, data, reduction);
  const auto step =
      static_cast<std::int64_t>(std::max<std::size_t>(1, job_->options().chunk_bytes / size_of(data.dtype)));
  for (std::int64_t at = 0; at < data.count(); at += step)
    reduce_chunk(call, tensor::flat_part(data, at, std::min(data.count(), at + step)), reduction);
}

// In rounds, so that scratch memory is bounded: in each, every rank gets a stretch of its part.
void MpiCommunicator::do_reduce_scatter(device::Stream&, const View& whole, const MutableView& mine, Counts counts,
                                        Reduction reduction) {
  const Call call = begin("reduce_scatter");
  const std::vector<std::int64_t> begins = begins_of(counts);
  const std::size_t room = job_->options().chunk_bytes / static_cast<std::size_t>(std::max(1, size() - 1));
  const auto step = static_cast<std::int64_t>(std::max<std::size_t>(1, room / size_of(whole.dtype)));
  const std::int64_t longest = *std::ranges::max_element(counts);
  for (std::int64_t at = 0; at < longest; at += step) {
    const auto stretch = [&](int other) {
      const auto index = static_cast<std::size_t>(other);
      return std::pair(begins[index] + std::min(at, counts[index]), begins[index] + std::min(at + step, counts[index]));
    };
    const auto [begin, end] = stretch(rank());
    const std::vector<const void*> inputs =
        post_inputs(bytes_at(whole) + bytes_of(begin, whole.dtype), bytes_of(end - begin, whole.dtype));
    for (int distance = 1; distance < size(); ++distance) {
      const auto [from, to] = stretch(peer(distance));
      if (to > from)
        post_send(bytes_at(whole) + bytes_of(from, whole.dtype), bytes_of(to - from, whole.dtype), peer(distance),
                  tag(), posted_);
    }
    wait(call);
    const std::int64_t done = begin - begins[static_cast<std::size_t>(rank())];
    reduce_in_rank_order(whole.dtype, reduction, inputs, bytes_at(mine) + bytes_of(done, whole.dtype), end - begin);
  }
}

void MpiCommunicator::do_all_gather(device::Stream&, const View& mine, const MutableView& whole, Counts counts) {
  const Call call = begin("all_gather");
  const std::vector<std::int64_t> begins = begins_of(counts);
  const auto bytes = [&](int other) { return bytes_of(counts[static_cast<std::size_t>(other)], whole.dtype); };
  const auto place = [&](int other) {
    return bytes_at(whole) + bytes_of(begins[static_cast<std::size_t>(other)], whole.dtype);
  };
  copy_bytes(bytes_at(mine), place(rank()), bytes(rank()));
  if (bytes_of(whole.count(), whole.dtype) <= job_->options().small_bytes) {
    std::vector<std::size_t> offsets = {0};
    for (int i = 0; i < size(); ++i) offsets.push_back(offsets.back() + bytes(peer(i)));
    std::byte* blocks = scratch(offsets.back());
    copy_bytes(place(rank()), blocks, bytes(rank()));
    exchange(call, blocks, offsets);
    for (int i = 1; i < size(); ++i)
      copy_bytes(blocks + offsets[static_cast<std::size_t>(i)], place(peer(i)), bytes(peer(i)));
    return;
  }
  for (int distance = 1; distance < size(); ++distance) {
    const int from = peer(-distance);
    if (bytes(from) > 0) post_receive(place(from), bytes(from), from, tag());
    if (bytes(rank()) > 0) post_send(place(rank()), bytes(rank()), peer(distance), tag(), posted_);
  }
  wait(call);
}

// A binomial tree: the children of relative rank v are v + 2^j below its lowest set bit. Chunks follow each other down.
void MpiCommunicator::do_broadcast(device::Stream&, const MutableView& data, int root) {
  const Call call = begin("broadcast");
  const int place = (rank() - root + size()) % size();
  const int reach = place == 0 ? size() : (place & -place);
  const std::size_t bytes = bytes_of(data.count(), data.dtype);
  std::vector<MPI_Request> sends;
  for (std::size_t at = 0; at < bytes; at += job_->options().chunk_bytes) {
    const std::size_t chunk = std::min(bytes - at, job_->options().chunk_bytes);
    if (place != 0) {
      post_receive(bytes_at(data) + at, chunk, peer(-reach), tag());
      wait(call);
    }
    for (int distance = 1; distance < reach && place + distance < size(); distance *= 2)
      post_send(bytes_at(data) + at, chunk, peer(distance), tag(), sends);
  }
  posted_.insert(posted_.end(), sends.begin(), sends.end());
  wait(call);
}

}  // namespace convoy::comm

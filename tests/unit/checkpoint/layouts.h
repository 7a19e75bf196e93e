// SPDX-License-Identifier: Apache-2.0
// A small set of tensors with known values, and ways to spread it over ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libcore/checkpoint/save.h"
#include "libcore/comm/threads.h"
#include "libcore/tensor/box.h"

namespace convoy::checkpoint::layouts {

using tensor::Box;
using tensor::DType;
using tensor::Shape;

struct Known {
  std::string name, state;
  DType dtype = DType::kF32;
  Shape shape;
};

// The stored bits of an element: any, infinities and NaNs among them.
inline std::uint32_t bits_at(const Known& known, std::int64_t index) {
  std::uint64_t x = 0x51ED270B + static_cast<std::uint64_t>(index) * 0x9E3779B97F4A7C15u;
  for (const char c : known.name + known.state) x = (x ^ static_cast<std::uint64_t>(c)) * 0x100000001B3u;
  x ^= x >> 29;
  return static_cast<std::uint32_t>(known.dtype == DType::kF32 ? x : x & 0xFFFFu);
}

inline std::vector<Known> tensors() {
  std::vector<Known> all;
  for (const char* state : {"weight", "exp_avg", "exp_avg_sq"}) {
    all.push_back({"model.embed_tokens.weight", state, DType::kF32, Shape{37, 24}});
    all.push_back({"model.layers.0.q_proj.weight", state, DType::kF32, Shape{24, 24}});
    all.push_back({"model.norm.weight", state, DType::kF32, Shape{24}});
    all.push_back({"tiny", state, DType::kF32, Shape{3}});
  }
  all.push_back({"cube", "weight", DType::kBF16, Shape{5, 7, 11}});
  all.push_back({"half", "weight", DType::kF16, Shape{9, 5}});
  all.push_back({"scalar", "weight", DType::kF32, Shape{}});
  return all;
}

// Elements of a box in row-major order, as they are stored.
inline std::vector<std::byte> bytes_of_box(const Known& known, const Box& box) {
  const std::size_t size = tensor::size_of(known.dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(box.count()) * size);
  for (std::int64_t k = 0; k < box.count(); ++k) {
    std::int64_t rest = k, index = 0, stride = 1;
    for (int d = box.extent.rank(); d-- > 0;) {
      index += (box.offset[d] + rest % box.extent[d]) * stride;
      rest /= box.extent[d];
      stride *= known.shape[d];
    }
    const std::uint32_t bits = bits_at(known, index);
    std::memcpy(bytes.data() + static_cast<std::size_t>(k) * size, &bits, size);
  }
  return bytes;
}

// The boxes that a rank of `ranks` stores of a tensor.
using Spread = std::function<std::vector<Box>(const Known& known, int rank, int ranks)>;

inline std::vector<Box> flat_part(const Box& box, std::int64_t part, std::int64_t parts) {
  const std::int64_t count = box.count();
  return tensor::boxes_of_range(box, count * part / parts, count * (part + 1) / parts);
}

inline std::vector<Box> slice(const Known& known, int dimension, std::int64_t part, std::int64_t parts) {
  Box box = tensor::whole(known.shape);
  const std::int64_t extent = known.shape[dimension], begin = extent * part / parts, end = extent * (part + 1) / parts;
  if (begin == end) return {};
  box.offset = box.offset.with(dimension, begin);
  box.extent = box.extent.with(dimension, end - begin);
  return {box};
}

inline std::vector<std::pair<std::string, Spread>> spreads() {
  return {
      {"data parallel: flat ranges",
       [](const Known& known, int rank, int ranks) { return flat_part(tensor::whole(known.shape), rank, ranks); }},
      {"tensor parallel: columns",
       [](const Known& known, int rank, int ranks) {
         const int rank_of_shape = known.shape.rank();
         if (rank_of_shape == 0) return rank == 0 ? std::vector{tensor::whole(known.shape)} : std::vector<Box>{};
         return slice(known, rank_of_shape - 1, rank, ranks);
       }},
      {"tensor and data parallel: flat ranges of rows",
       [](const Known& known, int rank, int ranks) {
         std::vector<Box> boxes;
         const int groups = ranks % 2 == 0 ? 2 : 1;
         if (known.shape.rank() == 0) return rank == 0 ? std::vector{tensor::whole(known.shape)} : boxes;
         for (const Box& row : slice(known, 0, rank % groups, groups))
           for (const Box& box : flat_part(row, rank / groups, ranks / groups)) boxes.push_back(box);
         return boxes;
       }},
      {"pipeline parallel: whole tensors, one rank with nothing",
       [](const Known& known, int rank, int ranks) {
         const int stages = ranks > 1 ? ranks - 1 : 1;
         const int owner = static_cast<int>(known.name.size() % static_cast<std::size_t>(stages));
         return rank == owner ? std::vector{tensor::whole(known.shape)} : std::vector<Box>{};
       }},
  };
}

// What a rank holds; the bytes live as long as this.
struct Held {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<LocalState> states;
};

inline Held held_by(const Spread& spread, int rank, int ranks) {
  Held held;
  for (const Known& known : tensors()) {
    LocalState state{.name = known.name, .state = known.state, .shape = known.shape, .boxes = {}, .data = {}};
    state.boxes = spread(known, rank, ranks);
    std::vector<std::byte>& bytes = held.bytes.emplace_back();
    for (const Box& box : state.boxes) {
      const std::vector<std::byte> part = bytes_of_box(known, box);
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
    const auto count = static_cast<std::int64_t>(bytes.size() / tensor::size_of(known.dtype));
    state.data = tensor::View(bytes.data(), known.dtype, Shape{count});
    held.states.push_back(std::move(state));
  }
  return held;
}

inline Description description(std::int64_t step) {
  return {.progress = {.step = step,
                       .update = step - 1,
                       .consumed_samples = 8 * step,
                       .skipped_in_a_row = 1,
                       .loss_scale = std::nullopt},
          .layout = {.tensor = 2, .pipeline = 1, .zero_shards = 2},
          .model_config = "{\"model_type\": \"llama\", \"note\": \"\xC3\xA9\"}\n",
          .fingerprint = {{"lr", "0.001"}, {"seed", "7"}},
          .aliases = {{"lm_head.weight", "model.embed_tokens.weight"}},
          .origin = "test"};
}

// Saves from `ranks` threads and returns rank 0's report.
inline SaveReport save(const Path& directory, const Spread& spread, int ranks, std::int64_t step = 10) {
  SaveReport report;
  comm::run_ranks(ranks, [&](comm::Communicator& world) {
    const Held held = held_by(spread, world.rank(), ranks);
    Saver saver(world, shard_file_name(0, 0, world.rank()), 2);
    saver.stage(directory, description(step), held.states);
    saver.write();
    const SaveReport mine = saver.commit();
    if (world.rank() == 0) report = mine;
  });
  return report;
}

}  // namespace convoy::checkpoint::layouts

// SPDX-License-Identifier: Apache-2.0
// Attention, forward, of one head: scores are computed transposed, [key, query], with the queries of a panel in the
// lanes of vectors. So the softmax needs no sums across lanes, and the probabilities come out as the panel that the
// product with the values reads. Included once for every instruction set.
#if defined(CONVOY_OPS_CPU_ATTENTION_FORWARD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOY_OPS_CPU_ATTENTION_FORWARD_INL_H
#undef CONVOY_OPS_CPU_ATTENTION_FORWARD_INL_H
#else
#define CONVOY_OPS_CPU_ATTENTION_FORWARD_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "libcore/ops/cpu/attention_dropout-inl.h"
#include "libcore/ops/cpu/attention_heads-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {

constexpr std::int64_t kKeyBlock = 192;  // scores of a panel of queries that stay in the first-level cache

struct ForwardBuffers {
  float* keys;    // rows of k in panels, depth D
  float* values;  // columns of v in panels, depth T
  float* query;   // a panel of queries, depth D
  float* scores;  // [kKeyBlock, kTileColumns]
  float* sums;    // [D, kTileColumns] the weighted sum of values, transposed
};

ForwardBuffers lay_out_forward(const AttentionShape& shape, Pieces& pieces) {
  const std::int64_t size = shape.head_size;
  return {.keys = pieces.floats(whole_tiles(shape.sequence) * size + kPackSlack),
          .values = pieces.floats(whole_tiles(size) * shape.sequence + kPackSlack),
          .query = pieces.floats(size * kTileColumns),
          .scores = pieces.floats(kKeyBlock * kTileColumns),
          .sums = pieces.floats((whole_tiles(size) + kLanes) * kTileColumns)};
}

// What a panel of queries knows of the keys seen so far.
struct Softmax {
  FloatVector maximum[2];  // of the scaled scores
  FloatVector sum[2];      // of e^(score - maximum)
};

// The panel's queries: each lane's own position, and the first key that it sees.
struct Visibility {
  FloatVector position[2];
  FloatVector first[2];
  std::int64_t least_first;
  std::int64_t greatest_first;
};

Visibility visibility(const std::int32_t* positions, std::int64_t begin, std::int64_t end) {
  HWY_ALIGN float first[kTileColumns] = {};
  Visibility v{};
  v.least_first = begin;
  v.greatest_first = 0;
  for (std::int64_t t = begin; t < end; ++t) {
    const std::int64_t start = first_key(positions, t);
    first[t - begin] = static_cast<float>(start);
    v.least_first = std::min(v.least_first, start);
    v.greatest_first = std::max(v.greatest_first, start);
  }
  for (int half = 0; half < 2; ++half) {
    v.position[half] = hn::Iota(FloatTag(), static_cast<float>(begin + half * kLanes));
    v.first[half] = hn::LoadU(FloatTag(), first + half * kLanes);
  }
  return v;
}

// Replaces scores of keys that a query does not see.
HWY_INLINE void hide_keys(const Visibility& v, std::int64_t first_key_index, std::int64_t keys, float* scores) {
  for (std::int64_t key = 0; key < keys; ++key) {
    const auto index = broadcast(static_cast<float>(first_key_index + key));
    for (int half = 0; half < 2; ++half) {
      float* p = scores + key * kTileColumns + half * kLanes;
      const auto seen = hn::And(hn::Le(index, v.position[half]), hn::Ge(index, v.first[half]));
      store(hn::IfThenElse(seen, load(p), broadcast(kHiddenScore)), p);
    }
  }
}

// Turns scores into e^(scale score - maximum), the maximum brought up to date; returns the factor that is due to what
// was summed before.
HWY_INLINE void softmax_block(float scale, std::int64_t keys, float* scores, Softmax& s, FloatVector (&factor)[2]) {
  const auto scale_all = broadcast(scale);
  for (int half = 0; half < 2; ++half) {
    float* column = scores + half * kLanes;
    auto greatest = load(column);
    for (std::int64_t key = 1; key < keys; ++key) greatest = hn::Max(greatest, load(column + key * kTileColumns));
    const auto maximum = hn::Max(s.maximum[half], hn::Mul(greatest, scale_all));
    factor[half] = exp(hn::Sub(s.maximum[half], maximum));
    auto sum = hn::Mul(s.sum[half], factor[half]);
    for (std::int64_t key = 0; key < keys; ++key) {
      const auto p = exp(hn::MulSub(load(column + key * kTileColumns), scale_all, maximum));
      sum = hn::Add(sum, p);
      store(p, column + key * kTileColumns);
    }
    s.maximum[half] = maximum;
    s.sum[half] = sum;
  }
}

HWY_INLINE void scale_sums(const FloatVector (&factor)[2], std::int64_t rows, float* sums) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (int half = 0; half < 2; ++half) {
      float* p = sums + row * kTileColumns + half * kLanes;
      store(hn::Mul(load(p), factor[half]), p);
    }
  }
}

template <class T>
void finish_forward(const AttentionForward& args, const HeadIndex& head, std::int64_t begin, std::int64_t end,
                    const Softmax& softmax, float* sums) {
  const auto scale = broadcast(args.dropout.mask.scale);
  const FloatVector inverse[2] = {hn::Div(scale, softmax.sum[0]), hn::Div(scale, softmax.sum[1])};
  scale_sums(inverse, args.shape.head_size, sums);
  store_transposed<T>(sums, args.shape.head_size, end - begin,
                      head_pointer<T>(args.y, args.shape, head.batch, begin, head.query), args.y.stride());
  HWY_ALIGN float maximum[kTileColumns];
  HWY_ALIGN float total[kTileColumns];
  for (int half = 0; half < 2; ++half) {
    store(softmax.maximum[half], maximum + half * kLanes);
    store(softmax.sum[half], total + half * kLanes);
  }
  float* log_sum_exp = head_log_sum_exp(args.log_sum_exp.as<float>(), args.shape, head) + begin;
  for (std::int64_t t = 0; t < end - begin; ++t) log_sum_exp[t] = maximum[t] + std::log(total[t]);
}

// The panel of queries that begins at `begin`.
template <class T>
void forward_panel(const AttentionForward& args, const HeadIndex& head, std::int64_t begin,
                   const ForwardBuffers& buffers) {
  const std::int64_t size = args.shape.head_size;
  const std::int64_t sequence = args.shape.sequence;
  const std::int64_t end = std::min(begin + kTileColumns, sequence);
  const Visibility seen = visibility(head_positions(args.positions, args.shape, head), begin, end);
  pack_columns<T>(head_operand<T>(args.q, args.shape, head.batch, begin, head.query, true), {0, size}, {0, end - begin},
                  size, buffers.query);
  Softmax softmax;
  for (int half = 0; half < 2; ++half) {
    softmax.maximum[half] = broadcast(kHiddenScore);
    softmax.sum[half] = zeros();
  }
  const std::int64_t first = seen.least_first / kTileRows * kTileRows;
  for (std::int64_t block = first; block < end; block += kKeyBlock) {
    const std::int64_t keys = std::min(kKeyBlock, end - block);
    for (std::int64_t key = 0; key < keys; key += kTileRows) {
      multiply_tile(size, buffers.keys + (block + key) * size, buffers.query, nullptr,
                    buffers.scores + key * kTileColumns);
    }
    if (block + keys - 1 > begin || block < seen.greatest_first) hide_keys(seen, block, keys, buffers.scores);
    FloatVector factor[2];
    softmax_block(args.shape.scale, keys, buffers.scores, softmax, factor);
    if (args.dropout.mask.present())
      drop_probabilities(head_mask(args.dropout, head), begin, block, keys, buffers.scores);
    if (block != first) scale_sums(factor, size, buffers.sums);
    for (std::int64_t row = 0; row < size; row += kTileRows) {
      float* sums = buffers.sums + row * kTileColumns;
      multiply_tile(keys, buffers.values + row * sequence + block * kTileRows, buffers.scores,
                    block == first ? nullptr : sums, sums);
    }
  }
  finish_forward<T>(args, head, begin, end, softmax, buffers.sums);
}

// Query heads [begin, end) of all batch B x H of them.
template <class T>
void forward_heads(const AttentionForward& args, Range heads, std::byte* scratch) {
  Pieces pieces(scratch);
  const ForwardBuffers buffers = lay_out_forward(args.shape, pieces);
  HeadIndex packed{-1, -1, -1};
  for (std::int64_t index = heads.begin; index < heads.end; ++index) {
    const HeadIndex head = head_index(args.shape, index);
    if (head.batch != packed.batch || head.key_value != packed.key_value) {
      const Range all{0, args.shape.sequence};
      const Range size{0, args.shape.head_size};
      pack_rows<T>(head_operand<T>(args.k, args.shape, head.batch, 0, head.key_value, false), all, size, buffers.keys);
      pack_rows<T>(head_operand<T>(args.v, args.shape, head.batch, 0, head.key_value, true), size, all, buffers.values);
      packed = head;
    }
    for (std::int64_t begin = 0; begin < args.shape.sequence; begin += kTileColumns) {
      forward_panel<T>(args, head, begin, buffers);
    }
  }
}

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// SPDX-License-Identifier: Apache-2.0
// Attention, backward, of one key/value head and its query heads. Here keys are in the lanes of vectors: probabilities
// and score gradients of a panel of keys, [query, key], are what the products for dv and dk read; only dq needs the
// score gradients transposed. Included once for every instruction set.
#if defined(CONVOY_OPS_CPU_ATTENTION_BACKWARD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOY_OPS_CPU_ATTENTION_BACKWARD_INL_H
#undef CONVOY_OPS_CPU_ATTENTION_BACKWARD_INL_H
#else
#define CONVOY_OPS_CPU_ATTENTION_BACKWARD_INL_H
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "libcore/ops/cpu/attention_dropout-inl.h"
#include "libcore/ops/cpu/attention_heads-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {

constexpr std::int64_t kQueryBlock = 96;              // whole tiles and whole panels
constexpr std::int64_t kKeyGroup = 4 * kTileColumns;  // keys between two updates of dq
static_assert(kQueryBlock % kTileRows == 0 && kQueryBlock % kTileColumns == 0 && kQueryBlock % kMaskSide == 0);

struct BackwardBuffers {
  // Of the key/value head.
  float* key_columns;    // panels of keys, depth D
  float* value_columns;  // panels of keys, depth D
  float* key_size;       // panels of rows 0 .. D-1 of k transposed, depth T
  float* dkeys;          // a panel of keys: [D, kTileColumns]
  float* dvalues;
  // Of a query head.
  float* query_rows;  // tiles of queries, depth D
  float* dy_rows;
  float* query_size;  // tiles of rows 0 .. D-1 of q transposed, depth T
  float* dy_size;
  float* dquery;  // a panel of queries: [D, kTileColumns]
  float* delta;   // [T] sum over d of dy y
  // Of a block of queries and a group of keys.
  float* probabilities;       // [kQueryBlock, kTileColumns]
  float* dscores;             // [kQueryBlock, kTileColumns]
  float* dscores_transposed;  // a panel of queries: [kKeyGroup, kTileColumns]
  float* keep;                // [kQueryBlock, kTileColumns] of dropout: 0 or its scale
};

BackwardBuffers lay_out_backward(const AttentionShape& shape, bool drops, Pieces& pieces) {
  const std::int64_t size = shape.head_size;
  const std::int64_t length = shape.sequence;
  const auto rows = [&] { return pieces.floats(whole_tiles(length) * size + kPackSlack); };
  const auto columns = [&] { return pieces.floats(whole_panels(length) * size); };
  const auto deep = [&] { return pieces.floats(whole_tiles(size) * length + kPackSlack); };
  const auto sums = [&] { return pieces.floats(whole_panels(length) * whole_tiles(size) + kLanes * kTileColumns); };
  BackwardBuffers b{};
  b.key_columns = columns();
  b.value_columns = columns();
  b.key_size = deep();
  b.dkeys = sums();
  b.dvalues = sums();
  b.query_rows = rows();
  b.dy_rows = rows();
  b.query_size = deep();
  b.dy_size = deep();
  b.dquery = sums();
  b.delta = pieces.floats(length);
  b.probabilities = pieces.floats(kQueryBlock * kTileColumns);
  b.dscores = pieces.floats(kQueryBlock * kTileColumns);
  b.dscores_transposed = pieces.floats(kQueryBlock * kKeyGroup);
  if (drops) b.keep = pieces.floats(kQueryBlock * kTileColumns);
  return b;
}

struct QueryHead {
  const std::int32_t* positions;
  const float* log_sum_exp;
  float scale;
  std::int64_t size;
  std::int64_t sequence;
  HeadMask mask;
};

// What queries [begin, end) see of the keys.
struct QueryRange {
  std::int64_t least_first;
  std::int64_t greatest_first;
};

inline QueryRange visible_range(const QueryHead& head, std::int64_t begin, std::int64_t end) {
  if (head.positions == nullptr) return {0, 0};
  QueryRange range{end, 0};
  for (std::int64_t t = begin; t < end; ++t) {
    const std::int64_t first = first_key(head.positions, t);
    range.least_first = std::min(range.least_first, first);
    range.greatest_first = std::max(range.greatest_first, first);
  }
  return range;
}

// Probabilities and score gradients of one tile of queries and panel of keys, out of its scores and dprobabilities
// (which lie where the results go). `keep`: with dropout, the tile of its factors; the probabilities are those that
// multiply the values, and delta = sum over keys of p dp still is dy y.
template <bool drops>
HWY_INLINE void differentiate_tile(const QueryHead& head, const float* delta, const float* keep, std::int64_t query,
                                   std::int64_t key, std::int64_t rows, bool hide, float* probabilities,
                                   float* dscores) {
  const auto scale = broadcast(head.scale);
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto log_sum = broadcast(head.log_sum_exp[query + i]);
    const auto row_delta = broadcast(delta[query + i]);
    for (int half = 0; half < 2; ++half) {
      float* p = probabilities + i * kTileColumns + half * kLanes;
      float* ds = dscores + i * kTileColumns + half * kLanes;
      auto probability = exp(hn::MulSub(load(p), scale, log_sum));
      auto dprobability = load(ds);
      if constexpr (drops) dprobability = hn::Mul(dprobability, load(keep + i * kTileColumns + half * kLanes));
      auto dscore = hn::Mul(hn::Mul(probability, scale), hn::Sub(dprobability, row_delta));
      if constexpr (drops) probability = hn::Mul(probability, load(keep + i * kTileColumns + half * kLanes));
      if (hide) {
        const auto index = hn::Iota(FloatTag(), static_cast<float>(key + half * kLanes));
        const auto seen = hn::And(hn::Le(index, broadcast(static_cast<float>(query + i))),
                                  hn::Ge(index, broadcast(static_cast<float>(first_key(head.positions, query + i)))));
        probability = hn::IfThenElseZero(seen, probability);
        dscore = hn::IfThenElseZero(seen, dscore);
      }
      store(probability, p);
      store(dscore, ds);
    }
  }
}

// Panels [key, query] of score gradients for dq, from rows [begin, end) of a block of queries; begin is a whole vector.
HWY_INLINE void transpose_dscores(const float* dscores, Range rows, std::int64_t key_in_group, float* transposed) {
  for (std::int64_t i = rows.begin; i < rows.end; i += kLanes) {
    float* panel =
        transposed + i / kTileColumns * kKeyGroup * kTileColumns + key_in_group * kTileColumns + i % kTileColumns;
    for (std::int64_t half = 0; half < kTileColumns; half += kLanes) {
      FloatVector square[kLanes];
#pragma GCC unroll 16
      for (std::int64_t j = 0; j < kLanes; ++j) square[j] = load(dscores + (i + j) * kTileColumns + half);
      transpose(square);
#pragma GCC unroll 16
      for (std::int64_t j = 0; j < kLanes; ++j) store(square[j], panel + (half + j) * kTileColumns);
    }
  }
}

// sums [D, kTileColumns] += rows of `deep` (tiles, depth T) from position `from` on, times `panel` [depth,
// kTileColumns].
HWY_INLINE void add_product(const QueryHead& head, const float* deep, std::int64_t from, const float* panel,
                            std::int64_t depth, float* sums) {
  for (std::int64_t row = 0; row < head.size; row += kTileRows) {
    float* out = sums + row * kTileColumns;
    multiply_tile(depth, deep + row * head.sequence + from * kTileRows, panel, out, out);
  }
}

// One block of queries with one panel of keys: its part of dv and dk, and the score gradients for dq.
HWY_INLINE void backward_panel(const QueryHead& head, const BackwardBuffers& b, Range queries, std::int64_t group,
                               std::int64_t key) {
  const std::int64_t from = std::max<std::int64_t>(0, key - queries.begin) / kTileRows * kTileRows;
  if (from >= queries.length()) return;
  const float* key_panel = b.key_columns + key * head.size;
  const float* value_panel = b.value_columns + key * head.size;
  const bool drops = head.mask.dropout.present();
  if (drops) keep_factors(head.mask, queries.begin, queries.begin + from, queries.end, key, b.keep);
  for (std::int64_t i = from; i < queries.length(); i += kTileRows) {
    const std::int64_t query = queries.begin + i;
    const std::int64_t rows = std::min(kTileRows, queries.end - query);
    float* probabilities = b.probabilities + i * kTileColumns;
    float* dscores = b.dscores + i * kTileColumns;
    const QueryRange seen = visible_range(head, query, query + rows);
    if (key + kTileColumns <= seen.least_first) {
      std::memset(probabilities, 0, static_cast<std::size_t>(rows * kTileColumns) * sizeof(float));
      std::memset(dscores, 0, static_cast<std::size_t>(rows * kTileColumns) * sizeof(float));
    } else {
      multiply_tile(head.size, b.query_rows + query * head.size, key_panel, nullptr, probabilities);
      multiply_tile(head.size, b.dy_rows + query * head.size, value_panel, nullptr, dscores);
      const bool hide = key + kTileColumns - 1 > query || key < seen.greatest_first;
      if (drops) {
        differentiate_tile<true>(head, b.delta, b.keep + i * kTileColumns, query, key, rows, hide, probabilities,
                                 dscores);
      } else {
        differentiate_tile<false>(head, b.delta, nullptr, query, key, rows, hide, probabilities, dscores);
      }
    }
  }
  const std::int64_t whole = std::max<std::int64_t>(0, key - queries.begin) / kLanes * kLanes;
  transpose_dscores(b.dscores, {whole, queries.length()}, key - group, b.dscores_transposed);
  const std::int64_t sums = key * whole_tiles(head.size);
  const std::int64_t depth = queries.length() - from;
  add_product(head, b.dy_size, queries.begin + from, b.probabilities + from * kTileColumns, depth, b.dvalues + sums);
  add_product(head, b.query_size, queries.begin + from, b.dscores + from * kTileColumns, depth, b.dkeys + sums);
}

// One block of queries with one group of keys.
void backward_block(const QueryHead& head, const BackwardBuffers& b, Range queries, Range keys) {
  if (visible_range(head, queries.begin, queries.end).least_first >= keys.end) return;
  for (std::int64_t key = keys.begin; key < keys.end; key += kTileColumns)
    backward_panel(head, b, queries, keys.begin, key);
  for (std::int64_t query = queries.begin; query < queries.end; query += kTileColumns) {
    const std::int64_t depth = std::min({query + kTileColumns, head.sequence, keys.end}) - keys.begin;
    if (depth <= 0) continue;
    add_product(head, b.key_size, keys.begin, b.dscores_transposed + (query - queries.begin) * kKeyGroup, depth,
                b.dquery + query * whole_tiles(head.size));
  }
}

template <class T>
void row_products(const T* x, std::int64_t x_stride, const T* y, std::int64_t y_stride, std::int64_t rows,
                  std::int64_t columns, float* out) {
  for (std::int64_t i = 0; i < rows; ++i) {
    auto sum = zeros();
    over_columns(0, columns, [&](std::int64_t c, auto part) HWY_ATTR {
      sum = hn::MulAdd(load(x + i * x_stride + c, part), load(y + i * y_stride + c, part), sum);
    });
    out[i] = hn::GetLane(hn::SumOfLanes(FloatTag(), sum));
  }
}

void clear(float* sums, const AttentionShape& shape) {
  std::memset(sums, 0,
              static_cast<std::size_t>(whole_panels(shape.sequence) * whole_tiles(shape.head_size)) * sizeof(float));
}

template <class T>
void store_panels(const float* sums, const AttentionShape& shape, T* y, std::int64_t stride) {
  for (std::int64_t t = 0; t < shape.sequence; t += kTileColumns) {
    store_transposed<T>(sums + t * whole_tiles(shape.head_size), shape.head_size,
                        std::min(kTileColumns, shape.sequence - t), y + t * stride, stride);
  }
}

template <class T>
void backward_query_head(const AttentionBackward& args, const HeadIndex& head, const BackwardBuffers& b) {
  const AttentionShape& shape = args.shape;
  const Range all{0, shape.sequence};
  const Range size{0, shape.head_size};
  pack_rows<T>(head_operand<T>(args.q, shape, head.batch, 0, head.query, false), all, size, b.query_rows);
  pack_rows<T>(head_operand<T>(args.dy, shape, head.batch, 0, head.query, false), all, size, b.dy_rows);
  pack_rows<T>(head_operand<T>(args.q, shape, head.batch, 0, head.query, true), size, all, b.query_size);
  pack_rows<T>(head_operand<T>(args.dy, shape, head.batch, 0, head.query, true), size, all, b.dy_size);
  row_products<T>(head_pointer<T>(args.dy, shape, head.batch, 0, head.query), args.dy.stride(),
                  head_pointer<T>(args.y, shape, head.batch, 0, head.query), args.y.stride(), shape.sequence,
                  shape.head_size, b.delta);
  clear(b.dquery, shape);
  const QueryHead query_head{.positions = head_positions(args.positions, shape, head),
                             .log_sum_exp = head_log_sum_exp(args.log_sum_exp.as<float>(), shape, head),
                             .scale = shape.scale,
                             .size = shape.head_size,
                             .sequence = shape.sequence,
                             .mask = head_mask(args.dropout, head)};
  for (std::int64_t key = 0; key < shape.sequence; key += kKeyGroup) {
    const Range keys{key, std::min(key + kKeyGroup, shape.sequence)};
    for (std::int64_t query = key / kQueryBlock * kQueryBlock; query < shape.sequence; query += kQueryBlock) {
      backward_block(query_head, b, {query, std::min(query + kQueryBlock, shape.sequence)}, keys);
    }
  }
  store_panels<T>(b.dquery, shape, head_pointer<T>(args.dq, shape, head.batch, 0, head.query), args.dq.stride());
}

// Key/value heads [begin, end) of all B x K of them.
template <class T>
void backward_heads(const AttentionBackward& args, Range heads, std::byte* scratch) {
  const AttentionShape& shape = args.shape;
  Pieces pieces(scratch);
  const BackwardBuffers b = lay_out_backward(shape, args.dropout.mask.present(), pieces);
  const std::int64_t group = shape.query_heads / shape.key_value_heads;
  const Range all{0, shape.sequence};
  const Range size{0, shape.head_size};
  for (std::int64_t index = heads.begin; index < heads.end; ++index) {
    const std::int64_t batch = index / shape.key_value_heads;
    const std::int64_t head = index % shape.key_value_heads;
    const auto k = [&](bool transposed) { return head_operand<T>(args.k, shape, batch, 0, head, transposed); };
    pack_columns<T>(k(true), size, all, shape.head_size, b.key_columns);
    pack_rows<T>(k(true), size, all, b.key_size);
    pack_columns<T>(head_operand<T>(args.v, shape, batch, 0, head, true), size, all, shape.head_size, b.value_columns);
    clear(b.dkeys, shape);
    clear(b.dvalues, shape);
    for (std::int64_t query = head * group; query < (head + 1) * group; ++query) {
      backward_query_head<T>(args, {batch, query, head}, b);
    }
    store_panels<T>(b.dkeys, shape, head_pointer<T>(args.dk, shape, batch, 0, head), args.dk.stride());
    store_panels<T>(b.dvalues, shape, head_pointer<T>(args.dv, shape, batch, 0, head), args.dv.stride());
  }
}

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

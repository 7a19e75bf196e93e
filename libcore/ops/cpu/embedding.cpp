// SPDX-License-Identifier: Apache-2.0
// Forward is split by rows, backward by columns: then every element of a table is added up by one thread, in the order
// of the rows, whatever the number of threads, and nothing needs to be sorted.
#include "libcore/ops/embedding.h"

#include "libcore/base/error.h"
#include "libcore/ops/cpu/row_split.h"
#include "libcore/ops/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libcore/ops/cpu/embedding.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "libcore/ops/cpu/vector_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kCacheLine = 16;  // floats

// The row of `table` for an id counted from `first`, or null where the table does not hold it.
template <class T, class TableView>
T* table_row(const TableView& table, std::int64_t id) {
  return id >= 0 && id < table.rows() ? table.template as<std::remove_const_t<T>>() + id * table.stride() : nullptr;
}

template <class T>
void gather_row(const T* token, const T* position, T* y, std::int64_t columns) {
  over_columns(0, columns, [&](std::int64_t c, auto part) HWY_ATTR {
    auto sum = token != nullptr ? load(token + c, part) : zeros();
    if (position != nullptr) sum = hn::Add(sum, load(position + c, part));
    store(sum, y + c, part);
  });
}

template <class T>
void gather_rows(const EmbeddingForward& args, std::int64_t begin, std::int64_t end) {
  const std::int32_t* tokens = args.tokens.as<std::int32_t>();
  const std::int32_t* positions = args.positions.as<std::int32_t>();
  for (std::int64_t row = begin; row < end; ++row) {
    const T* position = nullptr;
    if (args.position_table.present()) {
      position = table_row<const T>(args.position_table, positions[row]);
      check(position != nullptr, "embedding_forward: every position lies in the position table");
    }
    gather_row(table_row<const T>(args.table, tokens[row] - args.first), position,
               args.y.as<T>() + row * args.y.stride(), args.y.columns());
  }
}

void embedding_forward(Stream& stream, const EmbeddingForward& args) {
  over_rows(stream, args.y.rows(), args.y.columns(), args.y.dtype,
            [&](auto type, std::int64_t begin, std::int64_t end) {
              gather_rows<typename decltype(type)::type>(args, begin, end);
            });
}

template <class T>
void scatter_row(const T* dy, float* sum, std::int64_t begin, std::int64_t end) {
  over_columns(begin, end, [&](std::int64_t c, auto part) HWY_ATTR {
    store(hn::Add(load(sum + c, part), load(dy + c, part)), sum + c, part);
  });
}

template <class T>
void scatter_columns(const EmbeddingBackward& args, std::int64_t begin, std::int64_t end) {
  const std::int32_t* tokens = args.tokens.as<std::int32_t>();
  const std::int32_t* positions = args.positions.as<std::int32_t>();
  for (std::int64_t row = 0; row < args.dy.rows(); ++row) {
    const T* dy = args.dy.as<T>() + row * args.dy.stride();
    float* token = table_row<float>(args.dtable, tokens[row] - args.first);
    if (token != nullptr) scatter_row(dy, token, begin, end);
    if (!args.dposition_table.present()) continue;
    float* position = table_row<float>(args.dposition_table, positions[row]);
    check(position != nullptr, "embedding_backward: every position lies in the position table");
    scatter_row(dy, position, begin, end);
  }
}

void embedding_backward(Stream& stream, const EmbeddingBackward& args) {
  with_float_type(args.dy.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    stream.pool().parallel_for(args.dy.columns(), kCacheLine, [&](std::int64_t begin, std::int64_t end, int) {
      scatter_columns<T>(args, begin, end);
    });
  });
}

}  // namespace

EmbeddingTable embedding_kernels() { return {.forward = embedding_forward, .backward = embedding_backward}; }

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convoy::ops::cpu {

HWY_EXPORT(embedding_kernels);
EmbeddingTable embedding_table() { return HWY_DYNAMIC_DISPATCH(embedding_kernels)(); }

}  // namespace convoy::ops::cpu
#endif

// SPDX-License-Identifier: Apache-2.0
// How products are split over the team: a grid of blocks of the result, so no two threads write the same element and the
// contraction is never cut between threads.
#include "libcore/ops/linear.h"

#include <algorithm>

#include "libcore/ops/cpu/gemm.h"
#include "libcore/ops/cpu/tables.h"
#include "libcore/ops/packed_weight.h"

namespace convoy::ops::cpu {
namespace {

struct PackedPanels : PackedWeight::Storage {
  device::Buffer forward;   // [inputs, outputs]: what x is multiplied with
  device::Buffer backward;  // [outputs, inputs]: what dy is multiplied with
  device::Buffer panel_bias;  // [outputs, rounded up to a panel] fp32
};

const PackedPanels& panels_of(const PackedWeight& w) { return static_cast<const PackedPanels&>(w.storage()); }

float* floats(const device::Buffer& buffer) { return reinterpret_cast<float*>(buffer.data()); }

std::int64_t rounded_up(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit * unit; }

// Part `index` of [0, count) cut into `parts` ranges at multiples of `unit`.
Range cut(std::int64_t count, std::int64_t unit, std::int64_t parts, std::int64_t index) {
  const std::int64_t units = (count + unit - 1) / unit;
  return {std::min(units * index / parts * unit, count), std::min(units * (index + 1) / parts * unit, count)};
}

struct Grid {
  std::int64_t row_parts = 1;
  std::int64_t column_parts = 1;
};

// The grid of `threads` blocks that reads the fewest elements of both operands: what a thread packs or streams grows with the
// rows plus the columns of its block.
Grid choose_grid(std::int64_t rows, std::int64_t columns, int threads) {
  Grid best;
  std::int64_t least = -1;
  for (std::int64_t row_parts = 1; row_parts <= threads; ++row_parts) {
    if (threads % row_parts != 0) continue;
    const std::int64_t column_parts = threads / row_parts;
    const std::int64_t height = rounded_up(rounded_up(rows, row_parts) / row_parts, gemm().tile_rows);
    const std::int64_t width = rounded_up(rounded_up(columns, column_parts) / column_parts, gemm().tile_columns);
    const std::int64_t cost = height * width + 16 * (height + width);
    if (least < 0 || cost < least) {
      least = cost;
      best = {row_parts, column_parts};
    }
  }
  return best;
}

// Calls body(rows, columns, thread) for each block of a result.
template <class Body>
void over_grid(Stream& stream, std::int64_t rows, std::int64_t columns, Body&& body) {
  const Grid grid = choose_grid(rows, columns, stream.threads());
  stream.pool().run([&](int thread) {
    const Range block_rows = cut(rows, gemm().tile_rows, grid.row_parts, thread / grid.column_parts);
    const Range block_columns = cut(columns, gemm().tile_columns, grid.column_parts, thread % grid.column_parts);
    if (block_rows.length() > 0 && block_columns.length() > 0) body(block_rows, block_columns, thread);
  });
}

device::Buffer panels(std::int64_t depth, std::int64_t columns) {
  return {static_cast<std::size_t>(depth * rounded_up(columns, gemm().tile_columns)) * sizeof(float), {}};
}

void create(Stream&, PackedWeight::Storage*& storage, void (*&destroy)(PackedWeight::Storage*), DType dtype,
            WeightLayout layout, std::span<const std::int64_t> part_outputs, std::int64_t inputs, bool has_bias) {
  auto made = std::make_unique<PackedPanels>();
  made->dtype = dtype;
  made->layout = layout;
  made->part_outputs.assign(part_outputs.begin(), part_outputs.end());
  for (const std::int64_t outputs : part_outputs) made->outputs += outputs;
  made->inputs = inputs;
  made->has_bias = has_bias;
  made->forward = panels(inputs, made->outputs);
  made->backward = panels(made->outputs, inputs);
  if (has_bias) made->panel_bias = panels(1, made->outputs);
  made->bytes = made->forward.size() + made->backward.size() + made->panel_bias.size();
  storage = made.release();
  destroy = [](PackedWeight::Storage* owned) { delete static_cast<PackedPanels*>(owned); };
}

Operand operand(const View& view, bool transposed = false) { return {view.data, view.dtype, view.stride(), transposed}; }

// Element (row, column) of the operand becomes its first.
Operand from(Operand x, std::int64_t row, std::int64_t column) {
  const std::int64_t offset = x.transposed ? column * x.stride + row : row * x.stride + column;
  x.data = static_cast<const char*>(x.data) + offset * static_cast<std::int64_t>(tensor::size_of(x.dtype));
  return x;
}

void pack_bias(std::span<const View> biases, float* packed) {
  for (const View& bias : biases) {
    const std::int64_t count = bias.count();
    for (std::int64_t i = 0; i < count; ++i) {
      packed[i] = bias.dtype == DType::kF32 ? bias.as<float>()[i] : tensor::to_float(bias.as<tensor::Bf16>()[i]);
    }
    packed += count;
  }
}

void pack(Stream& stream, std::span<const View> weights, std::span<const View> biases, PackedWeight& packed) {
  const PackedPanels& storage = panels_of(packed);
  const bool out_in = storage.layout == WeightLayout::kOutIn;
  const std::int64_t unit = gemm().tile_columns;
  stream.pool().run([&](int thread) {
    const Range mine = cut(storage.outputs, unit, stream.threads(), thread);
    const Range inputs = cut(storage.inputs, unit, stream.threads(), thread);
    std::int64_t first = 0;  // output of the part
    for (std::size_t part = 0; part < weights.size(); ++part) {
      const std::int64_t outputs = storage.part_outputs[part];
      const Range shared{std::max(mine.begin, first), std::min(mine.end, first + outputs)};
      const Operand w_in_out = operand(weights[part], out_in);
      const Operand w_out_in = operand(weights[part], !out_in);
      if (shared.length() > 0) {
        gemm().pack(from(w_in_out, 0, shared.begin - first), {0, storage.inputs}, shared, storage.inputs,
                    floats(storage.forward));
      }
      if (inputs.length() > 0) {
        gemm().pack(from(w_out_in, 0, inputs.begin), {first, first + outputs}, inputs, storage.outputs,
                    floats(storage.backward));
      }
      first += outputs;
    }
  });
  if (storage.has_bias) pack_bias(biases, floats(storage.panel_bias));
}

void forward(Stream& stream, const LinearForward& args) {
  const PackedPanels& w = panels_of(*args.w);
  const std::size_t scratch = gemm().multiply_scratch(w.inputs, w.outputs);
  over_grid(stream, args.x.rows(), w.outputs, [&](Range rows, Range columns, int thread) {
    gemm().multiply({.a = operand(args.x),
                     .b = floats(w.forward),
                     .depth = w.inputs,
                     .rows = rows,
                     .columns = columns,
                     .bias = w.has_bias ? floats(w.panel_bias) : nullptr,
                     .activation = args.activation,
                     .preactivation = args.preactivation,
                     .residual = args.residual,
                     .y = args.y},
                    stream.scratch(thread, scratch));
  });
}

void backward_input(Stream& stream, const LinearBackwardInput& args) {
  const PackedPanels& w = panels_of(*args.w);
  const std::size_t scratch = gemm().multiply_scratch(w.outputs, w.inputs);
  over_grid(stream, args.dy.rows(), w.inputs, [&](Range rows, Range columns, int thread) {
    gemm().multiply({.a = operand(args.dy),
                     .b = floats(w.backward),
                     .depth = w.outputs,
                     .rows = rows,
                     .columns = columns,
                     .bias = nullptr,
                     .activation = Activation::kNone,
                     .preactivation = {},
                     .residual = {},
                     .y = args.dx},
                    stream.scratch(thread, scratch));
  });
}

// dweight += dy^T x, or its transpose.
void add_part(Stream& stream, const View& dy, const View& x, WeightLayout layout, const MutableView& dweight) {
  const bool out_in = layout == WeightLayout::kOutIn;
  const View& left = out_in ? dy : x;
  const View& right = out_in ? x : dy;
  const std::size_t scratch = gemm().accumulate_scratch(right.columns());
  over_grid(stream, left.columns(), right.columns(), [&](Range rows, Range columns, int thread) {
    gemm().accumulate({.a = operand(left, true),
                       .b = operand(right),
                       .depth = x.rows(),
                       .rows = rows,
                       .columns = columns,
                       .c = dweight.as<float>(),
                       .stride = dweight.stride()},
                      stream.scratch(thread, scratch));
  });
}

void backward_weight(Stream& stream, const LinearBackwardWeight& args) {
  const std::int64_t rows = args.x.rows();
  std::int64_t first = 0;
  for (std::size_t part = 0; part < args.dweights.size(); ++part) {
    const MutableView& dweight = args.dweights[part];
    const std::int64_t outputs = args.layout == WeightLayout::kOutIn ? dweight.rows() : dweight.columns();
    const View dy = tensor::columns_of(args.dy, first, first + outputs);
    add_part(stream, dy, args.x, args.layout, dweight);
    if (!args.dbiases.empty()) {
      float* dbias = args.dbiases[part].as<float>();
      stream.pool().parallel_for(outputs, 256, [&](std::int64_t begin, std::int64_t end, int) {
        gemm().add_column_sums(operand(dy), rows, {begin, end}, dbias);
      });
    }
    first += outputs;
  }
}

}  // namespace

LinearTable linear_table() {
  return {.create = create, .pack = pack, .forward = forward, .backward_input = backward_input, .backward_weight = backward_weight};
}

}  // namespace convoy::ops::cpu

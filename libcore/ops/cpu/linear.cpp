// SPDX-License-Identifier: Apache-2.0
// Linear layers in fp32 arithmetic. Where the processor multiplies bf16 itself, layers in bf16 go to oneDNN instead.
#include "libcore/ops/linear.h"

#include <algorithm>

#include "libcore/ops/cpu/dtype_dispatch.h"
#include "libcore/ops/cpu/gemm.h"
#include "libcore/ops/cpu/onednn_linear.h"
#include "libcore/ops/cpu/onednn_products.h"
#include "libcore/ops/cpu/tables.h"
#include "libcore/ops/cpu/team_split.h"
#include "libcore/ops/packed_weight.h"

namespace convoy::ops::cpu {
namespace {

struct PackedPanels : PackedWeight::Storage {
  device::Buffer forward;     // [inputs, outputs]: what x is multiplied with
  device::Buffer backward;    // [outputs, inputs]: what dy is multiplied with
  device::Buffer panel_bias;  // [outputs, rounded up to a panel] fp32
};

const PackedPanels& panels_of(const PackedWeight& w) { return static_cast<const PackedPanels&>(w.storage()); }

float* floats(const device::Buffer& buffer) { return reinterpret_cast<float*>(buffer.data()); }

template <class Body>
void over_tiles(Stream& stream, std::int64_t rows, std::int64_t columns, Body&& body) {
  const Grid grid = choose_grid(rows, columns, stream.threads(), gemm().tile_rows, gemm().tile_columns);
  over_grid(stream, rows, columns, grid, body);
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

Operand operand(const View& view, bool transposed = false) {
  return {view.data, view.dtype, view.stride(), transposed};
}

// Element (row, column) of the operand becomes its first.
Operand from(Operand x, std::int64_t row, std::int64_t column) {
  const std::int64_t offset = x.transposed ? column * x.stride + row : row * x.stride + column;
  x.data = static_cast<const char*>(x.data) + offset * static_cast<std::int64_t>(tensor::size_of(x.dtype));
  return x;
}

float widened(float x) { return x; }
float widened(tensor::Bf16 x) { return tensor::to_float(x); }
float widened(tensor::Fp16 x) { return tensor::to_float(x); }

void pack_bias(std::span<const View> biases, float* packed) {
  for (const View& bias : biases) {
    const std::int64_t count = bias.count();
    with_float_type(bias.dtype, [&](auto type) {
      const auto* values = bias.as<typename decltype(type)::type>();
      for (std::int64_t i = 0; i < count; ++i) packed[i] = widened(values[i]);
    });
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
  over_tiles(stream, args.x.rows(), w.outputs, [&](Range rows, Range columns, int thread) {
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
  over_tiles(stream, args.dy.rows(), w.inputs, [&](Range rows, Range columns, int thread) {
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

// dweight += dy^T x, or its transpose; dbias (if any) += the sums of dy, by the threads that hold the first block of
// the other dimension.
void add_part(Stream& stream, const View& dy, const View& x, WeightLayout layout, const MutableView& dweight,
              float* dbias) {
  const bool out_in = layout == WeightLayout::kOutIn;
  const View& left = out_in ? dy : x;
  const View& right = out_in ? x : dy;
  const std::size_t scratch = gemm().accumulate_scratch(right.columns());
  over_tiles(stream, left.columns(), right.columns(), [&](Range rows, Range columns, int thread) {
    gemm().accumulate({.a = operand(left, true),
                       .b = operand(right),
                       .depth = x.rows(),
                       .rows = rows,
                       .columns = columns,
                       .c = dweight.as<float>(),
                       .stride = dweight.stride(),
                       .a_sums = out_in && columns.begin == 0 ? dbias : nullptr,
                       .b_sums = !out_in && rows.begin == 0 ? dbias : nullptr},
                      stream.scratch(thread, scratch));
  });
}

void backward_weight(Stream& stream, const LinearBackwardWeight& args) {
  std::int64_t first = 0;
  for (std::size_t part = 0; part < args.dweights.size(); ++part) {
    const MutableView& dweight = args.dweights[part];
    const std::int64_t outputs = args.layout == WeightLayout::kOutIn ? dweight.rows() : dweight.columns();
    float* dbias = args.dbiases.empty() ? nullptr : args.dbiases[part].as<float>();
    add_part(stream, tensor::columns_of(args.dy, first, first + outputs), args.x, args.layout, dweight, dbias);
    first += outputs;
  }
}

// The same functions, on the arithmetic that suits the dtype.
struct ByDtype {
  LinearTable floats;
  LinearTable halves;
  const LinearTable& of(DType dtype) const { return dtype == DType::kBF16 ? halves : floats; }
};

const ByDtype& by_dtype() {
  static const LinearTable own{.create = create,
                               .pack = pack,
                               .forward = forward,
                               .backward_input = backward_input,
                               .backward_weight = backward_weight};
  static const ByDtype chosen{own, has_bf16_products() ? onednn_linear_table() : own};
  return chosen;
}

}  // namespace

LinearTable linear_table() {
  return {
      .create =
          [](Stream& stream, PackedWeight::Storage*& storage, void (*&destroy)(PackedWeight::Storage*), DType dtype,
             WeightLayout layout, std::span<const std::int64_t> part_outputs, std::int64_t inputs, bool has_bias) {
            by_dtype().of(dtype).create(stream, storage, destroy, dtype, layout, part_outputs, inputs, has_bias);
          },
      .pack = [](Stream& stream, std::span<const View> weights, std::span<const View> biases,
                 PackedWeight& packed) { by_dtype().of(packed.dtype()).pack(stream, weights, biases, packed); },
      .forward = [](Stream& stream,
                    const LinearForward& args) { by_dtype().of(args.w->dtype()).forward(stream, args); },
      .backward_input =
          [](Stream& stream, const LinearBackwardInput& args) {
            by_dtype().of(args.w->dtype()).backward_input(stream, args);
          },
      .backward_weight =
          [](Stream& stream, const LinearBackwardWeight& args) {
            // Products of an fp32 and a narrower operand are fp32 ones.
            by_dtype().of(args.dy.dtype == args.x.dtype ? args.x.dtype : DType::kF32).backward_weight(stream, args);
          },
  };
}

}  // namespace convoy::ops::cpu

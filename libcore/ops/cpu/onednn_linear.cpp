// SPDX-License-Identifier: Apache-2.0
// A thread computes blocks of the result into fp32 scratch memory and finishes each while it is hot in the cache. Deep
// products are cut too: oneDNN 2.6 falls to a third of its speed at a depth of 50,000.
#include "libcore/ops/cpu/onednn_linear.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "libcore/ops/cpu/gemm.h"
#include "libcore/ops/cpu/onednn_products.h"
#include "libcore/ops/cpu/team_split.h"
#include "libcore/ops/packed_weight.h"

namespace convoy::ops::cpu {
namespace {

constexpr std::int64_t kRowBlock = 256;
constexpr std::int64_t kColumnBlock = 1024;
constexpr std::int64_t kDepthBlock = 3072;
constexpr std::int64_t kUnit = 64;  // blocks start at multiples of it: whole cache lines, whole matrix-unit tiles

// Equal blocks, as few as fit.
std::int64_t block_of(std::int64_t count, std::int64_t most) {
  const std::int64_t blocks = (count + most - 1) / most;
  return rounded_up((count + blocks - 1) / blocks, kUnit);
}

// A matrix b [depth, columns] in packed blocks.
struct Blocks {
  std::int64_t depth = 0, columns = 0;
  std::int64_t depth_block = 0, column_block = 0;
  std::size_t block_bytes = 0;  // room of one
  device::Buffer data;

  std::int64_t deep_blocks() const { return (depth + depth_block - 1) / depth_block; }
  std::int64_t wide_blocks() const { return (columns + column_block - 1) / column_block; }
  Range depths(std::int64_t i) const { return {i * depth_block, std::min((i + 1) * depth_block, depth)}; }
  Range wide(std::int64_t j) const { return {j * column_block, std::min((j + 1) * column_block, columns)}; }
  std::byte* at(std::int64_t i, std::int64_t j) const {
    return data.data() + static_cast<std::size_t>(i * wide_blocks() + j) * block_bytes;
  }
};

struct BlockedWeight : PackedWeight::Storage {
  Blocks forward;   // [inputs, outputs]
  Blocks backward;  // [outputs, inputs]
  device::Buffer bias_floats;
};

BlockedWeight& blocked(const PackedWeight& w) { return static_cast<BlockedWeight&>(w.storage()); }

std::int64_t element_bytes(DType dtype) { return static_cast<std::int64_t>(tensor::size_of(dtype)); }

Blocks make_blocks(OneDnnProducts& products, DType dtype, std::int64_t depth, std::int64_t columns) {
  Blocks b{.depth = depth,
           .columns = columns,
           .depth_block = block_of(depth, kDepthBlock),
           .column_block = block_of(columns, kColumnBlock),
           .block_bytes = 0,
           .data = {}};
  for (const std::int64_t i : {std::int64_t{0}, b.deep_blocks() - 1}) {
    for (const std::int64_t j : {std::int64_t{0}, b.wide_blocks() - 1}) {
      b.block_bytes = std::max(b.block_bytes, products.packed_bytes(dtype, b.wide(j).length(), b.depths(i).length()));
    }
  }
  b.block_bytes = (b.block_bytes + 63) / 64 * 64;
  b.data = device::Buffer(b.block_bytes * static_cast<std::size_t>(b.deep_blocks() * b.wide_blocks()), {});
  return b;
}

void create(Stream& stream, PackedWeight::Storage*& storage, void (*&destroy)(PackedWeight::Storage*), DType dtype,
            WeightLayout layout, std::span<const std::int64_t> part_outputs, std::int64_t inputs, bool has_bias) {
  OneDnnProducts& products = OneDnnProducts::of(stream);
  auto made = std::make_unique<BlockedWeight>();
  made->dtype = dtype;
  made->layout = layout;
  made->part_outputs.assign(part_outputs.begin(), part_outputs.end());
  for (const std::int64_t outputs : part_outputs) made->outputs += outputs;
  made->inputs = inputs;
  made->has_bias = has_bias;
  made->forward = make_blocks(products, dtype, inputs, made->outputs);
  made->backward = make_blocks(products, dtype, made->outputs, inputs);
  if (has_bias) made->bias_floats = device::Buffer(static_cast<std::size_t>(made->outputs) * sizeof(float), {});
  made->bytes = made->forward.data.size() + made->backward.data.size() + made->bias_floats.size();
  storage = made.release();
  destroy = [](PackedWeight::Storage* owned) { delete static_cast<BlockedWeight*>(owned); };
}

// Copies the part of a [outputs, inputs] or [inputs, outputs] matrix of several parts that lies in a block to dense
// rows of `staging`: `outer` rows of memory order, `inner` elements of each.
struct Parts {
  std::span<const View> weights;
  std::span<const std::int64_t> outputs;
  bool out_in;
};

void stage(const Parts& parts, Range outputs, Range inputs, std::byte* staging) {
  std::int64_t first = 0;
  for (std::size_t part = 0; part < parts.weights.size(); ++part) {
    const View& w = parts.weights[part];
    const std::int64_t size = element_bytes(w.dtype);
    const Range shared{std::max(outputs.begin, first), std::min(outputs.end, first + parts.outputs[part])};
    const Range rows = parts.out_in ? shared : inputs;
    const Range columns = parts.out_in ? inputs : shared;
    const std::int64_t width = (parts.out_in ? inputs : outputs).length();
    for (std::int64_t row = rows.begin; shared.length() > 0 && row < rows.end; ++row) {
      const std::int64_t own_row = parts.out_in ? row - first : row;
      const std::int64_t own_column = parts.out_in ? columns.begin : columns.begin - first;
      const std::int64_t staged_row = row - (parts.out_in ? outputs.begin : inputs.begin);
      const std::int64_t staged_column = parts.out_in ? 0 : columns.begin - outputs.begin;
      std::memcpy(staging + (staged_row * width + staged_column) * size,
                  static_cast<const std::byte*>(w.data) + (own_row * w.stride() + own_column) * size,
                  static_cast<std::size_t>(columns.length() * size));
    }
    first += parts.outputs[part];
  }
}

// Packs every block of one direction. `outputs_deep`: the depth runs over the outputs.
void pack_blocks(Stream& stream, const Parts& parts, const Blocks& blocks, bool outputs_deep, DType dtype) {
  OneDnnProducts& products = OneDnnProducts::of(stream);
  const bool transposed = parts.out_in != outputs_deep;  // the depth runs along rows of memory
  const auto key_of = [&](std::int64_t i, std::int64_t j) {
    return PackKey{dtype, blocks.wide(j).length(), blocks.depths(i).length(), transposed};
  };
  for (const std::int64_t i : {std::int64_t{0}, blocks.deep_blocks() - 1}) {
    for (const std::int64_t j : {std::int64_t{0}, blocks.wide_blocks() - 1}) products.prepare(key_of(i, j));
  }
  const std::int64_t staging_bytes = blocks.depth_block * blocks.column_block * element_bytes(dtype);
  const std::int64_t count = blocks.deep_blocks() * blocks.wide_blocks();
  stream.pool().parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
    std::byte* staging = stream.scratch(thread, static_cast<std::size_t>(staging_bytes));
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t i = block / blocks.wide_blocks();
      const std::int64_t j = block % blocks.wide_blocks();
      stage(parts, outputs_deep ? blocks.depths(i) : blocks.wide(j), outputs_deep ? blocks.wide(j) : blocks.depths(i),
            staging);
      products.pack(key_of(i, j), thread, staging, blocks.at(i, j));
    }
  });
}

void pack(Stream& stream, std::span<const View> weights, std::span<const View> biases, PackedWeight& packed) {
  const BlockedWeight& storage = blocked(packed);
  const Parts parts{weights, storage.part_outputs, storage.layout == WeightLayout::kOutIn};
  pack_blocks(stream, parts, storage.forward, false, storage.dtype);
  pack_blocks(stream, parts, storage.backward, true, storage.dtype);
  float* bias_floats = reinterpret_cast<float*>(storage.bias_floats.data());
  for (const View& bias : biases) {
    for (std::int64_t i = 0; i < bias.count(); ++i) {
      *bias_floats++ = bias.dtype == DType::kF32 ? bias.as<float>()[i] : tensor::to_float(bias.as<tensor::Bf16>()[i]);
    }
  }
}

// y = a b and what follows, over the rows of `whole` (its b and columns are ignored).
struct BlockedProduct {
  PackedProduct whole;
  const Blocks* b;
};

ProductKey key_of(const BlockedProduct& p, std::int64_t rows, std::int64_t i, std::int64_t j) {
  return {.dtype = p.whole.a.dtype,
          .m = rows,
          .n = p.b->wide(j).length(),
          .k = p.b->depths(i).length(),
          .lda = p.b->depths(i).length(),
          .ldb = 0,
          .ldc = p.b->wide(j).length(),
          .a_transposed = false,
          .accumulate = i > 0};
}

// Calls visit(rows, j) for the blocks of rows x wide blocks of the result that are one thread's.
template <class Visit>
void over_blocks(Range rows, Range wide, Visit&& visit) {
  for (std::int64_t row = rows.begin; row < rows.end; row += kRowBlock) {
    for (std::int64_t j = wide.begin; j < wide.end; ++j) visit(Range{row, std::min(row + kRowBlock, rows.end)}, j);
  }
}

// Rows of a, of the columns `depths` alone, one behind another: in place where they are so, else copied to `dense`. Of a product
// with a packed b whose other operand or result has gaps between its rows, oneDNN has no kernel but its reference, a thousand
// times slower.
const std::byte* dense_rows(const Operand& a, Range rows, Range depths, std::byte* dense) {
  const std::int64_t size = element_bytes(a.dtype);
  const auto* first = static_cast<const std::byte*>(a.data) + (rows.begin * a.stride + depths.begin) * size;
  if (a.stride == depths.length()) return first;
  const auto bytes = static_cast<std::size_t>(depths.length() * size);
  for (std::int64_t row = 0; row < rows.length(); ++row)
    std::memcpy(dense + static_cast<std::size_t>(row) * bytes, first + row * a.stride * size, bytes);
  return dense;
}

std::size_t sums_bytes(const Blocks& b) { return static_cast<std::size_t>(kRowBlock * b.column_block) * sizeof(float); }

void compute_block(const OneDnnProducts& products, const BlockedProduct& p, Range rows, std::int64_t j, int thread,
                   std::byte* scratch) {
  auto* sums = reinterpret_cast<float*>(scratch);
  std::byte* dense = scratch + sums_bytes(*p.b);
  for (std::int64_t i = 0; i < p.b->deep_blocks(); ++i) {
    products.multiply(key_of(p, rows.length(), i, j), thread, dense_rows(p.whole.a, rows, p.b->depths(i), dense),
                      p.b->at(i, j), sums);
  }
  PackedProduct part = p.whole;
  part.rows = rows;
  part.columns = p.b->wide(j);
  gemm().finish(part, sums, part.columns.length());
}

void multiply(Stream& stream, const BlockedProduct& p, std::int64_t rows) {
  OneDnnProducts& products = OneDnnProducts::of(stream);
  const std::int64_t wide_blocks = p.b->wide_blocks();
  const Grid grid = choose_grid(rows, wide_blocks, stream.threads(), 32, 1);
  for (int thread = 0; thread < stream.threads(); ++thread) {
    over_blocks(grid.rows(rows, thread), grid.columns(wide_blocks, thread), [&](Range block, std::int64_t j) {
      for (std::int64_t i = 0; i < p.b->deep_blocks(); ++i) products.prepare(key_of(p, block.length(), i, j));
    });
  }
  const std::size_t bytes =
      sums_bytes(*p.b) + static_cast<std::size_t>(kRowBlock * p.b->depth_block * element_bytes(p.whole.a.dtype));
  over_grid(stream, rows, wide_blocks, grid, [&](Range block_rows, Range wide, int thread) {
    std::byte* scratch = stream.scratch(thread, bytes);
    over_blocks(block_rows, wide,
                [&](Range block, std::int64_t j) { compute_block(products, p, block, j, thread, scratch); });
  });
}

Operand operand(const View& view) { return {view.data, view.dtype, view.stride(), false}; }

void forward(Stream& stream, const LinearForward& args) {
  const BlockedWeight& w = blocked(*args.w);
  BlockedProduct p{{}, &w.forward};
  p.whole.a = operand(args.x);
  p.whole.bias = w.has_bias ? reinterpret_cast<const float*>(w.bias_floats.data()) : nullptr;
  p.whole.activation = args.activation;
  p.whole.preactivation = args.preactivation;
  p.whole.residual = args.residual;
  p.whole.y = args.y;
  multiply(stream, p, args.x.rows());
}

void backward_input(Stream& stream, const LinearBackwardInput& args) {
  BlockedProduct p{{}, &blocked(*args.w).backward};
  p.whole.a = operand(args.dy);
  p.whole.y = args.dx;
  multiply(stream, p, args.dy.rows());
}

// dweight += dy^T x, or its transpose: one product a thread, straight into its block of dweight.
void add_part(Stream& stream, const View& left, const View& right, const MutableView& dweight) {
  OneDnnProducts& products = OneDnnProducts::of(stream);
  const std::int64_t rows = left.columns();
  const std::int64_t columns = right.columns();
  const auto key = [&](Range block_rows, Range block_columns) {
    return ProductKey{.dtype = left.dtype,
                      .m = block_rows.length(),
                      .n = block_columns.length(),
                      .k = left.rows(),
                      .lda = left.stride(),
                      .ldb = right.stride(),
                      .ldc = dweight.stride(),
                      .a_transposed = true,
                      .accumulate = true};
  };
  const Grid grid = choose_grid(rows, columns, stream.threads(), 32, 64);
  for (int thread = 0; thread < stream.threads(); ++thread) {
    const Range block_rows = grid.rows(rows, thread);
    const Range block_columns = grid.columns(columns, thread);
    if (block_rows.length() > 0 && block_columns.length() > 0) products.prepare(key(block_rows, block_columns));
  }
  over_grid(stream, rows, columns, grid, [&](Range block_rows, Range block_columns, int thread) {
    products.multiply(key(block_rows, block_columns), thread,
                      tensor::columns_of(left, block_rows.begin, block_rows.end).data,
                      tensor::columns_of(right, block_columns.begin, block_columns.end).data,
                      dweight.as<float>() + block_rows.begin * dweight.stride() + block_columns.begin);
  });
}

void backward_weight(Stream& stream, const LinearBackwardWeight& args) {
  const std::int64_t rows = args.x.rows();
  const bool out_in = args.layout == WeightLayout::kOutIn;
  std::int64_t first = 0;
  for (std::size_t part = 0; part < args.dweights.size() && rows > 0; ++part) {
    const MutableView& dweight = args.dweights[part];
    const std::int64_t outputs = out_in ? dweight.rows() : dweight.columns();
    const View dy = tensor::columns_of(args.dy, first, first + outputs);
    add_part(stream, out_in ? dy : args.x, out_in ? args.x : dy, dweight);
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

LinearTable onednn_linear_table() {
  return {.create = create,
          .pack = pack,
          .forward = forward,
          .backward_input = backward_input,
          .backward_weight = backward_weight};
}

}  // namespace convoy::ops::cpu

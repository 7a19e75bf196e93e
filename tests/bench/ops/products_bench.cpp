// SPDX-License-Identifier: Apache-2.0
// Rates of the linear layers and of attention in GFLOP/s (`items_per_second` counts floating-point operations), in CPU
// time of the calling thread. products_torch.py prints PyTorch's for the same shapes.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "libcore/ops/backend.h"
#include "libcore/tensor/tensor.h"

namespace convoy::ops {
namespace {

using tensor::Shape;
using tensor::Tensor;

Tensor filled(Shape shape, DType dtype) {
  Tensor x(shape, dtype);
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    const float value = static_cast<float>(i * 7919 % 1009) / 1009.0f - 0.5f;
    if (dtype == DType::kF32) x.as<float>()[i] = value;
    if (dtype == DType::kBF16) x.as<tensor::Bf16>()[i] = tensor::to_bf16(value);
  }
  return x;
}

DType dtype_of(const benchmark::State& state) { return state.range(0) == 0 ? DType::kF32 : DType::kBF16; }

// A layer [M, K] -> [M, N] with bias and GELU in forward, as the first of a feed-forward block.
struct Layer {
  explicit Layer(const benchmark::State& state)
      : dtype(dtype_of(state)), m(state.range(1)), k(state.range(2)), n(state.range(3)), outputs{n} {
    const View weights[] = {w.view()};
    const View biases[] = {bias.view()};
    pack_weight(stream, weights, biases, packed);
  }
  DType dtype;
  std::int64_t m, k, n;
  std::vector<std::int64_t> outputs;
  Stream stream{cpu_backend(), 1};
  Tensor x = filled({m, k}, dtype), w = filled({n, k}, dtype), bias = filled({n}, dtype), y = filled({m, n}, dtype);
  Tensor preactivation = filled({m, n}, dtype), dx = filled({m, k}, dtype);
  Tensor dweight = filled({n, k}, DType::kF32), dbias = filled({n}, DType::kF32);
  PackedWeight packed{stream, dtype, WeightLayout::kOutIn, outputs, k, true};
};

void report_product(benchmark::State& state, const Layer& layer) {
  state.SetItemsProcessed(2 * layer.m * layer.n * layer.k * state.iterations());
}

void forward(benchmark::State& state) {
  Layer layer(state);
  for (auto _ : state) {
    linear_forward(
        layer.stream,
        {.x = layer.x.view(), .w = &layer.packed, .preactivation = {}, .residual = {}, .y = layer.y.mutable_view()});
  }
  report_product(state, layer);
}

void forward_gelu(benchmark::State& state) {
  Layer layer(state);
  for (auto _ : state) {
    linear_forward(layer.stream, {.x = layer.x.view(),
                                  .w = &layer.packed,
                                  .activation = Activation::kGeluTanh,
                                  .preactivation = layer.preactivation.mutable_view(),
                                  .residual = {},
                                  .y = layer.y.mutable_view()});
  }
  report_product(state, layer);
}

void backward_input(benchmark::State& state) {
  Layer layer(state);
  for (auto _ : state) {
    linear_backward_input(layer.stream, {.dy = layer.y.view(), .w = &layer.packed, .dx = layer.dx.mutable_view()});
  }
  report_product(state, layer);
}

void backward_weight(benchmark::State& state) {
  Layer layer(state);
  const MutableView dweights[] = {layer.dweight.mutable_view()};
  const MutableView dbiases[] = {layer.dbias.mutable_view()};
  for (auto _ : state) {
    linear_backward_weight(layer.stream,
                           {.dy = layer.y.view(), .x = layer.x.view(), .dweights = dweights, .dbiases = dbiases});
  }
  report_product(state, layer);
}

// q, k and v side by side in one matrix.
struct Heads {
  explicit Heads(const benchmark::State& state)
      : dtype(dtype_of(state)), b(state.range(1)), h(state.range(2)), t(state.range(3)), d(state.range(4)) {}
  DType dtype;
  std::int64_t b, h, t, d;
  Stream stream{cpu_backend(), 1};
  Tensor qkv = filled({b * t, 3 * h*d}, dtype), dqkv = filled({b * t, 3 * h*d}, dtype);
  Tensor y = filled({b * t, h*d}, dtype), dy = filled({b * t, h*d}, dtype);
  Tensor log_sum_exp = filled({b, h, t}, DType::kF32);

  AttentionShape shape() const {
    return {.batch = b,
            .sequence = t,
            .query_heads = static_cast<int>(h),
            .key_value_heads = static_cast<int>(h),
            .head_size = static_cast<int>(d),
            .scale = 1.0f / std::sqrt(static_cast<float>(d))};
  }
  View part(int i) const { return tensor::columns_of(qkv.view(), i * h * d, (i + 1) * h * d); }
  MutableView dpart(int i) { return tensor::columns_of(dqkv.mutable_view(), i * h * d, (i + 1) * h * d); }
  void run_forward() {
    attention_forward(stream, {.shape = shape(),
                               .q = part(0),
                               .k = part(1),
                               .v = part(2),
                               .positions = {},
                               .y = y.mutable_view(),
                               .log_sum_exp = log_sum_exp.mutable_view()});
  }
  void run_backward() {
    attention_backward(stream, {.shape = shape(),
                                .q = part(0),
                                .k = part(1),
                                .v = part(2),
                                .positions = {},
                                .y = y.view(),
                                .log_sum_exp = log_sum_exp.view(),
                                .dy = dy.view(),
                                .dq = dpart(0),
                                .dk = dpart(1),
                                .dv = dpart(2)});
  }
};

// A product over the causal half: T^2 D multiply-adds a head and product, halved.
void report_attention(benchmark::State& state, const Heads& heads, int products) {
  state.SetItemsProcessed(products * heads.b * heads.h * heads.t * heads.t * heads.d * state.iterations());
}

void attention_forward_causal(benchmark::State& state) {
  Heads heads(state);
  for (auto _ : state) heads.run_forward();
  report_attention(state, heads, 2);
}

void attention_backward_causal(benchmark::State& state) {
  Heads heads(state);
  heads.run_forward();
  for (auto _ : state) heads.run_backward();
  report_attention(state, heads, 5);
}

// {dtype, M, K, N}: GPT-2 small's layers, a 15 M Llama's, and their classifiers on a block of rows.
void layers(benchmark::internal::Benchmark* bench) {
  for (const std::int64_t dtype : {0, 1}) {
    bench->Args({dtype, 1024, 768, 2304})->Args({dtype, 1024, 768, 768})->Args({dtype, 1024, 768, 3072});
    bench->Args({dtype, 1024, 3072, 768})->Args({dtype, 4096, 3072, 768})->Args({dtype, 256, 768, 50257});
    bench->Args({dtype, 512, 288, 288})->Args({dtype, 512, 288, 768})->Args({dtype, 512, 288, 32000});
  }
  bench->MinTime(0.3);
}

// {dtype, B, H, T, D}
void attentions(benchmark::internal::Benchmark* bench) {
  for (const std::int64_t dtype : {0, 1}) {
    bench->Args({dtype, 4, 12, 1024, 64})->Args({dtype, 4, 12, 256, 48})->Args({dtype, 4, 6, 256, 24});
  }
  bench->MinTime(0.5);
}

BENCHMARK(forward)->Apply(layers);
BENCHMARK(forward_gelu)->Apply(layers);
BENCHMARK(backward_input)->Apply(layers);
BENCHMARK(backward_weight)->Apply(layers);
BENCHMARK(attention_forward_causal)->Apply(attentions);
BENCHMARK(attention_backward_causal)->Apply(attentions);

}  // namespace
}  // namespace convoy::ops

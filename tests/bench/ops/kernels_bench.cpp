// SPDX-License-Identifier: Apache-2.0
// Rates of the memory-bound kernels beside that of a plain copy. `bytes_per_second` counts what an op must read and
// write once (an element that it updates counts twice), in CPU time of the calling thread, which is wall time on a
// quiet machine. Arguments: dtype (0 fp32, 1 bf16) and threads.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstring>

#include "libcore/ops/backend.h"
#include "libcore/tensor/tensor.h"

namespace convoy::ops {
namespace {

using tensor::Shape;
using tensor::Tensor;

constexpr std::int64_t kFlat = std::int64_t{1} << 24;
constexpr std::int64_t kRows = 8192, kColumns = 768, kVocabulary = 50257, kClassifierRows = 256;

// Written once, so that no page is touched first inside a measurement.
Tensor filled(Shape shape, DType dtype) {
  Tensor x(shape, dtype);
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    const float value = static_cast<float>(i % 977) / 977.0f - 0.3f;
    if (dtype == DType::kF32) x.as<float>()[i] = value;
    if (dtype == DType::kBF16) x.as<tensor::Bf16>()[i] = tensor::to_bf16(value);
    if (dtype == DType::kI32) x.as<std::int32_t>()[i] = static_cast<std::int32_t>(i * 7919 % 1009);
  }
  return x;
}

DType dtype_of(const benchmark::State& state) { return state.range(0) == 0 ? DType::kF32 : DType::kBF16; }
int threads_of(const benchmark::State& state) { return static_cast<int>(state.range(1)); }

void report(benchmark::State& state, std::int64_t elements, double bytes_an_element) {
  const double bytes = static_cast<double>(elements) * bytes_an_element * static_cast<double>(state.iterations());
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}

void copy(benchmark::State& state) {
  Stream stream(cpu_backend(), threads_of(state));
  const Tensor x = filled({kFlat}, DType::kF32);
  Tensor y = filled({kFlat}, DType::kF32);
  for (auto _ : state) {
    stream.pool().parallel_for(kFlat, 1024, [&](std::int64_t begin, std::int64_t end, int) {
      std::memcpy(y.as<float>() + begin, x.as<float>() + begin, static_cast<std::size_t>(end - begin) * sizeof(float));
    });
  }
  report(state, kFlat, 8);
}

void adamw(benchmark::State& state) {
  Stream stream(cpu_backend(), threads_of(state));
  const Tensor gradient = filled({kFlat}, DType::kF32);
  Tensor p = filled({kFlat}, DType::kF32), m = filled({kFlat}, DType::kF32), v = filled({kFlat}, DType::kF32),
         rounded = filled({kFlat}, DType::kBF16);
  const bool with_copy = dtype_of(state) == DType::kBF16;
  for (auto _ : state) {
    ops::adamw(stream, {.gradient = gradient.view(),
                        .parameter = p.mutable_view(),
                        .m = m.mutable_view(),
                        .v = v.mutable_view(),
                        .rounded = with_copy ? rounded.mutable_view() : MutableView{},
                        .rate = 1e-4f,
                        .weight_decay = 0.1f});
  }
  report(state, kFlat, with_copy ? 30 : 28);
}

void sum_of_squares(benchmark::State& state) {
  Stream stream(cpu_backend(), threads_of(state));
  const Tensor x = filled({kFlat}, DType::kF32);
  for (auto _ : state) {
    ExactSum sum;
    ops::sum_of_squares(stream, x.view(), sum);
    benchmark::DoNotOptimize(sum);
  }
  report(state, kFlat, 4);
}

void norm_forward(benchmark::State& state) {
  Stream stream(cpu_backend(), threads_of(state));
  const DType dtype = dtype_of(state);
  const Tensor x = filled({kRows, kColumns}, dtype), residual = filled({kRows, kColumns}, dtype),
               weight = filled({kColumns}, dtype);
  Tensor sum = filled({kRows, kColumns}, dtype), y = filled({kRows, kColumns}, dtype),
         mean = filled({kRows}, DType::kF32), rstd = filled({kRows}, DType::kF32);
  for (auto _ : state) {
    ops::layernorm_forward(stream, {.x = x.view(),
                                    .residual = residual.view(),
                                    .weight = weight.view(),
                                    .bias = weight.view(),
                                    .sum = sum.mutable_view(),
                                    .y = y.mutable_view(),
                                    .mean = mean.mutable_view(),
                                    .rstd = rstd.mutable_view()});
  }
  report(state, kRows * kColumns, 4.0 * static_cast<double>(tensor::size_of(dtype)));
}

void norm_backward(benchmark::State& state) {
  Stream stream(cpu_backend(), threads_of(state));
  const DType dtype = dtype_of(state);
  const Tensor dy = filled({kRows, kColumns}, dtype), sum = filled({kRows, kColumns}, dtype),
               weight = filled({kColumns}, dtype);
  const Tensor mean = filled({kRows}, DType::kF32), rstd = filled({kRows}, DType::kF32);
  Tensor dx = filled({kRows, kColumns}, dtype), dweight = filled({kColumns}, DType::kF32),
         dbias = filled({kColumns}, DType::kF32);
  for (auto _ : state) {
    ops::layernorm_backward(stream, {.dy = dy.view(),
                                     .dsum = {},
                                     .sum = sum.view(),
                                     .weight = weight.view(),
                                     .mean = mean.view(),
                                     .rstd = rstd.view(),
                                     .dx = dx.mutable_view(),
                                     .dweight = dweight.mutable_view(),
                                     .dbias = dbias.mutable_view()});
  }
  report(state, kRows * kColumns, 3.0 * static_cast<double>(tensor::size_of(dtype)));
}

void swiglu_forward(benchmark::State& state) {
  Stream stream(cpu_backend(), threads_of(state));
  const DType dtype = dtype_of(state);
  const Tensor gate_up = filled({kRows, 2 * kColumns}, dtype);
  Tensor y = filled({kRows, kColumns}, dtype);
  for (auto _ : state) ops::swiglu_forward(stream, {.gate_up = gate_up.view(), .y = y.mutable_view()});
  report(state, kRows * kColumns, 3.0 * static_cast<double>(tensor::size_of(dtype)));
}

void swiglu_backward(benchmark::State& state) {
  Stream stream(cpu_backend(), threads_of(state));
  const DType dtype = dtype_of(state);
  const Tensor gate_up = filled({kRows, 2 * kColumns}, dtype), dy = filled({kRows, kColumns}, dtype);
  Tensor dgate_up = filled({kRows, 2 * kColumns}, dtype);
  for (auto _ : state) {
    ops::swiglu_backward(stream, {.gate_up = gate_up.view(), .dy = dy.view(), .dgate_up = dgate_up.mutable_view()});
  }
  report(state, kRows * kColumns, 5.0 * static_cast<double>(tensor::size_of(dtype)));
}

void gelu_backward(benchmark::State& state) {
  Stream stream(cpu_backend(), threads_of(state));
  const DType dtype = dtype_of(state);
  const Tensor x = filled({kRows, kColumns}, dtype), dy = filled({kRows, kColumns}, dtype);
  Tensor dx = filled({kRows, kColumns}, dtype);
  for (auto _ : state) ops::gelu_backward(stream, {.x = x.view(), .dy = dy.view(), .dx = dx.mutable_view()});
  report(state, kRows * kColumns, 3.0 * static_cast<double>(tensor::size_of(dtype)));
}

void rotary(benchmark::State& state) {
  Stream stream(cpu_backend(), threads_of(state));
  const DType dtype = dtype_of(state);
  Tensor heads = filled({kRows, kColumns}, dtype);
  const Tensor table({1024, 32}, DType::kF32), positions = filled({kRows}, DType::kI32);
  for (auto _ : state) {
    ops::rotary(stream, {.heads = heads.mutable_view(),
                         .head_size = 64,
                         .cosine = table.view(),
                         .sine = table.view(),
                         .positions = positions.view()});
  }
  report(state, kRows * kColumns, 2.0 * static_cast<double>(tensor::size_of(dtype)));
}

void embedding_backward(benchmark::State& state) {
  Stream stream(cpu_backend(), threads_of(state));
  const DType dtype = dtype_of(state);
  const Tensor dy = filled({kRows, kColumns}, dtype), tokens = filled({kRows}, DType::kI32);
  Tensor dtable = filled({kVocabulary, kColumns}, DType::kF32);
  for (auto _ : state) {
    ops::embedding_backward(stream, {.tokens = tokens.view(),
                                     .first = 0,
                                     .positions = {},
                                     .dy = dy.view(),
                                     .dtable = dtable.mutable_view(),
                                     .dposition_table = {}});
  }
  report(state, kRows * kColumns, 8.0 + static_cast<double>(tensor::size_of(dtype)));
}

// The logits of a block of rows through all three functions, dlogits in the dtype of the argument.
struct Classifier {
  explicit Classifier(DType dtype) : dlogits(filled({kClassifierRows, kVocabulary}, dtype)) {}
  Tensor logits = filled({kClassifierRows, kVocabulary}, DType::kF32), targets = filled({kClassifierRows}, DType::kI32);
  Tensor maximum = filled({kClassifierRows}, DType::kF32), sum = filled({kClassifierRows}, DType::kF32);
  Tensor target_logit = filled({kClassifierRows}, DType::kF32), dlogits;
};

void classifier_maximum(benchmark::State& state) {
  Stream stream(cpu_backend(), threads_of(state));
  Classifier c(DType::kF32);
  for (auto _ : state)
    ops::classifier_maximum(stream, {.logits = c.logits.view(), .maximum = c.maximum.mutable_view()});
  report(state, kClassifierRows * kVocabulary, 4);
}

void classifier_sum(benchmark::State& state) {
  Stream stream(cpu_backend(), threads_of(state));
  Classifier c(DType::kF32);
  for (auto _ : state) {
    ops::classifier_sum(stream, {.logits = c.logits.view(),
                                 .maximum = c.maximum.view(),
                                 .targets = c.targets.view(),
                                 .sum = c.sum.mutable_view(),
                                 .target_logit = c.target_logit.mutable_view()});
  }
  report(state, kClassifierRows * kVocabulary, 4);
}

void classifier_backward(benchmark::State& state) {
  Stream stream(cpu_backend(), threads_of(state));
  Classifier c(dtype_of(state));
  for (auto _ : state) {
    ops::classifier_backward(stream, {.logits = c.logits.view(),
                                      .maximum = c.maximum.view(),
                                      .sum = c.sum.view(),
                                      .targets = c.targets.view(),
                                      .dlogits = c.dlogits.mutable_view()});
  }
  report(state, kClassifierRows * kVocabulary, 4.0 + static_cast<double>(tensor::size_of(dtype_of(state))));
}

void one_dtype(benchmark::internal::Benchmark* bench) {
  for (const int threads : {1, 2}) bench->Args({0, threads});
}
void both_dtypes(benchmark::internal::Benchmark* bench) {
  for (const int dtype : {0, 1}) {
    for (const int threads : {1, 2}) bench->Args({dtype, threads});
  }
}

BENCHMARK(copy)->Apply(one_dtype);
BENCHMARK(adamw)->Apply(both_dtypes);
BENCHMARK(sum_of_squares)->Apply(one_dtype);
BENCHMARK(norm_forward)->Apply(both_dtypes);
BENCHMARK(norm_backward)->Apply(both_dtypes);
BENCHMARK(swiglu_forward)->Apply(both_dtypes);
BENCHMARK(swiglu_backward)->Apply(both_dtypes);
BENCHMARK(gelu_backward)->Apply(both_dtypes);
BENCHMARK(rotary)->Apply(both_dtypes);
BENCHMARK(embedding_backward)->Apply(both_dtypes);
BENCHMARK(classifier_maximum)->Apply(one_dtype);
BENCHMARK(classifier_sum)->Apply(one_dtype);
BENCHMARK(classifier_backward)->Apply(both_dtypes);

}  // namespace
}  // namespace convoy::ops

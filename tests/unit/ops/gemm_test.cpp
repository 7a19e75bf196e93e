// SPDX-License-Identifier: Apache-2.0
// The kernels of the baseline instruction set beside the dispatched ones; what they compute is tested in
// linear_test.cpp.
#include "libcore/ops/cpu/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "libcore/device/arena.h"
#include "tests/unit/ops/op_test_support.h"

namespace convoy::ops::cpu {
namespace {

constexpr std::int64_t kRows = 43, kDepth = 347, kColumns = 71;
// Fused and separate multiply-adds round differently: some 1e-7 of sums of size 19, over 347 terms.
constexpr test::Tolerance kTolerance{0.0, 5e-5};

Operand operand(const test::Matrix& x, bool transposed = false) {
  return {x.view().data, x.view().dtype, x.view().stride(), transposed};
}

struct Results {
  test::Matrix y{kRows, kColumns, DType::kF32};
  test::Matrix c{kRows, kColumns, DType::kF32, test::filled(kRows* kColumns, 1.0)};
  test::Matrix a_sums{1, kRows, DType::kF32, test::filled(kRows, 2.0)};
  test::Matrix b_sums{1, kColumns, DType::kF32, test::filled(kColumns, 3.0)};
};

Results compute(const Gemm& gemm) {
  const test::Matrix a = test::random_matrix(kRows, kDepth, DType::kF32, 1);
  const test::Matrix b_transposed = test::random_matrix(kColumns, kDepth, DType::kBF16, 2);
  const std::int64_t whole = (kColumns + gemm.tile_columns - 1) / gemm.tile_columns * gemm.tile_columns;
  std::vector<float> packed(static_cast<std::size_t>(kDepth * whole));
  gemm.pack(operand(b_transposed, true), {0, kDepth}, {0, kColumns}, kDepth, packed.data());
  const device::Buffer scratch(std::max(gemm.multiply_scratch(kDepth, kColumns), gemm.accumulate_scratch(kColumns)),
                               {});
  Results results;
  gemm.multiply({.a = operand(a),
                 .b = packed.data(),
                 .depth = kDepth,
                 .rows = {0, kRows},
                 .columns = {0, kColumns},
                 .bias = nullptr,
                 .activation = Activation::kNone,
                 .preactivation = {},
                 .residual = {},
                 .y = results.y.view()},
                scratch.data());
  gemm.accumulate({.a = operand(a),
                   .b = operand(b_transposed, true),
                   .depth = kDepth,
                   .rows = {0, kRows},
                   .columns = {0, kColumns},
                   .c = results.c.view().as<float>(),
                   .stride = kColumns,
                   .a_sums = results.a_sums.view().as<float>(),
                   .b_sums = results.b_sums.view().as<float>()},
                  scratch.data());
  return results;
}

TEST(Gemm, BaselineAndDispatchedKernelsAgree) {
  if (!test::dispatches_to_vectors()) GTEST_SKIP() << "this processor has the baseline only";
  const Results vectors = compute(gemm());
  Results scalars;
  std::int64_t baseline_columns = 0;
  test::with_baseline_kernels([&] {
    const Gemm baseline = dispatched_gemm();
    baseline_columns = baseline.tile_columns;
    scalars = compute(baseline);
  });
  EXPECT_LT(baseline_columns, gemm().tile_columns);
  test::expect_close(vectors.y, scalars.y.values(), kTolerance, "y");
  test::expect_close(vectors.c, scalars.c.values(), kTolerance, "c");
  test::expect_close(vectors.a_sums, scalars.a_sums.values(), kTolerance, "a_sums");
  test::expect_close(vectors.b_sums, scalars.b_sums.values(), kTolerance, "b_sums");
}

}  // namespace
}  // namespace convoy::ops::cpu

// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"
#include "libcore/tensor/tensor.h"
#include "tests/unit/ops/dropout_bits.h"
#include "tests/unit/ops/op_test_support.h"

namespace convoy::ops {
namespace {

using tensor::Bf16;
using tensor::Shape;
using tensor::Tensor;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Outputs are averages of numbers of size 1, gradients sums over at most 300 terms of them.
constexpr double kFloatTolerance = 5e-5;
// bf16 inputs are exact in the reference; outputs are rounded to 8 bits, and backward reads a rounded y.
constexpr double kBf16Tolerance = 0.02;

struct Case {
  std::int64_t batch, sequence;
  int query_heads, key_value_heads, head_size;
  bool documents;
  DType dtype;
  int threads;
  double dropout = 0.0;
};

float number(const Tensor& x, std::int64_t i) {
  return x.dtype() == DType::kF32 ? x.as<float>()[i] : tensor::to_float(x.as<Bf16>()[i]);
}

Tensor random(Shape shape, DType dtype, unsigned seed) {
  Tensor x(shape, dtype);
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    const float value = normal(generator);
    if (dtype == DType::kF32) {
      x.as<float>()[i] = value;
    } else {
      x.as<Bf16>()[i] = tensor::to_bf16(value);
    }
  }
  return x;
}

// Inputs and outputs of both directions. q, k and v are columns of one fused matrix, as models hold them.
struct Attention {
  AttentionShape shape;
  Tensor qkv, positions, dy, y, log_sum_exp, dqkv;
  bool documents;
  AttentionDropout dropout;

  std::int64_t query_columns() const { return std::int64_t{shape.query_heads} * shape.head_size; }
  std::int64_t key_columns() const { return std::int64_t{shape.key_value_heads} * shape.head_size; }
  View q() const { return tensor::columns_of(qkv.view(), 0, query_columns()); }
  View k() const { return tensor::columns_of(qkv.view(), query_columns(), query_columns() + key_columns()); }
  View v() const {
    return tensor::columns_of(qkv.view(), query_columns() + key_columns(), query_columns() + 2 * key_columns());
  }
  View document_positions() const { return documents ? positions.view() : View(); }
  MutableView dq() { return tensor::columns_of(dqkv.mutable_view(), 0, query_columns()); }
  MutableView dk() { return tensor::columns_of(dqkv.mutable_view(), query_columns(), query_columns() + key_columns()); }
  MutableView dv() {
    return tensor::columns_of(dqkv.mutable_view(), query_columns() + key_columns(),
                              query_columns() + 2 * key_columns());
  }

  void forward(Stream& stream) {
    attention_forward(stream, {.shape = shape,
                               .q = q(),
                               .k = k(),
                               .v = v(),
                               .positions = document_positions(),
                               .y = y.mutable_view(),
                               .log_sum_exp = log_sum_exp.mutable_view(),
                               .dropout = dropout});
  }
  void backward(Stream& stream) {
    attention_backward(stream, {.shape = shape,
                                .q = q(),
                                .k = k(),
                                .v = v(),
                                .positions = document_positions(),
                                .y = y.view(),
                                .log_sum_exp = log_sum_exp.view(),
                                .dy = dy.view(),
                                .dq = dq(),
                                .dk = dk(),
                                .dv = dv(),
                                .dropout = dropout});
  }
};

// Documents of 1, 2, 3, ... tokens for the first sequence, of 50 for others.
void fill_positions(Tensor& positions, const Case& c) {
  for (std::int64_t b = 0; b < c.batch; ++b) {
    std::int64_t length = b == 0 ? 1 : 50;
    std::int64_t position = 0;
    for (std::int64_t t = 0; t < c.sequence; ++t) {
      positions.as<std::int32_t>()[b * c.sequence + t] = static_cast<std::int32_t>(position);
      if (++position < length) continue;
      position = 0;
      if (b == 0) ++length;
    }
  }
}

Attention make(const Case& c) {
  const std::int64_t rows = c.batch * c.sequence;
  const std::int64_t columns = std::int64_t{c.query_heads + 2 * c.key_value_heads} * c.head_size;
  const std::int64_t query_columns = std::int64_t{c.query_heads} * c.head_size;
  Attention a{.shape = {.batch = c.batch,
                        .sequence = c.sequence,
                        .query_heads = c.query_heads,
                        .key_value_heads = c.key_value_heads,
                        .head_size = c.head_size,
                        .scale = 1.0f / std::sqrt(static_cast<float>(c.head_size))},
              .qkv = random({rows, columns}, c.dtype, 1),
              .positions = Tensor({c.batch, c.sequence}, DType::kI32),
              .dy = random({rows, query_columns}, c.dtype, 2),
              .y = random({rows, query_columns}, c.dtype, 3),
              .log_sum_exp = Tensor({c.batch, c.query_heads, c.sequence}, DType::kF32),
              .dqkv = random({rows, columns}, c.dtype, 4),
              .documents = c.documents,
              .dropout = {.mask = make_dropout(c.dropout, 0x9876543210), .first_slot = 5, .first_head = 3}};
  fill_positions(a.positions, c);
  return a;
}

// What the probability of key j for query t is multiplied with.
double keep_factor(const AttentionDropout& dropout, std::int64_t sequence, std::int64_t head, std::int64_t t,
                   std::int64_t j) {
  const bool keeps = test::keeps_key(dropout.mask, dropout.first_slot + sequence, dropout.first_head + head, t, j);
  return keeps ? double{dropout.mask.scale} : 0.0;
}

// The same, one number after the other in double.
struct Reference {
  std::vector<double> y, log_sum_exp, dqkv;
};

Reference reference(const Attention& a) {
  const AttentionShape& s = a.shape;
  const std::int64_t size = s.head_size;
  const std::int64_t columns = a.qkv.shape().back();
  const std::int64_t rows = s.batch * s.sequence;
  Reference r;
  r.y.assign(static_cast<std::size_t>(rows * a.query_columns()), 0.0);
  r.log_sum_exp.assign(static_cast<std::size_t>(rows * s.query_heads), 0.0);
  r.dqkv.assign(static_cast<std::size_t>(rows * columns), 0.0);
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.query_heads; ++h) {
      const std::int64_t g = h / (s.query_heads / s.key_value_heads);
      const auto row = [&](std::int64_t t) { return b * s.sequence + t; };
      const auto q_at = [&](std::int64_t t, std::int64_t d) { return row(t) * columns + h * size + d; };
      const auto k_at = [&](std::int64_t t, std::int64_t d) {
        return row(t) * columns + a.query_columns() + g * size + d;
      };
      const auto v_at = [&](std::int64_t t, std::int64_t d) { return k_at(t, d) + a.key_columns(); };
      const auto y_at = [&](std::int64_t t, std::int64_t d) { return row(t) * a.query_columns() + h * size + d; };
      for (std::int64_t t = 0; t < s.sequence; ++t) {
        const std::int64_t first = a.documents ? t - a.positions.as<std::int32_t>()[row(t)] : 0;
        std::vector<double> p(static_cast<std::size_t>(s.sequence), 0.0);
        double total = 0.0;
        for (std::int64_t j = first; j <= t; ++j) {
          double score = 0.0;
          for (std::int64_t d = 0; d < size; ++d)
            score += double{number(a.qkv, q_at(t, d))} * number(a.qkv, k_at(j, d));
          p[static_cast<std::size_t>(j)] = std::exp(score * s.scale);
          total += p[static_cast<std::size_t>(j)];
        }
        r.log_sum_exp[static_cast<std::size_t>((b * s.query_heads + h) * s.sequence + t)] = std::log(total);
        double mean_dp = 0.0;
        std::vector<double> dp(static_cast<std::size_t>(s.sequence), 0.0);
        for (std::int64_t j = first; j <= t; ++j) {
          const auto js = static_cast<std::size_t>(j);
          p[js] /= total;
          const double factor = keep_factor(a.dropout, b, h, t, j);
          for (std::int64_t d = 0; d < size; ++d) {
            const double v = number(a.qkv, v_at(j, d));
            const double dy = number(a.dy, y_at(t, d));
            r.y[static_cast<std::size_t>(y_at(t, d))] += p[js] * factor * v;
            dp[js] += dy * factor * v;
            r.dqkv[static_cast<std::size_t>(v_at(j, d))] += p[js] * factor * dy;
          }
          mean_dp += p[js] * dp[js];
        }
        for (std::int64_t j = first; j <= t; ++j) {
          const auto js = static_cast<std::size_t>(j);
          const double dscore = p[js] * (dp[js] - mean_dp) * s.scale;
          for (std::int64_t d = 0; d < size; ++d) {
            r.dqkv[static_cast<std::size_t>(q_at(t, d))] += dscore * number(a.qkv, k_at(j, d));
            r.dqkv[static_cast<std::size_t>(k_at(j, d))] += dscore * number(a.qkv, q_at(t, d));
          }
        }
      }
    }
  }
  return r;
}

void expect_near(const Tensor& got, const std::vector<double>& expected, double tolerance, const char* what) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double allowed = tolerance * std::max(1.0, std::abs(expected[i]));
    ASSERT_NEAR(number(got, static_cast<std::int64_t>(i)), expected[i], allowed) << what << " element " << i;
  }
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return std::string(tensor::name_of(c.dtype)) + "B" + std::to_string(c.batch) + "T" + std::to_string(c.sequence) +
         "H" + std::to_string(c.query_heads) + "K" + std::to_string(c.key_value_heads) + "D" +
         std::to_string(c.head_size) + (c.documents ? "Documents" : "") + (c.dropout > 0.0 ? "Dropout" : "") +
         "Threads" + std::to_string(c.threads);
}

// A dropped probability leaves y without what all keys together make up: y is of size 1 / (1 - rate) then.
class AttentionAgainstReference : public testing::TestWithParam<Case> {};

TEST_P(AttentionAgainstReference, ForwardAndBackwardAgree) {
  const Case& c = GetParam();
  const double tolerance = c.dtype == DType::kF32 ? kFloatTolerance : kBf16Tolerance;
  Stream stream(cpu_backend(), c.threads);
  Attention a = make(c);
  const Reference expected = reference(a);
  a.forward(stream);
  expect_near(a.log_sum_exp, expected.log_sum_exp, kFloatTolerance, "log_sum_exp");
  expect_near(a.y, expected.y, tolerance, "y");
  a.backward(stream);
  expect_near(a.dqkv, expected.dqkv, tolerance, "dqkv");
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, AttentionAgainstReference,
    testing::Values(Case{1, 33, 2, 2, 24, false, DType::kF32, 1}, Case{2, 33, 4, 2, 24, true, DType::kF32, 2},
                    Case{1, 256, 1, 1, 48, false, DType::kF32, 1}, Case{2, 257, 2, 1, 17, true, DType::kF32, 3},
                    Case{1, 211, 6, 2, 64, false, DType::kF32, 2}, Case{1, 1, 1, 1, 1, false, DType::kF32, 1},
                    Case{3, 2, 3, 3, 2, true, DType::kF32, 4}, Case{1, 419, 1, 1, 7, true, DType::kF32, 1},
                    Case{2, 97, 4, 2, 24, true, DType::kBF16, 2}, Case{1, 128, 2, 2, 64, false, DType::kBF16, 1},
                    Case{1, 33, 2, 2, 24, false, DType::kF32, 1, 0.1},
                    Case{2, 211, 4, 2, 17, true, DType::kF32, 2, 0.5}, Case{1, 419, 1, 1, 7, true, DType::kF32, 1, 0.2},
                    Case{1, 256, 6, 2, 64, false, DType::kF32, 3, 0.1}, Case{3, 2, 3, 3, 2, true, DType::kF32, 4, 0.3},
                    Case{2, 97, 4, 2, 24, true, DType::kBF16, 2, 0.1}),
    case_name);

TEST(AttentionForward, HandComputedValues) {
  // Two positions, one head of one number: the second sees scores 0 and ln 3 and so weighs the values 1 : 3.
  Stream stream(cpu_backend(), 1);
  Tensor q({2, 1}, DType::kF32);
  Tensor k({2, 1}, DType::kF32);
  Tensor v({2, 1}, DType::kF32);
  Tensor y({2, 1}, DType::kF32);
  Tensor log_sum_exp({1, 1, 2}, DType::kF32);
  q.as<float>()[0] = 5.0f;
  q.as<float>()[1] = 2.0f;
  k.as<float>()[1] = std::log(3.0f);
  v.as<float>()[0] = 8.0f;
  v.as<float>()[1] = 4.0f;
  const AttentionShape shape{
      .batch = 1, .sequence = 2, .query_heads = 1, .key_value_heads = 1, .head_size = 1, .scale = 0.5f};
  attention_forward(stream, {.shape = shape,
                             .q = q.view(),
                             .k = k.view(),
                             .v = v.view(),
                             .positions = {},
                             .y = y.mutable_view(),
                             .log_sum_exp = log_sum_exp.mutable_view()});
  EXPECT_FLOAT_EQ(y.as<float>()[0], 8.0f);
  EXPECT_FLOAT_EQ(y.as<float>()[1], 5.0f);
  EXPECT_NEAR(log_sum_exp.as<float>()[0], 0.0f, 1e-6f);
  EXPECT_FLOAT_EQ(log_sum_exp.as<float>()[1], std::log(4.0f));
}

TEST(AttentionForward, SurvivesScoresFarBeyondTheRangeOfExp) {
  Stream stream(cpu_backend(), 1);
  Attention a = make({1, 40, 1, 1, 8, false, DType::kF32, 1});
  for (std::int64_t i = 0; i < a.qkv.shape().count(); ++i) a.qkv.as<float>()[i] *= 100.0f;
  a.forward(stream);
  a.backward(stream);
  for (const Tensor* x : {&a.y, &a.dqkv, &a.log_sum_exp}) {
    for (std::int64_t i = 0; i < x->shape().count(); ++i) ASSERT_TRUE(std::isfinite(number(*x, i))) << i;
  }
}

TEST(AttentionBackward, IsTheGradientOfForward) {
  constexpr float kStep = 1e-2f;
  // Third derivatives of size 1 times kStep^2, and rounding errors of 1e-6 over 2 kStep.
  constexpr double kDifferenceTolerance = 1e-3;
  for (const double dropout : {0.0, 0.4}) {
    Stream stream(cpu_backend(), 1);
    Attention a = make({1, 5, 2, 1, 3, true, DType::kF32, 1, dropout});
    a.forward(stream);
    a.backward(stream);
    const auto loss = [&] {
      a.forward(stream);
      double sum = 0.0;
      for (std::int64_t i = 0; i < a.y.shape().count(); ++i) sum += double{number(a.y, i)} * number(a.dy, i);
      return sum;
    };
    for (std::int64_t i = 0; i < a.qkv.shape().count(); ++i) {
      float& value = a.qkv.as<float>()[i];
      const float old = value;
      value = old + kStep;
      const double above = loss();
      value = old - kStep;
      const double below = loss();
      value = old;
      EXPECT_NEAR(number(a.dqkv, i), (above - below) / (2.0 * kStep), kDifferenceTolerance) << i;
    }
  }
}

TEST(Attention, GivesTheSameBitsWhateverTheTeam) {
  std::vector<float> one;
  for (const int threads : {1, 1, 3}) {
    Stream stream(cpu_backend(), threads);
    Attention a = make({2, 131, 4, 2, 20, true, DType::kF32, threads, 0.1});
    a.forward(stream);
    a.backward(stream);
    const std::vector<float> got(a.dqkv.as<float>(), a.dqkv.as<float>() + a.dqkv.shape().count());
    if (one.empty()) one = got;
    EXPECT_EQ(std::memcmp(one.data(), got.data(), got.size() * sizeof(float)), 0) << threads << " threads";
  }
}

TEST(Attention, DocumentsDoNotSeeEachOther) {
  // The second of two documents of 20 gives what it gives alone.
  Stream stream(cpu_backend(), 1);
  Attention both = make({1, 40, 1, 1, 6, true, DType::kF32, 1});
  for (int t = 0; t < 40; ++t) both.positions.as<std::int32_t>()[t] = t % 20;
  both.forward(stream);
  both.backward(stream);
  Attention alone = make({1, 20, 1, 1, 6, false, DType::kF32, 1});
  std::copy_n(both.qkv.as<float>() + 20 * 18, 20 * 18, alone.qkv.as<float>());
  std::copy_n(both.dy.as<float>() + 20 * 6, 20 * 6, alone.dy.as<float>());
  alone.forward(stream);
  alone.backward(stream);
  for (int i = 0; i < 20 * 6; ++i) EXPECT_NEAR(number(both.y, 20 * 6 + i), number(alone.y, i), kFloatTolerance) << i;
  for (int i = 0; i < 20 * 18; ++i) {
    EXPECT_NEAR(number(both.dqkv, 20 * 18 + i), number(alone.dqkv, i), kFloatTolerance) << i;
  }
}

TEST(Attention, AllocatesNothingInTheSecondStep) {
  Stream stream(cpu_backend(), 2);
  Attention a = make({2, 50, 2, 2, 8, true, DType::kBF16, 2, 0.1});
  test::expect_no_allocation(stream, [&] {
    a.forward(stream);
    a.backward(stream);
  });
}

TEST(Attention, KernelsOfAllInstructionSetsAgree) {
  for (const double dropout : {0.0, 0.3}) {
    const Case c{1, 131, 4, 2, 19, true, DType::kF32, 1, dropout};
    Stream dispatched(cpu_backend(), 1);
    Attention a = make(c);
    a.forward(dispatched);
    a.backward(dispatched);
    for (const AttentionTable& table : test::attention_tables()) {
      Backend backend = cpu_backend();
      backend.attention = table;
      Stream stream(backend, 1);
      Attention b = make(c);
      b.forward(stream);
      b.backward(stream);
      for (std::int64_t i = 0; i < a.y.shape().count(); ++i)
        ASSERT_NEAR(number(a.y, i), number(b.y, i), kFloatTolerance) << i;
      for (std::int64_t i = 0; i < a.dqkv.shape().count(); ++i)
        ASSERT_NEAR(number(a.dqkv, i), number(b.dqkv, i), kFloatTolerance) << i;
    }
  }
}

TEST(Attention, RefusesWrongShapesAndDtypes) {
  Stream stream(cpu_backend(), 1);
  const Case c{1, 4, 4, 2, 3, false, DType::kF32, 1};
  const auto forward = [&](auto change) {
    Attention a = make(c);
    AttentionForward args{.shape = a.shape,
                          .q = a.q(),
                          .k = a.k(),
                          .v = a.v(),
                          .positions = {},
                          .y = a.y.mutable_view(),
                          .log_sum_exp = a.log_sum_exp.mutable_view()};
    change(args);
    attention_forward(stream, args);
  };
  const auto refused = [](const char* text) { return ThrowsMessage<InternalError>(HasSubstr(text)); };
  EXPECT_NO_THROW(forward([](AttentionForward&) {}));
  EXPECT_THAT([&] { forward([](AttentionForward& f) { f.k = f.q; }); }, refused("attention_forward: k"));
  EXPECT_THAT([&] { forward([](AttentionForward& f) { f.v.dtype = DType::kBF16; }); }, refused("attention_forward: v"));
  EXPECT_THAT([&] { forward([](AttentionForward& f) { f.shape.key_value_heads = 3; }); }, refused("equally many"));
  EXPECT_THAT([&] { forward([](AttentionForward& f) { f.shape.scale = 0.0f; }); }, refused("the scale is positive"));
  EXPECT_THAT([&] { forward([](AttentionForward& f) { f.positions = f.log_sum_exp; }); },
              refused("attention_forward: positions"));
  Attention a = make(c);
  EXPECT_THAT(
      [&] {
        attention_backward(stream, {.shape = a.shape,
                                    .q = a.q(),
                                    .k = a.k(),
                                    .v = a.v(),
                                    .positions = {},
                                    .y = a.y.view(),
                                    .log_sum_exp = a.log_sum_exp.view(),
                                    .dy = a.dy.view(),
                                    .dq = a.dk(),
                                    .dk = a.dk(),
                                    .dv = a.dv()});
      },
      refused("attention_backward: dq"));
}

}  // namespace
}  // namespace convoy::ops

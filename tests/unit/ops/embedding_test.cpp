// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/embedding.h"

#include <gmock/gmock.h>

#include "tests/unit/ops/op_test_support.h"

namespace convoy::ops::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kPadding = 3;
const std::vector<std::int32_t> kTokens{4, 11, 0, 4, 4, 16, 3, 12, 5, 4, 200, 11, -1};  // 13 of them, some repeated
const std::vector<std::int32_t> kAt{0, 1, 2, 0, 1, 2, 3, 4, 5, 6, 6, 6, 0};

class EmbeddingTest : public OpTest {};
INSTANTIATE_TEST_SUITE_P(All, EmbeddingTest, testing::ValuesIn(op_cases()), name_of_case);

TEST_P(EmbeddingTest, ForwardOfHandValues) {
  const Matrix table(2, 3, dtype(), Values{1, 2, 3, 4, 5, 6}), places(2, 3, dtype(), Values{10, 20, 30, 40, 50, 60});
  const Matrix tokens = integers({1, 0}), positions = integers({0, 1}), y(2, 3, dtype());
  EmbeddingForward args{.tokens = tokens.view(),
                        .table = table.view(),
                        .first = 0,
                        .positions = positions.view(),
                        .position_table = places.view(),
                        .y = y.view()};
  embedding_forward(stream_, args);
  EXPECT_EQ(y.values(), (Values{14, 25, 36, 41, 52, 63}));
  args.positions = args.position_table = {};
  embedding_forward(stream_, args);
  EXPECT_EQ(y.values(), (Values{4, 5, 6, 1, 2, 3}));
}

TEST_P(EmbeddingTest, TokensOfOtherShardsAddNothing) {
  const Matrix table(2, 1, dtype(), Values{1, 2}), tokens = integers({4, 5, 6, 7}), y(4, 1, dtype());
  embedding_forward(stream_, {.tokens = tokens.view(),
                              .table = table.view(),
                              .first = 5,
                              .positions = {},
                              .position_table = {},
                              .y = y.view()});
  EXPECT_EQ(y.values(), (Values{0, 1, 2, 0}));

  const Matrix dy(4, 1, dtype(), Values{8, 16, 32, 64}), dtable(2, 1, DType::kF32, Values{1, 1});
  embedding_backward(stream_, {.tokens = tokens.view(),
                               .first = 5,
                               .positions = {},
                               .dy = dy.view(),
                               .dtable = dtable.view(),
                               .dposition_table = {}});
  EXPECT_EQ(dtable.values(), (Values{17, 33}));
}

// What the sum over the rows must give: table row t has 1 where tokens[n] == first + t, for every n.
Values scattered(const std::vector<std::int32_t>& ids, std::int64_t first, const Values& dy, const Values& before) {
  const std::size_t columns = dy.size() / ids.size();
  Values result = before;
  for (std::size_t n = 0; n < ids.size(); ++n) {
    const std::int64_t row = ids[n] - first;
    if (row < 0 || row >= static_cast<std::int64_t>(before.size() / columns)) continue;
    for (std::size_t c = 0; c < columns; ++c)
      result[static_cast<std::size_t>(row) * columns + c] += dy[n * columns + c];
  }
  return result;
}

TEST_P(EmbeddingTest, ForwardGathersRowsAndBackwardAddsThemUp) {
  for (const std::int64_t columns : {37, 131}) {
    const Matrix table = random_matrix(17, columns, dtype(), 1, kPadding),
                 places = random_matrix(7, columns, dtype(), 2, 1);
    const Matrix tokens = integers(kTokens), positions = integers(kAt), y(13, columns, dtype(), kPadding);
    const Matrix dy = random_matrix(13, columns, dtype(), 3, kPadding);
    const Matrix dtable = random_matrix(17, columns, DType::kF32, 4, 1),
                 dplaces = random_matrix(7, columns, DType::kF32, 5);
    const Values dtable_before = dtable.values(), dplaces_before = dplaces.values();

    embedding_forward(stream_, {.tokens = tokens.view(),
                                .table = table.view(),
                                .first = 0,
                                .positions = positions.view(),
                                .position_table = places.view(),
                                .y = y.view()});
    embedding_backward(stream_, {.tokens = tokens.view(),
                                 .first = 0,
                                 .positions = positions.view(),
                                 .dy = dy.view(),
                                 .dtable = dtable.view(),
                                 .dposition_table = dplaces.view()});

    Values expected;
    for (std::size_t n = 0; n < kTokens.size(); ++n) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const double token = kTokens[n] < 0 || kTokens[n] > 16
                                 ? 0.0
                                 : table.values()[static_cast<std::size_t>(kTokens[n] * columns + c)];
        expected.push_back(token + places.values()[static_cast<std::size_t>(kAt[n] * columns + c)]);
      }
    }
    expect_close(y, rounded(expected, dtype()), {dtype() == DType::kF32 ? 1e-7 : 4.2e-3, 0.0}, "y");
    expect_close(dtable, scattered(kTokens, 0, dy.values(), dtable_before), kFp32Tolerance, "dtable");
    expect_close(dplaces, scattered(kAt, 0, dy.values(), dplaces_before), kFp32Tolerance, "dposition_table");
  }
}

TEST(Embedding, BackwardAddsInTheOrderOfTheRows) {
  // In fp32 (2^24 + 1) + 1 stays 2^24, 1 + 1 + 2^24 does not.
  Stream three(cpu_backend(), 3);
  const Matrix tokens = integers({0, 0, 0}), dtable(1, 48, DType::kF32, filled(48, 0.0));
  Values dy = filled(48, 16'777'216.0);
  dy.insert(dy.end(), 96, 1.0);
  const Matrix rows(3, 48, DType::kF32, dy);
  embedding_backward(three, {.tokens = tokens.view(),
                             .first = 0,
                             .positions = {},
                             .dy = rows.view(),
                             .dtable = dtable.view(),
                             .dposition_table = {}});
  EXPECT_EQ(dtable.values(), filled(48, 16'777'216.0));
}

TEST_P(EmbeddingTest, DoesNotDependOnTheThreadsAndAllocatesNothing) {
  std::vector<std::int32_t> ids, at;
  for (std::int32_t i = 0; i < 601; ++i) {
    ids.push_back(i * i % 19);
    at.push_back(i % 7);
  }
  const Matrix tokens = integers(ids), positions = integers(at), dy = random_matrix(601, 131, dtype(), 7);
  const Matrix table = random_matrix(19, 131, dtype(), 6), places = random_matrix(7, 131, dtype(), 9);
  struct Results {
    explicit Results(DType dtype)
        : y(601, 131, dtype),
          dtable(random_matrix(19, 131, DType::kF32, 8)),
          dplaces(random_matrix(7, 131, DType::kF32, 10)) {}
    Matrix y, dtable, dplaces;
  };
  const auto both = [&](Stream& stream, const Results& results) {
    embedding_forward(stream, {.tokens = tokens.view(),
                               .table = table.view(),
                               .first = 0,
                               .positions = positions.view(),
                               .position_table = places.view(),
                               .y = results.y.view()});
    embedding_backward(stream, {.tokens = tokens.view(),
                                .first = 0,
                                .positions = positions.view(),
                                .dy = dy.view(),
                                .dtable = results.dtable.view(),
                                .dposition_table = results.dplaces.view()});
  };
  const Results one(dtype()), other(dtype());
  Stream three(backend(), 3);
  both(stream_, one);
  both(three, other);
  EXPECT_EQ(one.y.bytes(), other.y.bytes());
  EXPECT_EQ(one.dtable.bytes(), other.dtable.bytes());
  EXPECT_EQ(one.dplaces.bytes(), other.dplaces.bytes());
  expect_no_allocation(three, [&] { both(three, other); });
}

TEST(Embedding, RefusesWrongShapesAndPositions) {
  Stream stream(cpu_backend(), 1);
  const Matrix table(5, 4, DType::kF32), half(5, 4, DType::kBF16), y(2, 4, DType::kF32), tokens = integers({0, 1});
  const Matrix outside = integers({0, 5});
  EmbeddingForward args{
      .tokens = tokens.view(), .table = half.view(), .first = 0, .positions = {}, .position_table = {}, .y = y.view()};
  EXPECT_THAT(refusal_of([&] { embedding_forward(stream, args); }),
              HasSubstr("table: expected fp32 [5, 4], found bf16"));
  args.table = args.position_table = table.view();
  EXPECT_THAT(refusal_of([&] { embedding_forward(stream, args); }),
              HasSubstr("positions: expected i32 of 2 dense elements, but"));
  args.positions = outside.view();
  EXPECT_THAT(refusal_of([&] { embedding_forward(stream, args); }),
              HasSubstr("every position lies in the position table"));
  EmbeddingBackward backward{.tokens = tokens.view(),
                             .first = 0,
                             .positions = outside.view(),
                             .dy = y.view(),
                             .dtable = half.view(),
                             .dposition_table = table.view()};
  EXPECT_THAT(refusal_of([&] { embedding_backward(stream, backward); }), HasSubstr("dtable: expected fp32"));
  backward.dtable = table.view();
  EXPECT_THAT(refusal_of([&] { embedding_backward(stream, backward); }),
              HasSubstr("every position lies in the position table"));
}

}  // namespace
}  // namespace convoy::ops::test

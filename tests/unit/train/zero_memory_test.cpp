// SPDX-License-Identifier: Apache-2.0
// The bytes that a rank keeps for each parameter under every stage of ZeRO, by the table of docs/train.md.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "libcore/model/model.h"
#include "libcore/ops/backend.h"
#include "libcore/optim/adamw.h"

namespace convoy::train {
namespace {

using tensor::DType;

// All sizes are multiples of 64 elements, where shares are cut and beyond which no memory is rounded up.
model::Config even() {
  model::Config config = model::preset("gpt2-124m");
  config.width = 64;
  config.heads = 4;
  config.key_value_heads = 4;
  config.head_size = 16;
  config.ffn_width = 256;
  config.vocabulary = 256;
  config.positions = 64;
  config.layers = 4;
  config.dropout = {};
  return config;
}

// By hand, of even(): two embeddings; a layer's matrices 4 C C + 2 C F and its vectors 9 C + F (two norms of 2 C, four
// biases of C, one of F, another of C); the last norm.
constexpr std::int64_t kEmbeddings = 256 * 64 + 64 * 64;
constexpr std::int64_t kMatrices = 4 * 64 * 64 + 2 * 64 * 256;
constexpr std::int64_t kVectors = 9 * 64 + 256;
constexpr std::int64_t kLastNorm = 2 * 64;
constexpr std::int64_t kElements = kEmbeddings + 4 * (kMatrices + kVectors) + kLastNorm;

struct Bytes {
  double kept = 0.0, room = 0.0;
};

Bytes bytes_of(const model::Config& config, int zero, DType dtype, int ranks, int rank) {
  const std::vector<model::LocalParameter> table = model::local_parameters(config, model::whole_model(config));
  model::Parameters parameters(table, dtype, true, parallel::sharding_of(zero, ranks, rank), config.layers);
  const optim::AdamW optimizer(parameters, {});
  return {static_cast<double>(parameters.kept_weight_bytes() + parameters.kept_gradient_bytes() + optimizer.bytes()),
          static_cast<double>(parameters.room_bytes())};
}

// Of every parameter on each of `d` ranks: what all keep, and what they share.
struct Row {
  double whole, shared;
};
Row row(int zero, DType dtype) {
  const bool fp32 = dtype == DType::kF32;
  switch (zero) {
    case 0:
      return {fp32 ? 16.0 : 18.0, 0.0};
    case 1:
      return fp32 ? Row{8.0, 8.0} : Row{6.0, 12.0};
    case 2:
      return fp32 ? Row{4.0, 12.0} : Row{2.0, 16.0};
    default:
      return {0.0, fp32 ? 16.0 : 18.0};
  }
}

TEST(ZeroMemory, KeepsTheBytesAParameterThatTheTableSays) {
  const model::Config config = even();
  const auto tensors = static_cast<double>(model::parameter_table(config).size());
  ASSERT_EQ(model::parameter_count(model::parameter_table(config)), kElements);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (int zero = 0; zero <= 3; ++zero) {
      for (const int ranks : {1, 2, 4}) {
        SCOPED_TRACE("zero " + std::to_string(zero) + ", ranks " + std::to_string(ranks));
        const Row expected = row(zero, dtype);
        const double mean = kElements * (expected.whole + expected.shared / ranks);
        double sum = 0.0;
        for (int rank = 0; rank < ranks; ++rank) {
          const double kept = bytes_of(config, zero, dtype, ranks, rank).kept;
          sum += kept;
          // Blocks of 64 elements are not cut: of each tensor a rank has less than one more or fewer than the others.
          EXPECT_LT(std::abs(kept - mean), ranks == 1 ? 1.0 : tensors * 64.0 * expected.shared + 1.0)
              << "rank " << rank;
        }
        EXPECT_DOUBLE_EQ(sum, ranks * mean);
      }
    }
  }
}

// A share is at most a block of 64 elements more than its part of a tensor whose last block is not full, and each piece
// of memory is rounded up to 64 bytes: of weights, gradients, masters and both moments.
TEST(ZeroMemory, UnevenTensorsCostAtMostABlockEachMore) {
  model::Config config = even();
  config.vocabulary = 257;
  config.ffn_width = 251;
  const auto elements = static_cast<double>(model::parameter_count(model::parameter_table(config)));
  const auto tensors = static_cast<double>(model::parameter_table(config).size());
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (int zero = 0; zero <= 3; ++zero) {
      for (int rank = 0; rank < 3; ++rank) {
        const Row expected = row(zero, dtype);
        const double kept = bytes_of(config, zero, dtype, 3, rank).kept;
        EXPECT_LE(kept,
                  elements * (expected.whole + expected.shared / 3) + tensors * (64.0 * expected.shared + 5 * 64.0))
            << "zero " << zero << ", rank " << rank;
      }
    }
  }
}

// Two layers' matrices, and all else that is small or of no layer.
TEST(ZeroMemory, RoomsAreThoseOfTwoLayersHoweverManyThereAre) {
  model::Config config = even();
  for (const std::int64_t layers : {2, 4, 12}) {
    config.layers = layers;
    const double room = kEmbeddings + static_cast<double>(layers) * kVectors + kLastNorm + 2.0 * kMatrices;
    EXPECT_EQ(bytes_of(config, 0, DType::kF32, 2, 0).room, 0.0);
    EXPECT_EQ(bytes_of(config, 1, DType::kF32, 2, 0).room, 0.0);
    EXPECT_EQ(bytes_of(config, 2, DType::kBF16, 2, 0).room, 4.0 * room);
    EXPECT_EQ(bytes_of(config, 3, DType::kF32, 2, 0).room, 8.0 * room);
    EXPECT_EQ(bytes_of(config, 3, DType::kBF16, 2, 0).room, 6.0 * room);
    EXPECT_EQ(bytes_of(config, 3, DType::kF32, 1, 0).room, 0.0);
  }
}

// What is packed for the matrix unit comes and goes with the layers too.
TEST(ZeroMemory, PackedWeightsAreThoseOfTwoLayersUnderZeroThree) {
  const auto packed = [](int zero, std::int64_t layers) {
    model::Config config = even();
    config.layers = layers;
    device::Stream stream(ops::cpu_backend(), 1);
    const model::Shard shard = model::whole_model(config);
    model::Parameters parameters(model::local_parameters(config, shard), DType::kF32, true,
                                 parallel::sharding_of(zero, 2, 0), config.layers);
    const model::Model model(stream, config, parameters, shard, {.batch = 1, .sequence = 8});
    return model.packed_bytes();
  };
  EXPECT_EQ(packed(3, 2), packed(0, 2));
  EXPECT_EQ(packed(3, 5), packed(3, 2));
  EXPECT_GT(packed(0, 5), packed(0, 2));
}

}  // namespace
}  // namespace convoy::train

// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/recompute.h"

#include <gtest/gtest.h>

#include "libcore/base/error.h"
#include "libcore/model/activation_plan.h"
#include "libcore/model/model.h"
#include "libcore/ops/backend.h"
#include "libcore/tensor/dtype.h"

namespace convoy::model {
namespace {

using tensor::DType;

// 2 sequences of 8 tokens. All tensors are whole multiples of the 64 bytes at which an arena's pieces start.
constexpr std::int64_t kRows = 16, kWidth = 16, kHeads = 4, kHeadSize = 4;
constexpr std::size_t kFloat = 4;
constexpr std::size_t kStream = kRows * kWidth * kFloat;     // [B T, C]
constexpr std::size_t kStatistic = kRows * kFloat;           // [B T]
constexpr std::size_t kLogSumExp = kRows * kHeads * kFloat;  // [B, H, T]

Config config_of(Architecture architecture, std::int64_t layers) {
  Config c;
  c.architecture = architecture;
  c.vocabulary = 13;
  c.layers = layers;
  c.width = kWidth;
  c.heads = kHeads;
  c.head_size = kHeadSize;
  c.key_value_heads = architecture == Architecture::kGpt2 ? 4 : 2;
  c.ffn_width = architecture == Architecture::kGpt2 ? 64 : 24;
  c.positions = 8;
  return c;
}

// Of a model whose first `held` layers are this rank's one chunk, with `sets` micro-batches in flight.
std::size_t bytes_of(const Config& config, std::int64_t held, int sets, Recompute recompute) {
  device::Stream stream(ops::cpu_backend(), 1);
  Shard shard;
  shard.layers = {0, held};
  shard.last = held == config.layers;
  Parameters parameters(local_parameters(config, shard), DType::kF32, true);
  const Model model(stream, config, parameters, shard,
                    {.batch = 2, .sequence = 8, .sets = {sets}, .recompute = recompute});
  return model.activation_bytes();
}

std::size_t bytes_of_one_more_layer(Architecture architecture, Recompute recompute) {
  return bytes_of(config_of(architecture, 5), 5, 1, recompute) - bytes_of(config_of(architecture, 4), 4, 1, recompute);
}

// Widths in units of C: two norms' sums and outputs (4), q, k and v (3), heads (1), before and behind GELU (4 + 4).
TEST(RecomputedMemory, OfALayerOfGpt2IsWhatItsTensorsTake) {
  const std::size_t statistics = 4 * kStatistic;  // mean and inverse deviation of two norms
  EXPECT_EQ(bytes_of_one_more_layer(Architecture::kGpt2, Recompute::kNone), 16 * kStream + statistics + kLogSumExp);
  // Without the norms' outputs and that of GELU.
  EXPECT_EQ(bytes_of_one_more_layer(Architecture::kGpt2, Recompute::kSelective), 10 * kStream + kLogSumExp);
  EXPECT_EQ(bytes_of_one_more_layer(Architecture::kGpt2, Recompute::kFull), kStream);
}

// Two norms' sums and outputs (4 C), q (1 C), k and v (half each), heads (1 C), gate and up (48 = 3 C), their product
// (24 = 1.5 C).
TEST(RecomputedMemory, OfALayerOfLlamaIsWhatItsTensorsTake) {
  EXPECT_EQ(bytes_of_one_more_layer(Architecture::kLlama, Recompute::kNone),
            23 * kStream / 2 + 2 * kStatistic + kLogSumExp);
  EXPECT_EQ(bytes_of_one_more_layer(Architecture::kLlama, Recompute::kSelective), 8 * kStream + kLogSumExp);
  EXPECT_EQ(bytes_of_one_more_layer(Architecture::kLlama, Recompute::kFull), kStream);
}

// A stage of three layers, with a micro-batch more in flight.
TEST(RecomputedMemory, OfOneMoreMicroBatchInFlightIsItsLayersInputs) {
  for (const Architecture architecture : {Architecture::kGpt2, Architecture::kLlama}) {
    const Config config = config_of(architecture, 6);
    const auto one_more = [&](Recompute recompute) {
      return bytes_of(config, 3, 4, recompute) - bytes_of(config, 3, 3, recompute);
    };
    EXPECT_EQ(one_more(Recompute::kFull), 3 * kStream);
    EXPECT_EQ(one_more(Recompute::kSelective), 3 * bytes_of_one_more_layer(architecture, Recompute::kSelective));
    EXPECT_EQ(one_more(Recompute::kNone), 3 * bytes_of_one_more_layer(architecture, Recompute::kNone));
  }
}

// The last stage keeps the final norm's input of each micro-batch, too.
TEST(RecomputedMemory, OfTheLastStageIsTheInputsOfItsLayersAndOfTheFinalNorm) {
  const Config config = config_of(Architecture::kGpt2, 3);
  EXPECT_EQ(bytes_of(config, 3, 4, Recompute::kFull) - bytes_of(config, 3, 3, Recompute::kFull), 4 * kStream);
}

TEST(RecomputedMemory, OfASingleLayerIsThatOfKeepingIt) {
  const Config config = config_of(Architecture::kLlama, 1);
  EXPECT_EQ(bytes_of(config, 1, 1, Recompute::kFull), bytes_of(config, 1, 1, Recompute::kNone));
}

TEST(ActivationPlan, GivesWhatIsMadeAgainTheMemoryOfTheFirstSet) {
  Workspace workspace;
  ActivationPlan plan(workspace, Recompute::kSelective);
  tensor::MutableView product[2], rows[2];
  for (int set = 0; set < 2; ++set) {
    plan.plan(product[set], {4, 16}, DType::kF32, Remaking::kProduct);
    plan.plan(rows[set], {2, 16}, DType::kF32, Remaking::kRows);
    plan.next_set();
  }
  workspace.allocate();
  EXPECT_NE(product[0].data, product[1].data);
  EXPECT_EQ(rows[0].data, rows[1].data);
  EXPECT_NE(rows[0].data, product[1].data);
  EXPECT_EQ(rows[1].shape, (tensor::Shape{2, 16}));
  EXPECT_EQ(workspace.bytes(), std::size_t{2 * 256 + 128});
}

TEST(Recompute, HasTheNamesOfItsFlag) {
  for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull})
    EXPECT_EQ(parse_recompute(name_of(recompute)), recompute);
  EXPECT_EQ(parse_recompute("full"), Recompute::kFull);
  EXPECT_THROW(parse_recompute("everything"), InternalError);
}

}  // namespace
}  // namespace convoy::model

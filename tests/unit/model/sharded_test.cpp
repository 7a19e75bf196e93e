// SPDX-License-Identifier: Apache-2.0
// A model that ranks share against the same model on one rank: extents that no number of ranks divides, every layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "libcore/base/error.h"
#include "libcore/comm/threads.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/classifier.h"
#include "libcore/ops/optimizer.h"
#include "tests/unit/model/forward_backward.h"
#include "tests/unit/model/sharded_run.h"
#include "tests/unit/ops/allocation_counter.h"

namespace convoy::model {
namespace {

using parallel::ScheduleKind;
using tensor::DType;
using tensor::Tensor;

constexpr std::int64_t kBatch = 2, kSequence = 7;
constexpr std::uint64_t kSeed = 11;
constexpr float kScale = 0.25f;
// Sums of a few hundred fp32 terms in another order.
constexpr double kRounding = 1e-5;

// Four heads for up to four ranks; an odd vocabulary, ten ffn columns and three layers, which they do not divide.
Config tiny(Architecture architecture, bool tied) {
  Config c;
  c.architecture = architecture;
  c.vocabulary = 13;
  c.layers = 3;
  c.width = 16;
  c.heads = c.key_value_heads = 4;
  c.head_size = 4;
  c.ffn_width = 10;
  c.positions = kSequence + 1;
  c.tied_embeddings = tied;
  c.attention_bias = c.mlp_bias = true;
  c.initializer_range = 0.5;
  return c;
}

struct Data {
  std::vector<Tensor> tokens, targets, positions;
  std::vector<Batch> batches;

  Data(const Config& config, int micro_batches, bool documents, std::int64_t batch = kBatch,
       std::int64_t sequence = kSequence) {
    const auto filled = [&](std::int64_t factor, std::int64_t offset, std::int64_t modulus) {
      Tensor made({batch, sequence}, DType::kI32);
      for (std::int64_t i = 0; i < batch * sequence; ++i)
        made.as<std::int32_t>()[i] = static_cast<std::int32_t>((i * factor + offset) % modulus);
      return made;
    };
    for (int i = 0; i < micro_batches; ++i) {
      tokens.push_back(filled(5, 3 + i, config.vocabulary));
      targets.push_back(filled(7, 1 + 2 * i, config.vocabulary));
      targets.back().as<std::int32_t>()[(4 + i) % (batch * sequence)] = ops::kIgnoredTarget;
      Tensor position({batch, sequence}, DType::kI32);
      for (std::int64_t j = 0; j < batch * sequence; ++j) {
        const std::int64_t t = j % sequence;
        position.as<std::int32_t>()[j] = static_cast<std::int32_t>(t < 3 + i % 2 ? t : t - (3 + i % 2));
      }
      positions.push_back(std::move(position));
    }
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      batches.push_back({.tokens = tokens[i].view(), .targets = targets[i].view(), .positions = {}});
      if (documents) batches.back().positions = positions[i].view();
    }
  }
  // From slot 4 of a step's global batch on.
  void draw_masks() {
    for (std::size_t i = 0; i < batches.size(); ++i)
      batches[i].dropout = {.seed = 5, .step = 3, .first_slot = 4 + static_cast<std::int64_t>(i) * kBatch};
  }
};

// Random everywhere, norms and biases too: a bias that two ranks add, or a norm's gradient that one lacks, shows.
void fill(ShardedRun& run) {
  for (std::size_t i = 0; i < run.parameters().size(); ++i) {
    LocalParameter parameter = run.parameters().table()[i];
    const bool is_one = parameter.init == Init::kOne;
    parameter.init = Init::kNormal;
    parameter.init_std = 0.3;
    const tensor::MutableView values = tensor::flat_part(run.optimizer().master(i), 0, parameter.box.count());
    initial_values(parameter, {0, values.count()}, kSeed, run.stream(), values);
    for (std::int64_t j = 0; is_one && j < values.count(); ++j) values.as<float>()[j] += 1.0f;
  }
  run.publish();
}

struct Outcome {
  LossSum evaluated, trained;
  double norm = 0.0;
  Gathered gradients, weights;
};

ShardedOptions options_of(int tensor, int pipeline, int micro_batches, DType dtype = DType::kF32,
                          ScheduleKind schedule = ScheduleKind::kOneForwardOneBackward) {
  ShardedOptions options{.layout = {}, .dtype = dtype, .batch = kBatch, .sequence = kSequence};
  options.layout.tensor = tensor;
  options.layout.pipeline = pipeline;
  options.layout.schedule = schedule;
  options.micro_batches = micro_batches;
  return options;
}

void run_step(const Config& config, const ShardedOptions& options, const Data& data, Outcome& outcome) {
  comm::run_ranks(options.layout.world(), [&](comm::Communicator& world) {
    ShardedRun run(world, config, options, {});
    fill(run);
    const LossSum evaluated = run.evaluate(data.batches);
    const LossSum trained = run.accumulate(data.batches, kScale);
    const double norm = run.gradient_norm();
    for (const int count : run.reports()) EXPECT_EQ(count, 1);
    run.gather_gradients(outcome.gradients);
    run.step(1e-2, 1, norm);
    run.gather_weights(outcome.weights);
    if (world.rank() != 0) return;
    outcome.evaluated = evaluated;
    outcome.trained = trained;
    outcome.norm = norm;
  });
}

void expect_near(const Gathered& got, const Gathered& expected) {
  ASSERT_EQ(got.tensors().size(), expected.tensors().size());
  for (const auto& [name, tensor] : expected.tensors()) {
    const auto *a = got.tensors().at(name).as<float>(), *b = tensor.as<float>();
    for (std::int64_t i = 0; i < tensor.shape().count(); ++i)
      ASSERT_NEAR(a[i], b[i], kRounding + kRounding * std::abs(b[i])) << name << ", element " << i;
  }
}

void expect_same_bits(const Gathered& got, const Gathered& expected) {
  ASSERT_EQ(got.tensors().size(), expected.tensors().size());
  for (const auto& [name, tensor] : expected.tensors()) {
    const std::size_t bytes = static_cast<std::size_t>(tensor.shape().count()) * sizeof(float);
    EXPECT_EQ(std::memcmp(got.tensors().at(name).as<float>(), tensor.as<float>(), bytes), 0) << name;
  }
}

struct Choice {
  const char* name;
  Architecture architecture;
  bool tied, documents;
};

class Sharded : public testing::TestWithParam<Choice> {
 protected:
  const Config config = tiny(GetParam().architecture, GetParam().tied);
};

TEST_P(Sharded, ComputesWhatOneRankComputes) {
  constexpr int kMicroBatches = 3;
  const Data data(config, kMicroBatches, GetParam().documents);
  Outcome one;
  run_step(config, options_of(1, 1, kMicroBatches), data, one);
  for (const auto& [tensor, pipeline] : {std::pair{2, 1}, {4, 1}, {1, 2}, {1, 3}, {2, 2}, {4, 2}}) {
    for (const ScheduleKind schedule : {ScheduleKind::kOneForwardOneBackward, ScheduleKind::kGpipe}) {
      if (pipeline == 1 && schedule == ScheduleKind::kGpipe) continue;
      SCOPED_TRACE(testing::Message() << "tensor " << tensor << ", pipeline " << pipeline);
      Outcome got;
      run_step(config, options_of(tensor, pipeline, kMicroBatches, DType::kF32, schedule), data, got);
      EXPECT_EQ(got.trained.targets, one.trained.targets);
      EXPECT_NEAR(got.evaluated.sum, one.evaluated.sum, kRounding * one.evaluated.sum);
      EXPECT_NEAR(got.trained.sum, one.trained.sum, kRounding * one.trained.sum);
      EXPECT_NEAR(got.norm, one.norm, kRounding * one.norm);
      expect_near(got.gradients, one.gradients);
    }
  }
}

// Two and four ranks share one key/value head, four share two: whose gradients are then sums over them.
TEST(ShardedModel, ComputesWhatOneRankComputesWhereRanksShareAKeyValueHead) {
  constexpr int kMicroBatches = 2;
  for (const auto& [heads, tensor, pipeline] : {std::tuple{1, 2, 1}, {1, 4, 1}, {2, 4, 1}, {1, 2, 2}, {2, 4, 3}}) {
    SCOPED_TRACE(testing::Message() << heads << " heads, tensor " << tensor << ", pipeline " << pipeline);
    Config config = tiny(Architecture::kLlama, false);
    config.key_value_heads = heads;
    const Data data(config, kMicroBatches, true);
    Outcome one, got;
    run_step(config, options_of(1, 1, kMicroBatches), data, one);
    run_step(config, options_of(tensor, pipeline, kMicroBatches), data, got);
    EXPECT_NEAR(got.evaluated.sum, one.evaluated.sum, kRounding * one.evaluated.sum);
    EXPECT_NEAR(got.trained.sum, one.trained.sum, kRounding * one.trained.sum);
    EXPECT_NEAR(got.norm, one.norm, kRounding * one.norm);
    expect_near(got.gradients, one.gradients);
  }
}

ShardedOptions interleaved(int tensor, int pipeline, int chunks, int micro_batches, DType dtype = DType::kF32) {
  ShardedOptions options = options_of(tensor, pipeline, micro_batches, dtype, ScheduleKind::kInterleaved);
  options.layout.virtual_stages = chunks;
  return options;
}

// Six layers in four or six chunks.
TEST_P(Sharded, InterleavedChunksComputeWhatOneRankComputes) {
  Config six = config;
  six.layers = 6;
  for (const int micro_batches : {1, 3}) {
    const Data data(six, micro_batches, GetParam().documents);
    Outcome one;
    run_step(six, options_of(1, 1, micro_batches), data, one);
    for (const auto& [tensor, pipeline, chunks] : {std::tuple{1, 2, 2}, {1, 2, 3}, {1, 3, 2}, {2, 2, 2}}) {
      SCOPED_TRACE(testing::Message() << "tensor " << tensor << ", pipeline " << pipeline << ", chunks " << chunks
                                      << ", micro-batches " << micro_batches);
      Outcome got;
      run_step(six, interleaved(tensor, pipeline, chunks, micro_batches), data, got);
      EXPECT_EQ(got.trained.targets, one.trained.targets);
      EXPECT_NEAR(got.evaluated.sum, one.evaluated.sum, kRounding * one.evaluated.sum);
      EXPECT_NEAR(got.trained.sum, one.trained.sum, kRounding * one.trained.sum);
      EXPECT_NEAR(got.norm, one.norm, kRounding * one.norm);
      expect_near(got.gradients, one.gradients);
    }
  }
}

bool is_norm(const std::string& name) {
  return name.find("norm") != std::string::npos || name.find("ln_") != std::string::npos;
}

// Fourteen rows on two and four ranks: 7 and 7, or 4, 4, 3 and 3. A product adds what it adds without sequence
// parallelism, in the same order; a norm's gradient is a sum of the ranks' sums over their rows.
TEST_P(Sharded, SplitRowsComputeWhatOneRankComputes) {
  constexpr int kMicroBatches = 3;
  Config four = config;
  four.layers = 4;
  const Data data(four, kMicroBatches, GetParam().documents);
  Outcome one;
  run_step(four, options_of(1, 1, kMicroBatches), data, one);
  for (ShardedOptions options : {options_of(2, 1, kMicroBatches), options_of(4, 1, kMicroBatches),
                                 options_of(2, 2, kMicroBatches), interleaved(2, 2, 2, kMicroBatches)}) {
    SCOPED_TRACE(testing::Message() << "tensor " << options.layout.tensor << ", chunks " << options.layout.chunks());
    Outcome whole, got;
    run_step(four, options, data, whole);
    options.layout.sequence_parallel = true;
    run_step(four, options, data, got);
    EXPECT_EQ(got.evaluated.sum, whole.evaluated.sum);
    EXPECT_EQ(got.trained.sum, whole.trained.sum);
    EXPECT_NEAR(got.norm, one.norm, kRounding * one.norm);
    expect_near(got.gradients, one.gradients);
    for (const auto& [name, tensor] : whole.gradients.tensors()) {
      if (is_norm(name)) continue;
      const std::size_t bytes = static_cast<std::size_t>(tensor.shape().count()) * sizeof(float);
      EXPECT_EQ(std::memcmp(got.gradients.tensors().at(name).as<float>(), tensor.as<float>(), bytes), 0) << name;
    }
  }
}

// Three rows and one row on four ranks.
TEST(ShardedModel, ARankMayHaveNoRows) {
  for (const Architecture architecture : {Architecture::kGpt2, Architecture::kLlama}) {
    for (const std::int64_t sequence : {3, 1}) {
      for (const int pipeline : {1, 3}) {
        const Config config = tiny(architecture, false);
        const Data data(config, 2, false, 1, sequence);
        ShardedOptions options = options_of(1, 1, 2);
        options.batch = 1;
        options.sequence = sequence;
        Outcome one, got;
        run_step(config, options, data, one);
        options.layout.tensor = 4;
        options.layout.pipeline = pipeline;
        options.layout.sequence_parallel = true;
        run_step(config, options, data, got);
        EXPECT_NEAR(got.evaluated.sum, one.evaluated.sum, kRounding * one.evaluated.sum);
        EXPECT_NEAR(got.norm, one.norm, kRounding * one.norm);
        expect_near(got.gradients, one.gradients);
      }
    }
  }
}

class ShardedUntied : public Sharded {};

// Nothing is added in another order. (The two uses of a tied embedding would be.)
TEST_P(ShardedUntied, StagesGiveTheBitsOfOneStage) {
  for (const int micro_batches : {1, 3}) {
    const Data data(config, micro_batches, GetParam().documents);
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      Outcome one;
      run_step(config, options_of(1, 1, micro_batches, dtype), data, one);
      for (const ScheduleKind schedule : {ScheduleKind::kOneForwardOneBackward, ScheduleKind::kGpipe}) {
        Outcome got;
        run_step(config, options_of(1, 3, micro_batches, dtype, schedule), data, got);
        EXPECT_EQ(got.trained.sum, one.trained.sum);
        expect_same_bits(got.gradients, one.gradients);
      }
    }
  }
}

TEST_P(ShardedUntied, StagesGiveTheBitsOfOneStageWithDropout) {
  Config three = config;
  set_dropout(three, 0.3);
  Data data(three, 3, GetParam().documents);
  data.draw_masks();
  Outcome one, got;
  run_step(three, options_of(1, 1, 3, DType::kBF16), data, one);
  run_step(three, options_of(1, 3, 3, DType::kBF16), data, got);
  EXPECT_EQ(got.trained.sum, one.trained.sum);
  expect_same_bits(got.gradients, one.gradients);
}

TEST_P(ShardedUntied, InterleavedChunksGiveTheBitsOfOneStage) {
  Config four = config;
  four.layers = 4;
  for (const int micro_batches : {2, 5}) {
    const Data data(four, micro_batches, GetParam().documents);
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      Outcome one, got;
      run_step(four, options_of(1, 1, micro_batches, dtype), data, one);
      run_step(four, interleaved(1, 2, 2, micro_batches, dtype), data, got);
      EXPECT_EQ(got.trained.sum, one.trained.sum);
      expect_same_bits(got.gradients, one.gradients);
    }
  }
}

TEST_P(Sharded, TheSameLayoutGivesTheSameBits) {
  constexpr int kMicroBatches = 3;
  const Data data(config, kMicroBatches, GetParam().documents);
  Outcome first, second, gpipe;
  run_step(config, options_of(2, 2, kMicroBatches, DType::kBF16), data, first);
  run_step(config, options_of(2, 2, kMicroBatches, DType::kBF16), data, second);
  run_step(config, options_of(2, 2, kMicroBatches, DType::kBF16, ScheduleKind::kGpipe), data, gpipe);
  EXPECT_EQ(first.trained.sum, second.trained.sum);
  expect_same_bits(first.weights, second.weights);
  expect_same_bits(first.weights, gpipe.weights);
}

// Masks are those of global heads, slots and positions. Llama's ranks have one or two of four heads each.
TEST_P(Sharded, DropsWhatOneRankDrops) {
  constexpr int kMicroBatches = 3;
  Config four = config;
  four.layers = 4;
  set_dropout(four, 0.3);
  Data data(four, kMicroBatches, GetParam().documents);
  data.draw_masks();
  Config plain = four;
  plain.dropout = {};
  Outcome one, without;
  run_step(four, options_of(1, 1, kMicroBatches), data, one);
  run_step(plain, options_of(1, 1, kMicroBatches), data, without);
  EXPECT_NE(one.trained.sum, without.trained.sum);
  for (ShardedOptions options :
       {options_of(2, 1, kMicroBatches), options_of(4, 1, kMicroBatches), options_of(1, 2, kMicroBatches),
        options_of(2, 4, kMicroBatches), interleaved(2, 2, 2, kMicroBatches)}) {
    for (const bool sequence_parallel : {false, true}) {
      SCOPED_TRACE(testing::Message() << "tensor " << options.layout.tensor << ", chunks " << options.layout.chunks());
      options.layout.sequence_parallel = sequence_parallel;
      Outcome got;
      run_step(four, options, data, got);
      EXPECT_NEAR(got.trained.sum, one.trained.sum, kRounding * one.trained.sum);
      EXPECT_NEAR(got.norm, one.norm, kRounding * one.norm);
      expect_near(got.gradients, one.gradients);
    }
  }
}

// The same operations on the same numbers: in every precision and layout.
TEST_P(Sharded, RecomputationGivesTheBitsOfKeepingEverything) {
  constexpr int kMicroBatches = 3;
  Config four = config;
  four.layers = 4;
  set_dropout(four, 0.2);
  Data data(four, kMicroBatches, GetParam().documents);
  data.draw_masks();
  std::vector<ShardedOptions> layouts = {
      options_of(1, 1, kMicroBatches), options_of(2, 1, kMicroBatches),
      options_of(1, 2, kMicroBatches), options_of(2, 2, kMicroBatches, DType::kF32, ScheduleKind::kGpipe),
      options_of(2, 4, kMicroBatches), interleaved(2, 2, 2, kMicroBatches)};
  layouts.push_back(layouts.back());
  layouts.back().layout.sequence_parallel = true;
  for (ShardedOptions& options : layouts) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
      options.dtype = dtype;
      options.recompute = Recompute::kNone;
      Outcome kept;
      run_step(four, options, data, kept);
      for (const Recompute recompute : {Recompute::kSelective, Recompute::kFull}) {
        SCOPED_TRACE(testing::Message() << name_of(recompute) << " in " << tensor::name_of(dtype) << ", tensor "
                                        << options.layout.tensor << ", chunks " << options.layout.chunks());
        options.recompute = recompute;
        Outcome got;
        run_step(four, options, data, got);
        EXPECT_EQ(got.trained.sum, kept.trained.sum);
        EXPECT_EQ(got.evaluated.sum, kept.evaluated.sum);
        expect_same_bits(got.gradients, kept.gradients);
      }
    }
  }
}

constexpr Choice kGpt2Untied{"gpt2_untied_documents", Architecture::kGpt2, false, true};
constexpr Choice kLlamaUntied{"llama_untied", Architecture::kLlama, false, false};
const auto kName = [](const auto& test) { return test.param.name; };

INSTANTIATE_TEST_SUITE_P(Choices, Sharded,
                         testing::Values(Choice{"gpt2_tied", Architecture::kGpt2, true, false}, kGpt2Untied,
                                         Choice{"llama_tied_documents", Architecture::kLlama, true, true},
                                         kLlamaUntied),
                         kName);
INSTANTIATE_TEST_SUITE_P(Choices, ShardedUntied, testing::Values(kGpt2Untied, kLlamaUntied), kName);

// How far the gradient norm of two ranks moves, relative, where one of the step's sums is left out: the control of the
// tests above.
double moves_without(bool ShardedOptions::*sum, const Config& config, ShardedOptions options) {
  const Data data(config, 1, false);
  const auto norm = [&](bool with_sum) {
    options.*sum = with_sum;
    double found = 0.0;
    comm::run_ranks(2, [&](comm::Communicator& world) {
      ShardedRun run(world, config, options, {});
      fill(run);
      run.accumulate(data.batches, kScale);
      const double own = run.gradient_norm();
      if (world.rank() == 0) found = own;
    });
    return found;
  };
  const double whole = norm(true);
  return std::abs(whole - norm(false)) / whole;
}

TEST(ShardedModel, ATiedEmbeddingHasAnotherGradientIfItsEndsAreNotSummed) {
  const Config config = tiny(Architecture::kGpt2, true);
  EXPECT_GT(moves_without(&ShardedOptions::sum_tied_ends, config, options_of(1, 2, 1)), 0.05);
}

TEST(ShardedModel, ASharedKeyValueHeadHasAnotherGradientIfItsTermsAreNotSummed) {
  Config config = tiny(Architecture::kLlama, false);
  config.key_value_heads = 1;
  EXPECT_GT(moves_without(&ShardedOptions::sum_partial, config, options_of(2, 1, 1)), 0.01);
}

TEST(ShardedModel, ANormOfSplitRowsHasAnotherGradientIfItsTermsAreNotSummed) {
  ShardedOptions options = options_of(2, 1, 1);
  options.layout.sequence_parallel = true;
  EXPECT_GT(moves_without(&ShardedOptions::sum_partial, tiny(Architecture::kGpt2, false), options), 0.001);
}

TEST(ShardedModel, SplitRowsKeepFewerActivations) {
  const Config config = tiny(Architecture::kLlama, false);
  comm::run_ranks(2, [&](comm::Communicator& world) {
    device::Stream stream(ops::cpu_backend(), 1);
    std::size_t bytes[2] = {};
    for (const bool split : {false, true}) {
      Shard shard = whole_model(config);
      shard.tensor_group = &world;
      shard.tensor_rank = world.rank();
      shard.tensor_size = 2;
      shard.sequence_parallel = split;
      Parameters parameters(local_parameters(config, shard), DType::kF32, true);
      bytes[split ? 1 : 0] =
          Model(stream, config, parameters, shard, {.batch = 8, .sequence = kSequence}).activation_bytes();
    }
    EXPECT_LT(bytes[1], bytes[0]);
  });
}

TEST(ShardedModel, KeepsFewerBytesThanTheWholeModel) {
  const Config config = tiny(Architecture::kLlama, false);
  device::Stream stream(ops::cpu_backend(), 1);
  Parameters whole(local_parameters(config, whole_model(config)), DType::kF32, true);
  const std::size_t all = Model(stream, config, whole, kBatch, kSequence, true).activation_bytes();
  comm::run_ranks(2, [&](comm::Communicator& world) {
    Shard shard = whole_model(config);
    shard.tensor_group = &world;
    shard.tensor_rank = world.rank();
    shard.tensor_size = 2;
    device::Stream own(ops::cpu_backend(), 1);
    Parameters part(local_parameters(config, shard), DType::kF32, true);
    const Model model(own, config, part, shard, {.batch = kBatch, .sequence = kSequence});
    EXPECT_LT(model.activation_bytes(), all);
  });
}

TEST(ShardedModel, ReportsBlocksFromTheLastToTheFirstAndTheTokenEmbeddingLast) {
  const Config config = tiny(Architecture::kGpt2, true);
  const Data data(config, 1, false);
  device::Stream stream(ops::cpu_backend(), 1);
  Parameters parameters(parameter_table(config), DType::kF32, true);
  Model model(stream, config, parameters, kBatch, kSequence, true);
  model.pack(stream);
  std::vector<std::pair<std::size_t, std::size_t>> reported;
  forward_backward(model, stream, data.batches[0], 1.0f,
                   [&](std::size_t begin, std::size_t end) { reported.emplace_back(begin, end); });
  // Two embeddings, three blocks of 16 tensors, the final norm's two.
  EXPECT_THAT(reported, testing::ElementsAre(testing::Pair(50, 52), testing::Pair(34, 50), testing::Pair(18, 34),
                                             testing::Pair(2, 18), testing::Pair(1, 2), testing::Pair(0, 1)));
}

// Two micro-batches through the middle of a pipeline, by hand.
TEST(ShardedModel, AStagesSteadyStepAllocatesNothing) {
  for (const Architecture architecture : {Architecture::kGpt2, Architecture::kLlama}) {
    const Config config = tiny(architecture, false);
    const Data data(config, 2, true);
    Shard middle;
    middle.layers = {1, 2};
    middle.first = middle.last = false;
    device::Stream stream(ops::cpu_backend(), 1);
    Parameters parameters(local_parameters(config, middle), DType::kF32, true);
    Model model(stream, config, parameters, middle, {.batch = kBatch, .sequence = kSequence, .sets = {2}});
    std::size_t reported = 0;
    const GradientsReady ready = [&](std::size_t begin, std::size_t end) { reported += end - begin; };
    const auto step = [&] {
      model.pack(stream);
      for (int i = 0; i < 2; ++i) {
        ops::fill_zero(stream, model.input(data.batches[static_cast<std::size_t>(i)], i));
        model.forward(stream, data.batches[static_cast<std::size_t>(i)], i);
      }
      for (int i = 0; i < 2; ++i) {
        const Batch& batch = data.batches[static_cast<std::size_t>(i)];
        ops::fill_zero(stream, model.output_gradient(batch));
        model.backward_input(stream, batch, i, kScale);
        model.backward_weight(stream, batch, i, ready);
      }
    };
    step();
    stream.seal_scratch();
    const std::int64_t before = ops::test::allocation_count();
    step();
    EXPECT_EQ(ops::test::allocation_count(), before);
    EXPECT_EQ(reported, 4 * parameters.size());
  }
}

// Where the next gradient arrives is not where the last one lies, which the weights' gradients still need.
TEST(ShardedModel, MayReceiveTheNextGradientBeforeItsWeightsHadTheLast) {
  const Config config = tiny(Architecture::kLlama, false);
  const Data data(config, 1, false);
  Shard first;
  first.layers = {0, 1};
  first.last = false;
  std::vector<float> gradients[2];
  for (const bool early : {false, true}) {
    device::Stream stream(ops::cpu_backend(), 1);
    Parameters parameters(local_parameters(config, first), DType::kF32, true);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      initial_values(parameters.table()[i], {0, parameters.weight(i).count()}, kSeed, stream, parameters.weight(i));
    }
    Model model(stream, config, parameters, first, {.batch = kBatch, .sequence = kSequence});
    model.pack(stream);
    model.forward(stream, data.batches[0], 0);
    const auto receive = [&](float value) {
      const tensor::MutableView gradient = model.output_gradient(data.batches[0]);
      for (std::int64_t i = 0; i < gradient.count(); ++i)
        gradient.as<float>()[i] = value * static_cast<float>(i % 5 - 2);
    };
    receive(1.0f);
    model.backward_input(stream, data.batches[0], 0, kScale);
    if (early) receive(3.0f);
    model.backward_weight(stream, data.batches[0], 0, {});
    const tensor::MutableView down = parameters.gradient(parameters.index("model.layers.0.mlp.down_proj.weight"));
    gradients[early ? 1 : 0].assign(down.as<float>(), down.as<float>() + down.count());
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

TEST(ShardedModel, RefusesParametersOfAnotherShardAndCallsOfAnotherLayout) {
  const Config config = tiny(Architecture::kLlama, true);
  const Data data(config, 1, false);
  device::Stream stream(ops::cpu_backend(), 1);
  Parameters whole(parameter_table(config), DType::kF32, true);
  Shard first = whole_model(config);
  first.layers = {0, 1};
  first.last = false;
  const ModelSize size{.batch = kBatch, .sequence = kSequence};
  EXPECT_THROW(Model(stream, config, whole, first, size), InternalError);
  Parameters part(local_parameters(config, first), DType::kF32, true);
  Model stage(stream, config, part, first, size);
  EXPECT_THROW(forward_backward(stage, stream, data.batches[0], 1.0f), InternalError);
  EXPECT_THROW(stage.evaluate(stream, data.batches[0]), InternalError);
  EXPECT_THROW(stage.loss(stream, data.batches[0], 0), InternalError);
  EXPECT_THROW(stage.forward(stream, data.batches[0], 1), InternalError);
  Model all(stream, config, whole, kBatch, kSequence, true);
  EXPECT_THROW(all.backward_input(stream, data.batches[0], 0, 1.0f), InternalError);
}

}  // namespace
}  // namespace convoy::model

// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "libcore/comm/self.h"
#include "libcore/ops/backend.h"
#include "libcore/tensor/tensor.h"

namespace convoy::model {
namespace {

using parallel::Range;
using tensor::Box;
using testing::ElementsAre;

// The extents of tests/golden/parity/gpt2-tiny and llama-gqa.
Config gpt2_tiny() {
  Config c{.architecture = Architecture::kGpt2, .vocabulary = 257, .layers = 2, .width = 64, .heads = 4};
  c.key_value_heads = 4;
  c.head_size = 16;
  c.ffn_width = 256;
  c.positions = 48;
  c.tied_embeddings = c.attention_bias = c.mlp_bias = true;
  return c;
}

Config llama_gqa() {
  Config c{.architecture = Architecture::kLlama, .vocabulary = 259, .layers = 4, .width = 64, .heads = 8};
  c.key_value_heads = 2;
  c.head_size = 8;
  c.ffn_width = 172;
  c.positions = 64;
  return c;
}

Shard tensor_part(const Config& config, int rank, int size) {
  Shard shard = whole_model(config);
  shard.tensor_rank = rank;
  shard.tensor_size = size;
  return shard;
}

Shard stage(std::int64_t begin, std::int64_t end, bool first, bool last) {
  Shard shard;
  shard.layers = {begin, end};
  shard.first = first;
  shard.last = last;
  return shard;
}

const LocalParameter& find(const std::vector<LocalParameter>& table, const std::string& name) {
  for (const LocalParameter& parameter : table) {
    if (parameter.name == name) return parameter;
  }
  ADD_FAILURE() << name << " is not in the table";
  return table.front();
}

std::vector<std::string> names(const std::vector<LocalParameter>& table) {
  std::vector<std::string> list;
  for (const LocalParameter& parameter : table) list.push_back(parameter.name);
  return list;
}

TEST(Shard, TheWholeModelHoldsEveryTensorWholeAndOnce) {
  for (const Config& config : {gpt2_tiny(), llama_gqa()}) {
    const std::vector<LocalParameter> local = local_parameters(config, whole_model(config));
    const std::vector<Parameter> table = parameter_table(config);
    ASSERT_EQ(local.size(), table.size());
    for (std::size_t i = 0; i < table.size(); ++i) {
      EXPECT_EQ(local[i].name, table[i].name);
      EXPECT_EQ(local[i].box, tensor::whole(table[i].shape)) << table[i].name;
      EXPECT_TRUE(local[i].primary && !local[i].tied_end) << table[i].name;
    }
  }
}

TEST(Shard, HeadsFfnAndVocabularyAreCutIntoNearlyEqualParts) {
  const Config config = llama_gqa();
  const Shard second = tensor_part(config, 1, 2);
  EXPECT_EQ(heads_of(config, second), (Range{4, 8}));
  EXPECT_EQ(key_value_heads_of(config, second), (Range{1, 2}));
  EXPECT_EQ(ffn_of(config, second), (Range{86, 172}));
  EXPECT_EQ(vocabulary_of(config, second), (Range{130, 259}));
  const Config local = local_config(config, second);
  EXPECT_EQ(local.heads, 4);
  EXPECT_EQ(local.key_value_heads, 1);
  EXPECT_EQ(local.ffn_width, 86);
  EXPECT_EQ(local.vocabulary, 129);
  EXPECT_EQ(local.width, 64);
}

// By hand: [out, in] matrices, queries of 8 heads and keys of 2, of 8 elements each.
TEST(Shard, LlamasMatricesAreCutAlongOutputsOrInputs) {
  const Config config = llama_gqa();
  const std::vector<LocalParameter> local = local_parameters(config, tensor_part(config, 1, 2));
  const std::string layer = "model.layers.3.";
  EXPECT_EQ(find(local, "model.embed_tokens.weight").box, (Box{{130, 0}, {129, 64}}));
  EXPECT_EQ(find(local, layer + "self_attn.q_proj.weight").box, (Box{{32, 0}, {32, 64}}));
  EXPECT_EQ(find(local, layer + "self_attn.k_proj.weight").box, (Box{{8, 0}, {8, 64}}));
  EXPECT_EQ(find(local, layer + "self_attn.v_proj.weight").box, (Box{{8, 0}, {8, 64}}));
  EXPECT_EQ(find(local, layer + "self_attn.o_proj.weight").box, (Box{{0, 32}, {64, 32}}));
  EXPECT_EQ(find(local, layer + "mlp.gate_proj.weight").box, (Box{{86, 0}, {86, 64}}));
  EXPECT_EQ(find(local, layer + "mlp.up_proj.weight").box, (Box{{86, 0}, {86, 64}}));
  EXPECT_EQ(find(local, layer + "mlp.down_proj.weight").box, (Box{{0, 86}, {64, 86}}));
  EXPECT_EQ(find(local, layer + "input_layernorm.weight").box, (Box{{0}, {64}}));
  EXPECT_EQ(find(local, "lm_head.weight").box, (Box{{130, 0}, {129, 64}}));
}

TEST(Shard, LlamasBiasesFollowTheOutputsOfTheirProducts) {
  Config config = llama_gqa();
  config.attention_bias = config.mlp_bias = true;
  const std::vector<LocalParameter> local = local_parameters(config, tensor_part(config, 1, 2));
  EXPECT_EQ(find(local, "model.layers.0.self_attn.q_proj.bias").box, (Box{{32}, {32}}));
  EXPECT_EQ(find(local, "model.layers.0.self_attn.k_proj.bias").box, (Box{{8}, {8}}));
  EXPECT_EQ(find(local, "model.layers.0.mlp.up_proj.bias").box, (Box{{86}, {86}}));
  EXPECT_EQ(find(local, "model.layers.0.self_attn.o_proj.bias").box, (Box{{0}, {64}}));
  EXPECT_EQ(find(local, "model.layers.0.mlp.down_proj.bias").box, (Box{{0}, {64}}));
}

// By hand: [in, out] matrices.
TEST(Shard, Gpt2sMatricesAreCutAlongOutputsOrInputs) {
  const Config config = gpt2_tiny();
  const std::vector<LocalParameter> local = local_parameters(config, tensor_part(config, 0, 2));
  const std::string layer = "transformer.h.1.";
  EXPECT_EQ(find(local, "transformer.wte.weight").box, (Box{{0, 0}, {129, 64}}));
  EXPECT_EQ(find(local, "transformer.wpe.weight").box, (Box{{0, 0}, {48, 64}}));
  EXPECT_EQ(find(local, layer + "attn.k_attn.weight").box, (Box{{0, 0}, {64, 32}}));
  EXPECT_EQ(find(local, layer + "attn.v_attn.bias").box, (Box{{0}, {32}}));
  EXPECT_EQ(find(local, layer + "attn.c_proj.weight").box, (Box{{0, 0}, {32, 64}}));
  EXPECT_EQ(find(local, layer + "attn.c_proj.bias").box, (Box{{0}, {64}}));
  EXPECT_EQ(find(local, layer + "mlp.c_fc.weight").box, (Box{{0, 0}, {64, 128}}));
  EXPECT_EQ(find(local, layer + "mlp.c_fc.bias").box, (Box{{0}, {128}}));
  EXPECT_EQ(find(local, layer + "mlp.c_proj.weight").box, (Box{{0, 0}, {128, 64}}));
}

TEST(Shard, ReplicatedTensorsCountOnTheFirstTensorParallelRankAlone) {
  const Config config = gpt2_tiny();
  const std::vector<LocalParameter> first = local_parameters(config, tensor_part(config, 0, 2));
  const std::vector<LocalParameter> second = local_parameters(config, tensor_part(config, 1, 2));
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(first[i].primary) << first[i].name;
    EXPECT_EQ(second[i].primary, second[i].split != Split::kReplicated) << second[i].name;
  }
}

// By hand: four ranks, two key/value heads of 8 elements; ranks 2 and 3 have the second one.
TEST(Shard, RanksShareAKeyValueHeadWhereThereAreFewerOfThem) {
  Config config = llama_gqa();
  config.attention_bias = true;
  const std::string layer = "model.layers.1.self_attn.";
  for (int rank = 0; rank < 4; ++rank) {
    const Shard shard = tensor_part(config, rank, 4);
    EXPECT_EQ(key_value_heads_of(config, shard), (Range{rank / 2, rank / 2 + 1}));
    EXPECT_EQ(local_config(config, shard).heads, 2);
    EXPECT_EQ(local_config(config, shard).key_value_heads, 1);
    const std::vector<LocalParameter> local = local_parameters(config, shard);
    for (const char* name : {"k_proj.weight", "v_proj.weight", "k_proj.bias", "v_proj.bias"}) {
      const LocalParameter& parameter = find(local, layer + name);
      EXPECT_EQ(parameter.box.offset[0], 8 * (rank / 2)) << name;
      EXPECT_EQ(parameter.box.extent[0], 8) << name;
      EXPECT_EQ(parameter.primary, rank % 2 == 0) << name;
      EXPECT_TRUE(parameter.partial) << name;
      EXPECT_EQ(parameter.part, rank / 2) << name;
      EXPECT_EQ(parameter.parts, 2) << name;
    }
    EXPECT_EQ(find(local, layer + "q_proj.weight").box, (Box{{16 * rank, 0}, {16, 64}}));
    for (const LocalParameter& parameter : local)
      EXPECT_EQ(parameter.partial, parameter.unit == SplitUnit::kKeyValueHead) << parameter.name;
  }
}

TEST(Shard, UnderSequenceParallelismNormsArePartialAndNothingElse) {
  Config config = gpt2_tiny();
  Shard shard = tensor_part(config, 1, 2);
  shard.sequence_parallel = true;
  for (const LocalParameter& parameter : local_parameters(config, shard)) {
    const bool norm = parameter.name.find("ln_") != std::string::npos;
    EXPECT_EQ(parameter.partial, norm) << parameter.name;
    if (norm) {
      EXPECT_EQ(parameter.parts, 1) << parameter.name;
    }
  }
  shard.tensor_size = 1;
  shard.tensor_rank = 0;
  for (const LocalParameter& parameter : local_parameters(config, shard)) EXPECT_FALSE(parameter.partial);
}

TEST(Shard, NothingIsPartialWhereRanksHaveKeyValueHeadsOfTheirOwn) {
  const Config config = llama_gqa();
  Parameters parameters(local_parameters(config, tensor_part(config, 1, 2)), tensor::DType::kF32, true);
  EXPECT_TRUE(partial_gradients(parameters).empty());
  Parameters shared(local_parameters(config, tensor_part(config, 1, 4)), tensor::DType::kF32, true);
  EXPECT_EQ(partial_gradients(shared).size(), 2u * 4u);
  EXPECT_EQ(shared.table()[partial_gradients(shared)[1].parameter].name, "model.layers.0.self_attn.v_proj.weight");
}

TEST(Shard, StagesHoldTheirLayersAndTheEndsTheRest) {
  const Config config = llama_gqa();
  const std::vector<std::string> first = names(local_parameters(config, stage(0, 1, true, false)));
  EXPECT_EQ(first.front(), "model.embed_tokens.weight");
  EXPECT_EQ(first.back(), "model.layers.0.mlp.down_proj.weight");
  const std::vector<std::string> middle = names(local_parameters(config, stage(1, 3, false, false)));
  EXPECT_EQ(middle.front(), "model.layers.1.input_layernorm.weight");
  EXPECT_EQ(middle.back(), "model.layers.2.mlp.down_proj.weight");
  EXPECT_EQ(middle.size(), 2 * 9u);
  const std::vector<std::string> last = names(local_parameters(config, stage(3, 4, false, true)));
  EXPECT_EQ(last.front(), "model.layers.3.input_layernorm.weight");
  EXPECT_EQ(last.back(), "lm_head.weight");
}

// By hand: four layers on two stages in two chunks each, so stage 0 has layers 0 and 2, stage 1 has 1 and 3.
TEST(Shard, AStageWithSeveralChunksHoldsTheirLayersInTheModelsOrder) {
  Config config = llama_gqa();
  config.tied_embeddings = true;
  const parallel::Layout layout{.pipeline = 2, .schedule = parallel::ScheduleKind::kInterleaved, .virtual_stages = 2};
  const std::vector<Shard> first = shards_at(config, layout, {}), last = shards_at(config, layout, {.pipeline = 1});
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].layers, (Range{0, 1}));
  EXPECT_EQ(first[1].layers, (Range{2, 3}));
  EXPECT_TRUE(first[0].first && !first[0].last && !first[1].first && !first[1].last);
  EXPECT_EQ(last[0].layers, (Range{1, 2}));
  EXPECT_EQ(last[1].layers, (Range{3, 4}));
  EXPECT_TRUE(!last[0].first && !last[0].last && !last[1].first && last[1].last);
  const std::vector<LocalParameter> of_first = local_parameters(config, first),
                                    of_last = local_parameters(config, last);
  EXPECT_EQ(of_first.size(), 1 + 2 * 9u);
  EXPECT_EQ(of_first[0].name, "model.embed_tokens.weight");
  EXPECT_TRUE(of_first[0].primary && of_first[0].tied_end);
  EXPECT_EQ(of_first[10].name, "model.layers.2.input_layernorm.weight");
  EXPECT_EQ(of_last.size(), 1 + 2 * 9 + 1u);
  EXPECT_EQ(of_last[0].name, "model.embed_tokens.weight");
  EXPECT_TRUE(!of_last[0].primary && of_last[0].tied_end);
  EXPECT_EQ(of_last[1].name, "model.layers.1.input_layernorm.weight");
  EXPECT_EQ(of_last.back().name, "model.norm.weight");
}

TEST(Shard, ATiedEmbeddingStandsAtBothEndsOfThePipeline) {
  const Config config = gpt2_tiny();
  const std::vector<LocalParameter> first = local_parameters(config, stage(0, 1, true, false));
  const std::vector<LocalParameter> last = local_parameters(config, stage(1, 2, false, true));
  ASSERT_EQ(first[0].name, "transformer.wte.weight");
  ASSERT_EQ(last[0].name, "transformer.wte.weight");
  EXPECT_TRUE(first[0].tied_end && first[0].primary);
  EXPECT_TRUE(last[0].tied_end && !last[0].primary);
  EXPECT_EQ(first[1].name, "transformer.wpe.weight");
  EXPECT_FALSE(first[1].tied_end);
  EXPECT_EQ(last[1].name, "transformer.h.1.ln_1.weight");
}

// Every logical element is counted once over the ranks of tensor-parallel 3 and two stages.
TEST(Shard, PrimaryPartsAddUpToTheModel) {
  for (Config config : {gpt2_tiny(), llama_gqa()}) {
    config.heads = config.key_value_heads = 3;
    std::int64_t count = 0;
    for (const bool first : {true, false}) {
      for (int rank = 0; rank < 3; ++rank) {
        Shard shard = first ? stage(0, 1, true, false) : stage(1, config.layers, false, true);
        shard.tensor_rank = rank;
        shard.tensor_size = 3;
        config.width = config.heads * config.head_size;
        for (const LocalParameter& parameter : local_parameters(config, shard)) {
          if (parameter.primary) count += parameter.box.count();
        }
      }
    }
    EXPECT_EQ(count, parameter_count(parameter_table(config)));
  }
}

TEST(Shard, ASharedKeyValueHeadIsCountedOnce) {
  for (const int ranks : {1, 2, 4, 8}) {
    std::int64_t count = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      for (const LocalParameter& parameter : local_parameters(llama_gqa(), tensor_part(llama_gqa(), rank, ranks))) {
        if (parameter.primary) count += parameter.box.count();
      }
    }
    EXPECT_EQ(count, parameter_count(parameter_table(llama_gqa()))) << ranks << " ranks";
  }
}

TEST(Shard, OfOneRankIsTheWholeModel) {
  const std::unique_ptr<comm::Communicator> self = comm::make_self();
  const parallel::Groups groups = parallel::make_groups(*self, {});
  const std::vector<Shard> chunks = shards_of(llama_gqa(), groups);
  ASSERT_EQ(chunks.size(), 1u);
  const Shard& shard = chunks.front();
  EXPECT_EQ(shard.peers(), nullptr);
  EXPECT_TRUE(shard.first && shard.last);
  EXPECT_EQ(shard.layers, (Range{0, 4}));
}

TEST(Shard, StartsFromItsPartOfTheWholesValues) {
  device::Stream stream(ops::cpu_backend(), 2);
  for (const Config& config : {gpt2_tiny(), llama_gqa()}) {
    for (const LocalParameter& parameter : local_parameters(config, tensor_part(config, 1, 2))) {
      tensor::Tensor whole(parameter.shape, tensor::DType::kF32), part(parameter.box.extent, tensor::DType::kF32);
      initial_values(parameter, 7, stream, whole.mutable_view());
      initial_values(parameter, {0, parameter.box.count()}, 7, stream, part.mutable_view());
      const bool matrix = parameter.shape.rank() == 2;
      const std::int64_t rows = matrix ? parameter.box.extent[0] : 1, columns = parameter.box.extent.back();
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t first = matrix
                                       ? (parameter.box.offset[0] + row) * parameter.shape[1] + parameter.box.offset[1]
                                       : parameter.box.offset[0];
        ASSERT_EQ(std::memcmp(whole.as<float>() + first, part.as<float>() + row * columns,
                              static_cast<std::size_t>(columns) * sizeof(float)),
                  0)
            << parameter.name << ", row " << row;
      }
    }
  }
}

}  // namespace
}  // namespace convoy::model

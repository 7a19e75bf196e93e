// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libcore/base/error.h"
#include "tests/support/tmp_dir.h"

namespace convoy::model {
namespace {

using testing::HasSubstr;

std::string llama(const std::string& more = "") {
  return R"({"architectures": ["LlamaForCausalLM"])" + (more.empty() ? "" : ", " + more) + "}";
}
std::string gpt2(const std::string& more = "") {
  return R"({"architectures": ["GPT2LMHeadModel"])" + (more.empty() ? "" : ", " + more) + "}";
}

// The problems of a configuration, or "accepted".
std::string problems(const std::string& json) {
  try {
    parse_config(json, "dir/config.json");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Config, Gpt2DefaultsAreThoseOfTransformers) {
  const Config c = parse_config(gpt2(), "x");
  EXPECT_EQ(c.architecture, Architecture::kGpt2);
  EXPECT_EQ(c.vocabulary, 50257);
  EXPECT_EQ(c.layers, 12);
  EXPECT_EQ(c.width, 768);
  EXPECT_EQ(c.heads, 12);
  EXPECT_EQ(c.key_value_heads, 12);
  EXPECT_EQ(c.head_size, 64);
  EXPECT_EQ(c.ffn_width, 3072);
  EXPECT_EQ(c.positions, 1024);
  EXPECT_EQ(c.norm_epsilon, 1e-5);
  EXPECT_TRUE(c.tied_embeddings);
  EXPECT_EQ(c.dropout, (DropoutRates{.embedding = 0.1, .attention = 0.1, .residual = 0.1}));
  EXPECT_EQ(c.eos_id, 50256);
}

TEST(Config, LlamaDefaultsAreThoseOfTransformers) {
  const Config c = parse_config(llama(), "x");
  EXPECT_EQ(c.architecture, Architecture::kLlama);
  EXPECT_EQ(c.vocabulary, 32000);
  EXPECT_EQ(c.layers, 32);
  EXPECT_EQ(c.width, 4096);
  EXPECT_EQ(c.heads, 32);
  EXPECT_EQ(c.key_value_heads, 32);
  EXPECT_EQ(c.head_size, 128);
  EXPECT_EQ(c.ffn_width, 11008);
  EXPECT_EQ(c.positions, 2048);
  EXPECT_EQ(c.norm_epsilon, 1e-6);
  EXPECT_EQ(c.rope_theta, 10000.0);
  EXPECT_FALSE(c.rope_scaling);
  EXPECT_FALSE(c.tied_embeddings);
  EXPECT_FALSE(c.attention_bias);
  EXPECT_EQ(c.bos_id, 1);
  EXPECT_EQ(c.eos_id, 2);
}

TEST(Config, Qwen2DefaultsAreThoseOfTransformers) {
  const Config c = parse_config(R"({"model_type": "qwen2"})", "x");
  EXPECT_EQ(c.architecture, Architecture::kQwen2);
  EXPECT_EQ(c.vocabulary, 151936);
  EXPECT_EQ(c.layers, 32);
  EXPECT_EQ(c.width, 4096);
  EXPECT_EQ(c.heads, 32);
  EXPECT_EQ(c.key_value_heads, 32);
  EXPECT_EQ(c.ffn_width, 22016);
  EXPECT_EQ(c.positions, 32768);
  EXPECT_EQ(c.norm_epsilon, 1e-6);
  EXPECT_EQ(c.rope_theta, 10000.0);
  EXPECT_FALSE(c.tied_embeddings);
  EXPECT_EQ(c.eos_id, std::nullopt);
}

// The window of Qwen 2 has a size even where it is off.
TEST(Config, ASlidingWindowThatIsOffIsAcceptedOfQwen2Alone) {
  const std::string window = R"("sliding_window": 131072)";
  EXPECT_EQ(
      problems(R"({"model_type": "qwen2", "use_sliding_window": false, "max_window_layers": 24, )" + window + "}"),
      "accepted");
  EXPECT_THAT(problems(R"({"model_type": "qwen2", "use_sliding_window": true, )" + window + "}"),
              HasSubstr("use_sliding_window"));
  EXPECT_THAT(problems(llama(window)), HasSubstr("sliding_window"));
  EXPECT_THAT(problems(gpt2(window)), HasSubstr("sliding_window"));
}

TEST(Config, BiasesAreLlamasChoiceAndNotQwen2s) {
  EXPECT_THAT(problems(R"({"model_type": "qwen2", "attention_bias": true})"), HasSubstr("attention_bias"));
}

TEST(Config, ModelTypeAloneNamesTheArchitecture) {
  EXPECT_EQ(parse_config(R"({"model_type": "gpt2"})", "x").architecture, Architecture::kGpt2);
  EXPECT_EQ(parse_config(R"({"model_type": "llama"})", "x").architecture, Architecture::kLlama);
}

TEST(Config, ReadsTheOlderFormOfRope) {
  const Config c =
      parse_config(llama(R"("rope_theta": 500000.0, "torch_dtype": "bfloat16", "rope_scaling": {"rope_type": "llama3",
      "factor": 32.0, "low_freq_factor": 1.5, "high_freq_factor": 4.5, "original_max_position_embeddings": 4096})"),
                   "x");
  EXPECT_EQ(c.rope_theta, 500000.0);
  ASSERT_TRUE(c.rope_scaling);
  EXPECT_EQ(c.rope_scaling->factor, 32.0);
  EXPECT_EQ(c.rope_scaling->low_frequency_factor, 1.5);
  EXPECT_EQ(c.rope_scaling->high_frequency_factor, 4.5);
  EXPECT_EQ(c.rope_scaling->original_positions, 4096);
}

TEST(Config, ReadsTheNewerFormOfRope) {
  const Config c =
      parse_config(llama(R"("dtype": "float32", "rope_parameters": {"rope_type": "llama3", "rope_theta": 7.5e5,
      "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 50})"),
                   "x");
  EXPECT_EQ(c.rope_theta, 7.5e5);
  ASSERT_TRUE(c.rope_scaling);
  EXPECT_EQ(c.rope_scaling->original_positions, 50);
}

TEST(Config, BothFormsOfRopeMustAgree) {
  EXPECT_EQ(
      problems(llama(
          R"("rope_theta": 5e5, "rope_scaling": null, "rope_parameters": {"rope_type": "default", "rope_theta": 500000})")),
      "accepted");
  EXPECT_THAT(problems(llama(R"("rope_theta": 10000.0, "rope_parameters": {"rope_theta": 500000.0})")),
              testing::AllOf(HasSubstr("rope_theta"), HasSubstr("10000"), HasSubstr("500000")));
  EXPECT_THAT(
      problems(llama(
          R"("rope_scaling": null, "rope_parameters": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
      "high_freq_factor": 4.0, "original_max_position_embeddings": 50})")),
      HasSubstr("rope_scaling: disagrees"));
}

TEST(Config, BothFormsOfDtypeMustAgree) {
  EXPECT_EQ(problems(llama(R"("dtype": "bfloat16", "torch_dtype": "bfloat16")")), "accepted");
  EXPECT_THAT(problems(llama(R"("dtype": "bfloat16", "torch_dtype": "float32")")), HasSubstr("float32"));
}

TEST(Config, RefusesOtherRopeTypesNamingKeyFoundAndExpected) {
  EXPECT_THAT(problems(llama(R"("rope_scaling": {"type": "linear", "factor": 2.0})")),
              testing::AllOf(HasSubstr("dir/config.json"), HasSubstr("rope_scaling.rope_type"), HasSubstr("linear"),
                             HasSubstr("llama3")));
  EXPECT_THAT(problems(llama(R"("rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 2.0})")),
              HasSubstr("yarn"));
  EXPECT_THAT(problems(llama(R"("rope_parameters": {"rope_type": "llama3", "factor": 8.0})")),
              HasSubstr("low_freq_factor"));
}

TEST(Config, RefusesWhatWouldChangeTheMathematics) {
  EXPECT_THAT(problems(gpt2(R"("activation_function": "gelu")")),
              testing::AllOf(HasSubstr("gelu_new"), HasSubstr("\"gelu\"")));
  EXPECT_THAT(problems(llama(R"("hidden_act": "gelu")")), testing::AllOf(HasSubstr("hidden_act"), HasSubstr("silu")));
  EXPECT_THAT(problems(gpt2(R"("scale_attn_by_inverse_layer_idx": true)")),
              HasSubstr("scale_attn_by_inverse_layer_idx"));
  EXPECT_THAT(problems(gpt2(R"("scale_attn_weights": false)")), HasSubstr("scale_attn_weights"));
  EXPECT_THAT(problems(gpt2(R"("add_cross_attention": true)")), HasSubstr("add_cross_attention"));
  EXPECT_THAT(problems(llama(R"("sliding_window": 4096)")),
              testing::AllOf(HasSubstr("sliding_window"), HasSubstr("4096")));
  EXPECT_THAT(problems(llama(R"("quantization_config": {"bits": 4})")), HasSubstr("quantization_config"));
  EXPECT_THAT(problems(llama(R"("partial_rotary_factor": 0.5)")), HasSubstr("partial_rotary_factor"));
  EXPECT_THAT(problems(llama(R"("head_dim": 33)")), HasSubstr("even"));
}

TEST(Config, RefusesShapesThatDoNotDivide) {
  EXPECT_THAT(problems(gpt2(R"("n_embd": 100, "n_head": 7)")), testing::AllOf(HasSubstr("100"), HasSubstr("7")));
  EXPECT_THAT(problems(llama(R"("num_attention_heads": 32, "num_key_value_heads": 5)")),
              HasSubstr("num_key_value_heads"));
}

TEST(Config, RefusesUnknownArchitectures) {
  EXPECT_THAT(problems(R"({"architectures": ["MistralForCausalLM"], "model_type": "mistral"})"),
              testing::AllOf(HasSubstr("MistralForCausalLM"), HasSubstr("LlamaForCausalLM")));
  EXPECT_THAT(problems(R"({"model_type": "gpt_neox"})"), HasSubstr("gpt_neox"));
  EXPECT_THAT(problems("{}"), HasSubstr("model_type"));
  EXPECT_THAT(problems(R"({"architectures": ["GPT2LMHeadModel"], "model_type": "llama"})"), HasSubstr("contradicts"));
}

TEST(Config, RefusesUnknownKeysWithASuggestion) {
  EXPECT_THAT(problems(llama(R"("num_key_value_head": 4)")), HasSubstr("did you mean num_key_value_heads"));
  EXPECT_THAT(problems(gpt2(R"("rope_theta": 10000.0)")), HasSubstr("rope_theta: unknown key"));
  EXPECT_THAT(problems(llama(R"("logit_scale": 0.5)")), HasSubstr("logit_scale: unknown key with value 0.5"));
}

TEST(Config, AcceptsTheKeysThatTransformersWritesAlong) {
  EXPECT_EQ(
      problems(llama(R"("use_cache": true, "pad_token_id": null, "pretraining_tp": 1, "transformers_version": "5.24.0",
      "_name_or_path": "x", "attention_dropout": 0.0, "eos_token_id": [2, 3])")),
      "accepted");
  EXPECT_EQ(
      problems(gpt2(
          R"("n_ctx": 1024, "reorder_and_upcast_attn": false, "summary_type": "cls_index", "task_specific_params": {},
      "n_inner": null)")),
      "accepted");
}

TEST(Config, ListsEveryProblemAtOnce) {
  const std::string text = problems(llama(R"("hidden_size": -1, "hidden_act": "relu", "vocab_size": "many")"));
  EXPECT_THAT(text, testing::AllOf(HasSubstr("hidden_size"), HasSubstr("relu"), HasSubstr("many")));
}

TEST(Config, RefusesNumbersOutOfRange) {
  EXPECT_THAT(problems(llama(R"("hidden_size": 1e30)")), HasSubstr("hidden_size"));
  EXPECT_THAT(problems(llama(R"("hidden_size": 18446744073709551615)")), HasSubstr("hidden_size"));
  EXPECT_THAT(problems(llama(R"("num_hidden_layers": 0)")), HasSubstr("num_hidden_layers"));
  EXPECT_THAT(problems(llama(R"("num_hidden_layers": 2.5)")), HasSubstr("2.5"));
  EXPECT_THAT(problems(llama(R"("eos_token_id": 32000)")), HasSubstr("32000"));
}

TEST(Config, ADefaultEndTokenBeyondASmallVocabularyIsNone) {
  EXPECT_EQ(parse_config(gpt2(R"("vocab_size": 4096, "eos_token_id": 50256)"), "x").eos_id, std::nullopt);
  EXPECT_EQ(parse_config(gpt2(R"("vocab_size": 4096)"), "x").eos_id, std::nullopt);
  EXPECT_EQ(parse_config(gpt2(R"("vocab_size": 4096, "eos_token_id": 3)"), "x").eos_id, 3);
}

TEST(Config, ContradictoryNamesOfOneNumberAreRefused) {
  EXPECT_EQ(problems(gpt2(R"("n_embd": 768, "hidden_size": 768)")), "accepted");
  EXPECT_THAT(problems(gpt2(R"("n_embd": 768, "hidden_size": 1024)")), HasSubstr("another name"));
}

TEST(Config, TextThatIsNoJsonIsADataError) {
  EXPECT_THROW(parse_config("", "x"), DataError);
  EXPECT_THROW(parse_config("[1, 2]", "x"), DataError);
  EXPECT_THROW(parse_config("{\"model_type\": \"llama\"", "x"), DataError);
  EXPECT_THROW(parse_config(llama("\"rms_norm_eps\": NaN"), "x"), DataError);
  EXPECT_THROW(parse_config(llama("\"rms_norm_eps\": 1e999"), "x"), DataError);
  try {
    parse_config(llama(R"("hidden_size": 64, "hidden_size": 128)"), "dir/config.json");
    FAIL() << "a key that occurs twice was accepted";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("dir/config.json"), HasSubstr("hidden_size")));
  }
}

TEST(Config, NestingWithoutEndIsADataError) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_THROW(parse_config(llama("\"unknown\": " + deep), "x"), DataError);
  EXPECT_THROW(parse_config(deep, "x"), DataError);
}

TEST(Config, ANumberThatCannotBeReadIsReportedWithoutConsequences) {
  EXPECT_THAT(
      problems(llama(R"("hidden_size": 64, "num_attention_heads": "four")")),
      testing::AllOf(HasSubstr("num_attention_heads: expected an integer"), testing::Not(HasSubstr("head_dim"))));
  EXPECT_THAT(problems(gpt2(R"("n_head": 0, "n_embd": 64)")),
              testing::AllOf(HasSubstr("n_head: expected an integer"), testing::Not(HasSubstr("multiple"))));
  EXPECT_THAT(problems(gpt2(R"("n_positions": 64, "n_ctx": "x")")),
              testing::AllOf(HasSubstr("n_ctx: expected an integer"), testing::Not(HasSubstr("another name"))));
}

TEST(Config, AFolderIsReadThroughItsConfigJson) {
  const support::TmpDir dir;
  EXPECT_THROW(read_config(dir.path()), ConfigError);
  dir.write("config.json", llama(R"("hidden_size": 64, "num_attention_heads": 4, "head_dim": 16)"));
  EXPECT_EQ(read_config(dir.path()).width, 64);
  EXPECT_EQ(read_config(dir / "config.json").width, 64);
  EXPECT_EQ(resolve(dir.path().string()).width, 64);
}

TEST(Config, ResolveNamesThePresetsWhenNothingFits) {
  try {
    resolve("llama-900b");
    FAIL() << "an unknown model was accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("llama-900b"), HasSubstr("gpt2-124m"), HasSubstr("llama-1b")));
  }
}

}  // namespace
}  // namespace convoy::model

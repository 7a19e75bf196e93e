// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "libcore/base/error.h"
#include "libcore/model/config_reader.h"

namespace convoy::model {
namespace {

// Wide enough for any model, narrow enough that no product of two extents overflows.
constexpr std::int64_t kMaxWidth = std::int64_t{1} << 20;
constexpr std::int64_t kMaxLayers = std::int64_t{1} << 14;
constexpr std::int64_t kMaxPositions = std::int64_t{1} << 30;
constexpr std::int64_t kMaxVocabulary = (std::int64_t{1} << 31) - 1;
constexpr IntegerRange kWidth{1, kMaxWidth};

// What transformers writes and what has no bearing on the forward or backward pass.
constexpr std::array kHarmlessKeys = {
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_commit_hash",
    "_from_model_config",
    "_name_or_path",
    "attn_implementation",
    "bad_words_ids",
    "begin_suppress_tokens",
    "chunk_size_feed_forward",
    "cross_attention_hidden_size",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "gradient_checkpointing",
    "id2label",
    "is_decoder",
    "label2id",
    "length_penalty",
    "max_length",
    "min_length",
    "name_or_path",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_labels",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_scores",
    "pad_token_id",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "remove_invalid_values",
    "reorder_and_upcast_attn",
    "repetition_penalty",
    "return_dict",
    "return_dict_in_generate",
    "sep_token_id",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torchscript",
    "transformers_version",
    "typical_p",
    "use_bfloat16",
    "use_cache",
};

// Keys that are accepted with one value only, because another would be another model.
struct FixedKey {
  const char* key;
  const char* value;  // JSON
};
constexpr std::array kFixedKeys = {
    FixedKey{"add_cross_attention", "false"},
    FixedKey{"auto_map", "null"},
    FixedKey{"is_encoder_decoder", "false"},
    FixedKey{"partial_rotary_factor", "1.0"},
    FixedKey{"pruned_heads", "{}"},
    FixedKey{"quantization_config", "null"},
    FixedKey{"scale_attn_by_inverse_layer_idx", "false"},
    FixedKey{"scale_attn_weights", "true"},
    FixedKey{"sliding_window", "null"},
    FixedKey{"tie_encoder_decoder", "false"},
    FixedKey{"use_sliding_window", "false"},
};

void check_fixed_keys(ConfigReader& reader) {
  for (const FixedKey& fixed : kFixedKeys) {
    const Json* value = reader.find(fixed.key);
    if (value != nullptr && *value != Json::parse(fixed.value)) {
      reader.problem(fixed.key,
                     fmt::format("is not supported: expected {}, found {}", fixed.value, value->dump().substr(0, 60)));
    }
  }
  const Json* types = reader.find("layer_types");
  if (types == nullptr) return;
  const bool full = types->is_array() &&
                    std::all_of(types->begin(), types->end(), [](const Json& t) { return t == "full_attention"; });
  if (!full) reader.problem("layer_types", "is not supported unless every layer is \"full_attention\"");
}

void check_activation(ConfigReader& reader, const std::string& key, const std::array<std::string, 2>& accepted) {
  const std::string found = reader.text(key, accepted[0]);
  if (std::find(accepted.begin(), accepted.end(), found) != accepted.end()) return;
  reader.problem(key, fmt::format("is not supported: expected \"{}\", found \"{}\"", accepted[0], found));
}

void check_dtype(ConfigReader& reader) {
  const std::string older = reader.text("torch_dtype", ""), newer = reader.text("dtype", "");
  if (!older.empty() && !newer.empty() && older != newer) {
    reader.problem("dtype",
                   fmt::format("is \"{}\", but torch_dtype, the older key for it, is \"{}\"; keep one", newer, older));
  }
}

// A token id, or a list of them of which the first counts (Llama 3's eos_token_id).
std::optional<std::int32_t> token_id(ConfigReader& reader, const std::string& key, std::int64_t fallback,
                                     std::int64_t vocabulary) {
  const Json* value = reader.find(key);
  if (value == nullptr) {
    if (reader.has(key) || fallback >= vocabulary) return std::nullopt;
    return static_cast<std::int32_t>(fallback);
  }
  const Json& id = value->is_array() && !value->empty() ? value->front() : *value;
  if (id.is_number_integer()) {
    const auto number = id.get<std::int64_t>();
    if (number == -1) return std::nullopt;  // an older way to say none
    // transformers writes its default along even where the vocabulary is smaller.
    if (number == fallback && number >= vocabulary) return std::nullopt;
    if (number >= 0 && number < vocabulary) return static_cast<std::int32_t>(number);
  }
  reader.problem(
      key, fmt::format("expected a token id below vocab_size {}, found {}", vocabulary, value->dump().substr(0, 60)));
  return std::nullopt;
}

Config read_gpt2(ConfigReader& reader) {
  Config config{.architecture = Architecture::kGpt2};
  const std::size_t before = reader.problem_count();
  config.vocabulary = reader.integer("vocab_size", 50257, {1, kMaxVocabulary});
  config.positions = reader.integer({"n_positions", "max_position_embeddings", "n_ctx"}, 1024, {1, kMaxPositions});
  config.width = reader.integer({"n_embd", "hidden_size"}, 768, kWidth);
  config.layers = reader.integer({"n_layer", "num_hidden_layers"}, 12, {1, kMaxLayers});
  config.heads = reader.integer({"n_head", "num_attention_heads"}, 12, kWidth);
  config.key_value_heads = config.heads;
  config.ffn_width = reader.integer("n_inner", 4 * config.width, {1, 4 * kMaxWidth});
  const bool sizes_are_read = reader.problem_count() == before;
  config.norm_epsilon = reader.real("layer_norm_epsilon", 1e-5, 0.0, 1.0);
  config.initializer_range = reader.real("initializer_range", 0.02, 0.0, 100.0);
  config.tied_embeddings = reader.boolean("tie_word_embeddings", true);
  config.attention_bias = config.mlp_bias = true;
  config.dropout = std::max({reader.real("attn_pdrop", 0.1, 0.0, 1.0), reader.real("embd_pdrop", 0.1, 0.0, 1.0),
                             reader.real("resid_pdrop", 0.1, 0.0, 1.0)});
  config.bos_id = token_id(reader, "bos_token_id", 50256, config.vocabulary);
  config.eos_id = token_id(reader, "eos_token_id", 50256, config.vocabulary);
  check_activation(reader, "activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  if (sizes_are_read && config.width % config.heads != 0) {
    reader.problem("n_embd", fmt::format("{} is not a multiple of n_head {}", config.width, config.heads));
  }
  config.head_size = config.width / config.heads;
  return config;
}

struct Rope {
  double theta = 10000.0;
  std::optional<RopeScaling> scaling;
};

bool same(const std::optional<RopeScaling>& a, const std::optional<RopeScaling>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->factor == b->factor && a->low_frequency_factor == b->low_frequency_factor &&
         a->high_frequency_factor == b->high_frequency_factor && a->original_positions == b->original_positions;
}

RopeScaling read_scaling(ConfigReader& reader) {
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    if (reader.find(key) == nullptr) reader.problem(key, "is missing; rope_type \"llama3\" needs it");
  }
  RopeScaling scaling;
  scaling.factor = reader.real("factor", scaling.factor, 1.0, 1e6);
  scaling.low_frequency_factor = reader.real("low_freq_factor", scaling.low_frequency_factor, 1e-6, 1e6);
  scaling.high_frequency_factor = reader.real("high_freq_factor", scaling.high_frequency_factor, 1e-6, 1e6);
  scaling.original_positions =
      reader.integer("original_max_position_embeddings", scaling.original_positions, {1, kMaxPositions});
  if (scaling.high_frequency_factor <= scaling.low_frequency_factor) {
    reader.problem("high_freq_factor", fmt::format("expected more than low_freq_factor {}, found {}",
                                                   scaling.low_frequency_factor, scaling.high_frequency_factor));
  }
  return scaling;
}

// The object under `key`: rope_parameters, which holds the base too, or rope_scaling.
Rope read_rope_object(const Json& object, const std::string& key, const std::string& where,
                      std::vector<std::string>& problems) {
  ConfigReader reader(object, where, key + ".", problems);
  Rope rope;
  const std::string type = reader.text(reader.has("rope_type") ? "rope_type" : "type", "default");
  if (reader.has("type") && reader.text("type", type) != type)
    reader.problem("type", "disagrees with rope_type; keep one");
  if (key == "rope_parameters") {
    rope.theta = reader.real("rope_theta", 10000.0, 1.0, 1e12);
    if (reader.real("partial_rotary_factor", 1.0, 0.0, 1.0) != 1.0) {
      reader.problem("partial_rotary_factor", "is not supported: expected 1.0");
    }
  }
  if (type == "llama3") {
    rope.scaling = read_scaling(reader);
  } else if (type != "default") {
    reader.problem("rope_type",
                   fmt::format("is not supported: expected \"default\" or \"llama3\", found \"{}\"", type));
    return rope;
  }
  reader.refuse_unknown_keys();
  return rope;
}

// transformers 5 writes rope_parameters, older versions rope_theta and rope_scaling; a file that has both must agree.
Rope read_rope(ConfigReader& reader, const std::string& where, std::vector<std::string>& problems) {
  Rope older{.theta = reader.real("rope_theta", 10000.0, 1.0, 1e12), .scaling = {}};
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* value = reader.find(key);
    if (value != nullptr && !value->is_object()) reader.problem(key, "expected an object or null");
  }
  const Json* scaling = reader.find("rope_scaling");
  if (scaling != nullptr && scaling->is_object()) {
    older.scaling = read_rope_object(*scaling, "rope_scaling", where, problems).scaling;
  }
  const Json* parameters = reader.find("rope_parameters");
  if (parameters == nullptr || !parameters->is_object()) return older;
  const Rope newer = read_rope_object(*parameters, "rope_parameters", where, problems);
  if (reader.find("rope_theta") != nullptr && older.theta != newer.theta) {
    reader.problem("rope_theta",
                   fmt::format("is {}, but rope_parameters.rope_theta is {}; keep one", older.theta, newer.theta));
  }
  if (reader.has("rope_scaling") && !same(older.scaling, newer.scaling)) {
    reader.problem("rope_scaling", "disagrees with rope_parameters, the newer key for it; keep one");
  }
  return newer;
}

void check_llama_sizes(const Config& config, ConfigReader& reader) {
  if (config.width % config.heads != 0) {
    reader.problem("hidden_size",
                   fmt::format("{} is not a multiple of num_attention_heads {}", config.width, config.heads));
  }
  if (config.heads % config.key_value_heads != 0) {
    reader.problem("num_attention_heads",
                   fmt::format("{} is not a multiple of num_key_value_heads {}", config.heads, config.key_value_heads));
  }
  if (config.head_size % 2 != 0) {
    reader.problem("head_dim", fmt::format("rotary embedding needs an even head size, found {}", config.head_size));
  }
  if (config.heads * config.head_size > kMaxWidth) {
    reader.problem("head_dim",
                   fmt::format("{} heads of {} are wider than {}", config.heads, config.head_size, kMaxWidth));
  }
}

Config read_llama(ConfigReader& reader, const std::string& where, std::vector<std::string>& problems) {
  Config config{.architecture = Architecture::kLlama};
  const std::size_t before = reader.problem_count();
  config.vocabulary = reader.integer("vocab_size", 32000, {1, kMaxVocabulary});
  config.positions = reader.integer("max_position_embeddings", 2048, {1, kMaxPositions});
  config.width = reader.integer("hidden_size", 4096, kWidth);
  config.layers = reader.integer("num_hidden_layers", 32, {1, kMaxLayers});
  config.heads = reader.integer("num_attention_heads", 32, kWidth);
  config.key_value_heads = reader.integer("num_key_value_heads", config.heads, kWidth);
  config.head_size = reader.integer("head_dim", std::max<std::int64_t>(1, config.width / config.heads), kWidth);
  config.ffn_width = reader.integer("intermediate_size", 11008, {1, 4 * kMaxWidth});
  const bool sizes_are_read = reader.problem_count() == before;
  config.norm_epsilon = reader.real("rms_norm_eps", 1e-6, 0.0, 1.0);
  config.initializer_range = reader.real("initializer_range", 0.02, 0.0, 100.0);
  config.tied_embeddings = reader.boolean("tie_word_embeddings", false);
  config.attention_bias = reader.boolean("attention_bias", false);
  config.mlp_bias = reader.boolean("mlp_bias", false);
  config.dropout = reader.real("attention_dropout", 0.0, 0.0, 1.0);
  config.bos_id = token_id(reader, "bos_token_id", 1, config.vocabulary);
  config.eos_id = token_id(reader, "eos_token_id", 2, config.vocabulary);
  const Rope rope = read_rope(reader, where, problems);
  config.rope_theta = rope.theta;
  config.rope_scaling = rope.scaling;
  check_activation(reader, "hidden_act", {"silu", "swish"});
  if (sizes_are_read) check_llama_sizes(config, reader);
  return config;
}

constexpr const char* kSupported = "GPT2LMHeadModel (gpt2) and LlamaForCausalLM (llama)";

// The architecture, from `architectures` or `model_type`, which must agree.
std::optional<Architecture> read_architecture(ConfigReader& reader) {
  const std::string type = reader.text("model_type", "");
  std::string name;
  if (const Json* list = reader.find("architectures")) {
    if (!list->is_array() || list->size() != 1 || !list->front().is_string()) {
      reader.problem("architectures", fmt::format("expected a list of one name, found {}", list->dump().substr(0, 60)));
      return std::nullopt;
    }
    name = list->front().get<std::string>();
    if (name != "GPT2LMHeadModel" && name != "LlamaForCausalLM") {
      reader.problem("architectures", fmt::format("{} is not supported; convoy trains {}", name, kSupported));
      return std::nullopt;
    }
  }
  if (type.empty() && name.empty()) {
    reader.problem(
        "architectures",
        fmt::format("neither architectures nor model_type says what the model is; convoy trains {}", kSupported));
    return std::nullopt;
  }
  if (!type.empty() && type != "gpt2" && type != "llama") {
    reader.problem("model_type", fmt::format("\"{}\" is not supported; convoy trains {}", type, kSupported));
    return std::nullopt;
  }
  if (!type.empty() && !name.empty() && (type == "gpt2") != (name == "GPT2LMHeadModel")) {
    reader.problem("model_type", fmt::format("\"{}\" contradicts architectures {}", type, name));
    return std::nullopt;
  }
  return type == "gpt2" || name == "GPT2LMHeadModel" ? Architecture::kGpt2 : Architecture::kLlama;
}

}  // namespace

Config parse_config(std::string_view json, std::string_view where) {
  const Json root = parse_strict_json(json, where);
  if (!root.is_object()) throw DataError(fmt::format("{}: expected a JSON object, found {}", where, root.type_name()));
  std::vector<std::string> problems;
  ConfigReader reader(root, std::string(where), "", problems);
  Config config;
  const std::optional<Architecture> architecture = read_architecture(reader);
  if (architecture) {
    for (const char* key : kHarmlessKeys) reader.know(key);
    check_fixed_keys(reader);
    check_dtype(reader);
    config =
        *architecture == Architecture::kGpt2 ? read_gpt2(reader) : read_llama(reader, std::string(where), problems);
    reader.refuse_unknown_keys();
  }
  if (!problems.empty()) throw ConfigError(problems);
  return config;
}

Config read_config(const Path& path) {
  std::error_code ignored;
  Path file = path;
  if (std::filesystem::is_directory(path, ignored)) {
    file = path / "config.json";
    if (!std::filesystem::exists(file, ignored)) {
      throw ConfigError(fmt::format(
          "{}: the folder holds no config.json, so the model is not known; name a Hugging Face model folder",
          path.string()));
    }
  }
  return parse_config(read_file(file, "model configuration"), file.string());
}

Config resolve(std::string_view model) {
  const std::vector<std::string> names = preset_names();
  if (std::find(names.begin(), names.end(), model) != names.end()) return preset(model);
  std::error_code refused;
  if (std::filesystem::exists(Path(model), refused)) return read_config(Path(model));
  if (refused) throw EnvironmentError(fmt::format("cannot look at model '{}': {}", model, refused.message()));
  throw ConfigError(fmt::format("model \"{}\" is neither a file or folder nor a preset; the presets are {}", model,
                                fmt::join(names, ", ")));
}

}  // namespace convoy::model

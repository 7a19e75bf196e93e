// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "libcore/base/error.h"
#include "libcore/model/config_reader.h"
#include "libcore/model/family.h"

namespace convoy::model {
namespace {

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
    FixedKey{"tie_encoder_decoder", "false"},
    FixedKey{"use_sliding_window", "false"},
};

void check_fixed_keys(ConfigReader& reader) {
  for (const FixedKey& fixed : kFixedKeys) reader.only(fixed.key, fixed.value);
  const Json* types = reader.find("layer_types");
  if (types == nullptr) return;
  const bool full = types->is_array() &&
                    std::all_of(types->begin(), types->end(), [](const Json& t) { return t == "full_attention"; });
  if (!full) reader.problem("layer_types", "is not supported unless every layer is \"full_attention\"");
}

void check_dtype(ConfigReader& reader) {
  const std::string older = reader.text("torch_dtype", ""), newer = reader.text("dtype", "");
  if (!older.empty() && !newer.empty() && older != newer) {
    reader.problem("dtype",
                   fmt::format("is \"{}\", but torch_dtype, the older key for it, is \"{}\"; keep one", newer, older));
  }
}

std::string supported() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.push_back(fmt::format("{} ({})", family.class_name, family.model_type));
  return fmt::format("{}", fmt::join(names, ", "));
}

const Family* find_family(std::string_view Family::*name, std::string_view wanted) {
  for (const Family& family : families()) {
    if (family.*name == wanted) return &family;
  }
  return nullptr;
}

// The one name in `architectures`, empty if there is no such key. Nothing after a problem.
std::optional<std::string> read_class_name(ConfigReader& reader) {
  const Json* list = reader.find("architectures");
  if (list == nullptr) return "";
  if (list->is_array() && list->size() == 1 && list->front().is_string()) return list->front().get<std::string>();
  reader.problem("architectures", fmt::format("expected a list of one name, found {}", list->dump().substr(0, 60)));
  return std::nullopt;
}

// The family, from `architectures` or `model_type`, which must agree. Null after a problem.
const Family* read_family(ConfigReader& reader) {
  const std::string type = reader.text("model_type", "");
  const std::optional<std::string> name = read_class_name(reader);
  if (!name) return nullptr;
  const Family* by_name = find_family(&Family::class_name, *name);
  const Family* by_type = find_family(&Family::model_type, type);
  if (!name->empty() && by_name == nullptr) {
    reader.problem("architectures", fmt::format("{} is not supported; convoy trains {}", *name, supported()));
  } else if (!type.empty() && by_type == nullptr) {
    reader.problem("model_type", fmt::format("\"{}\" is not supported; convoy trains {}", type, supported()));
  } else if (by_name == nullptr && by_type == nullptr) {
    reader.problem("architectures", fmt::format("neither architectures nor model_type says what the model is; convoy "
                                                "trains {}",
                                                supported()));
  } else if (by_name != nullptr && by_type != nullptr && by_name != by_type) {
    reader.problem("model_type", fmt::format("\"{}\" contradicts architectures {}", type, *name));
  } else {
    return by_name != nullptr ? by_name : by_type;
  }
  return nullptr;
}

}  // namespace

Config parse_config(std::string_view json, std::string_view where) {
  const Json root = parse_strict_json(json, where);
  if (!root.is_object()) throw DataError(fmt::format("{}: expected a JSON object, found {}", where, root.type_name()));
  std::vector<std::string> problems;
  ConfigReader reader(root, std::string(where), "", problems);
  Config config;
  if (const Family* family = read_family(reader)) {
    for (const char* key : kHarmlessKeys) reader.know(key);
    check_fixed_keys(reader);
    check_dtype(reader);
    config = family->read(reader);
    config.architecture = family->architecture;
    reader.refuse_unknown_keys();
  }
  if (!problems.empty()) throw ConfigError(problems);
  return config;
}

void set_dropout(Config& config, double rate) {
  config.dropout = {.attention = rate};
  if (config.architecture == Architecture::kGpt2) config.dropout.embedding = config.dropout.residual = rate;
}

std::string text_of(const DropoutRates& rates) {
  std::vector<std::string> shown;
  if (rates.embedding > 0.0) shown.push_back(fmt::format("embedding {}", rates.embedding));
  if (rates.attention > 0.0) shown.push_back(fmt::format("attention {}", rates.attention));
  if (rates.residual > 0.0) shown.push_back(fmt::format("residual {}", rates.residual));
  return shown.empty() ? "none" : fmt::format("{}", fmt::join(shown, ", "));
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

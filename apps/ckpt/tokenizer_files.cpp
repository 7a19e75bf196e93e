// SPDX-License-Identifier: Apache-2.0
#include "apps/ckpt/tokenizer_files.h"

#include <fmt/format.h>

#include "libcore/base/error.h"
#include "libcore/base/json.h"

namespace convoy::apps::ckpt {
namespace {

void add_special(JsonObject& json, const data::Tokenizer& tokenizer) {
  const auto add = [&](const char* name, std::int32_t id) {
    if (id >= 0) json.add(name, tokenizer.piece(id));
  };
  add("bos_token", tokenizer.bos_id());
  add("eos_token", tokenizer.eos_id());
  add("unk_token", tokenizer.facts().unk_id);
  add("pad_token", tokenizer.facts().pad_id);
}

}  // namespace

void check_tokenizer(const data::Tokenizer& tokenizer, const std::string& path, const model::Config& config) {
  if (tokenizer.vocabulary() <= config.vocabulary) return;
  throw DataError(
      fmt::format("--tokenizer {}: has {} pieces, the model's vocabulary is {}; take the tokenizer of the data "
                  "that the model was trained on",
                  path, tokenizer.vocabulary(), config.vocabulary));
}

void write_tokenizer_files(const Path& folder, const data::Tokenizer& tokenizer, const std::string& path,
                           const model::Config& config) {
  const bool is_byte_level = tokenizer.facts().kind == data::kByteLevelKind;
  write_file_atomically(folder / (is_byte_level ? "tokenizer.json" : "tokenizer.model"), read_file(path, "tokenizer"));
  JsonObject settings;
  // Data are encoded without BOS and EOS unless asked for, and so are prompts.
  if (is_byte_level) {
    settings.add("tokenizer_class", "PreTrainedTokenizerFast");
  } else {
    settings.add("tokenizer_class", "LlamaTokenizer").add("add_bos_token", false).add("add_eos_token", false);
    settings.add("add_prefix_space", tokenizer.facts().add_dummy_prefix).add("legacy", false);
  }
  settings.add("clean_up_tokenization_spaces", false).add("model_max_length", config.positions);
  add_special(settings, tokenizer);
  write_file_atomically(folder / "tokenizer_config.json", settings.text() + "\n");
  JsonObject special;
  add_special(special, tokenizer);
  write_file_atomically(folder / "special_tokens_map.json", special.text() + "\n");
}

}  // namespace convoy::apps::ckpt

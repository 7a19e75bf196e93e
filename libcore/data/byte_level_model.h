// SPDX-License-Identifier: Apache-2.0
// Hugging Face's tokenizer.json (tokenizer_json.h) as a kind of TokenModel.
#pragma once

#include <memory>
#include <string>

#include "libcore/base/file.h"
#include "libcore/data/token_model.h"

namespace convoy::data {

// BOS and EOS are what tokenizer_config.json or special_tokens_map.json beside `path` names, else tokens with the usual names.
// `special_tokens_are_text`: their names in text stay text. DataError with a clause if the bytes are no tokenizer.json, or hold what
// is not supported.
std::unique_ptr<TokenModel> make_byte_level_model(const std::string& bytes, const Path& path, bool special_tokens_are_text);

// What the tokenizers library makes of bytes: U+FFFD for each longest beginning of a character that does not go on as one, and for
// each byte that begins none.
std::string lossy_utf8(std::string_view bytes);

}  // namespace convoy::data

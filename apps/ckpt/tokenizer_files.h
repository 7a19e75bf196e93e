// SPDX-License-Identifier: Apache-2.0
// The files beside a Hugging Face model from which transformers makes its tokenizer.
#pragma once

#include <string>

#include "libcore/data/tokenizer.h"
#include "libcore/model/config.h"

namespace convoy::apps::ckpt {

// DataError if the tokenizer has ids that the model has no row for.
void check_tokenizer(const data::Tokenizer& tokenizer, const std::string& path, const model::Config& config);

// tokenizer.model or tokenizer.json, tokenizer_config.json, special_tokens_map.json.
void write_tokenizer_files(const Path& folder, const data::Tokenizer& tokenizer, const std::string& path,
                           const model::Config& config);

}  // namespace convoy::apps::ckpt

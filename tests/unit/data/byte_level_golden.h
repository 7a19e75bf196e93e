// SPDX-License-Identifier: Apache-2.0
// The small tokenizer.json files of tests/golden/hf-tokenizer.
#pragma once

#include <array>
#include <string>

#include "golden.h"

namespace convoy::data::golden {

inline constexpr std::array kByteLevelNames = {"gpt2", "gpt2-blank-first", "llama3", "qwen2", "added", "cased", "digits", "behaviours"};

inline Path byte_level_folder() { return Path(CONVOY_GOLDEN_DIR) / "hf-tokenizer"; }
inline Path byte_level_file(const std::string& name) { return byte_level_folder() / (name + ".tokenizer.json"); }
inline Path byte_level_cases(const std::string& name) { return byte_level_folder() / (name + ".cases.json"); }

}  // namespace convoy::data::golden

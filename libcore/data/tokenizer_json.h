// SPDX-License-Identifier: Apache-2.0
// Reads Hugging Face's tokenizer.json if it is a byte-level BPE (GPT-2, Llama 3, Qwen 2 and their like). Whatever else it holds
// that would change the ids is refused, all of it at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libcore/data/added_tokens.h"
#include "libcore/data/merge_table.h"
#include "libcore/data/pre_tokenizer.h"

namespace convoy::data {

struct ByteLevelBpe {
  std::vector<std::pair<std::string, std::int32_t>> pieces;  // as they are in the file: a letter for each byte
  std::vector<MergeTable::Merge> merges;                     // of ids; each pair once
  bool ignores_merges = false;                               // a unit that is a piece is that piece
  bool nfc = false;
  std::vector<SplitStep> steps;
  ByteLevelStep byte_level;
  std::vector<AddedToken> added;
  std::int32_t highest_id = 0;
  bool special_tokens_are_text = false;  // not in the file: the library's encode_special_tokens
  std::vector<std::string> remarks;  // what is not taken over, though it changes no id of a whole text; clauses
};

// Whether the bytes may be a tokenizer.json: a JSON object.
bool looks_like_json(std::string_view bytes);
// Throws DataError with a clause.
ByteLevelBpe parse_tokenizer_json(std::string_view bytes);

// The bytes that the letters of a piece stand for (GPT-2's table), if each stands for one.
std::optional<std::string> bytes_of_piece(std::string_view piece);

}  // namespace convoy::data

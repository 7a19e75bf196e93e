// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE in the plainest way: every pattern by its regular expression, merges between texts, nothing kept. It
// shares with the encoder (byte_level_encoder.h) the file's reader, added tokens and NFC alone, and is what the encoder is
// checked against while it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libcore/data/byte_level_encoder.h"

namespace convoy::data {

class ByteLevelReference {
 public:
  explicit ByteLevelReference(const ByteLevelBpe& bpe);
  ByteLevelReference(const ByteLevelReference&) = delete;
  ByteLevelReference& operator=(const ByteLevelReference&) = delete;

  void encode(std::string_view text, std::vector<std::int32_t>& ids) const;

 private:
  void encode_normalized(std::string_view text, std::vector<std::int32_t>& ids) const;
  void encode_unit(std::string_view unit, std::vector<std::int32_t>& ids) const;

  CharacterClasses classes_;
  std::unique_ptr<const NfcNormalizer> nfc_;
  AddedTokens raw_tokens_, normalized_tokens_;
  PreTokenizer pre_tokenizer_;
  bool ignores_merges_;
  std::unordered_map<std::string, std::int32_t> ids_;      // of pieces, by their bytes
  std::unordered_map<std::string, std::uint32_t> ranks_;  // of merges: the left's length, a colon, both
};

}  // namespace convoy::data

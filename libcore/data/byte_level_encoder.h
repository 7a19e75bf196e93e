// SPDX-License-Identifier: Apache-2.0
// Encodes text with a byte-level BPE (tokenizer_json.h) as the tokenizers library does with add_special_tokens=False, id for id:
// added tokens are met, what lies between is normalised and split into units, and a unit's bytes are merged. Units are looked up
// among those that the thread met before. Bytes that are no UTF-8 become U+FFFD, each for itself.
//
// A text is encoded in parts. Between a letter and what is no letter all known patterns come apart, whatever stands on either side:
// a run of letters ends there, nothing else holds a letter before its end but a contraction, which ends there, too, and what
// follows is matched from there on. So the ids of both sides are those of the whole, if also normalisation does not cross
// (the right character begins alone, the left one stays a letter) and no added token does.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libcore/data/added_tokens.h"
#include "libcore/data/merge_table.h"
#include "libcore/data/nfc.h"
#include "libcore/data/pre_tokenizer.h"
#include "libcore/data/tokenizer_json.h"
#include "libcore/data/unit_cache.h"

namespace convoy::data {

// What one thread keeps from text to text, all of one encoder.
struct ByteLevelRoom {
  UnitCache cache;
  MergeRoom merges;
  std::string repaired, normalized, text, blanks;
  PreTokenizer::Parts units;
  std::vector<std::int32_t> unit;  // ids of a new unit
  std::vector<std::int32_t> ids;   // of a part
  std::string held;                // of a text that comes in parts: not encoded yet
  std::int64_t control_tokens = 0; // met in text so far
};

struct ByteLevelSizes {
  std::size_t most_held = std::size_t{8} << 20;  // bytes of a text in parts that come apart nowhere: encoded, each takes about 40 bytes of memory
};

class ByteLevelEncoder {
 public:
  explicit ByteLevelEncoder(const ByteLevelBpe& bpe, const ByteLevelSizes& sizes = {});
  ByteLevelEncoder(const ByteLevelEncoder&) = delete;
  ByteLevelEncoder& operator=(const ByteLevelEncoder&) = delete;

  // Appends the ids of `text`, any bytes.
  void encode(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;

  // Whether texts may come in parts: not with a pattern that is not known, whose matches may depend on anything.
  bool streams() const { return comes_apart_; }
  // A text in parts, cut anywhere: clear room.held, then add() and finish() append what is certain. False is the end: more than
  // most_held bytes come apart nowhere, so the text can be encoded as a whole only.
  bool add(std::string_view part, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;
  void finish(ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;

 private:
  struct Unit;
  static constexpr std::size_t kNowhere = SIZE_MAX;

  std::size_t first_cut(std::string_view text, std::size_t from, bool is_last) const;
  bool may_cut(std::string_view text, std::size_t at, bool is_last) const;
  bool stays_letter(std::string_view letter) const;
  void encode_part(std::string_view part, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;
  void encode_valid(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;
  void encode_normalized(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;
  void encode_text(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;
  void encode_units(ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;
  Unit unit_of(const char* begin, const char* end, const ByteLevelRoom& room) const;
  std::int32_t* encode_unit(const Unit& unit, ByteLevelRoom& room, std::int32_t* out) const;
  std::int32_t* encode_long_unit(Unit unit, ByteLevelRoom& room, std::int32_t* out) const;
  void merge(std::string_view unit, ByteLevelRoom& room) const;

  ByteLevelSizes sizes_;
  CharacterClasses classes_;
  std::unique_ptr<const NfcNormalizer> nfc_;
  AddedTokens raw_tokens_, normalized_tokens_;
  PreTokenizer pre_tokenizer_;
  bool comes_apart_;
  std::array<std::int32_t, 256> byte_ids_{};
  MergeTable table_;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> pieces_;  // of a model that ignores merges, by their bytes
};

// The tokens of a file that are met in raw, or in normalised text: then as `nfc`, if there is one, has them.
std::vector<AddedToken> added_tokens(const ByteLevelBpe& bpe, bool normalized, const NfcNormalizer* nfc);
// Valid UTF-8 of any bytes: `text` itself, or what is then in `room`.
std::string_view repaired_text(std::string_view text, std::string& room);

}  // namespace convoy::data

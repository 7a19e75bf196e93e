// SPDX-License-Identifier: Apache-2.0
// Encodes text with a byte-level BPE (tokenizer_json.h) as the tokenizers library does with add_special_tokens=False, id for id:
// added tokens are met, what lies between is normalised and split into units, and a unit's bytes are merged. Units are looked up
// among those that the thread met before. Bytes that are no UTF-8 become U+FFFD, each for itself.
//
// A text is encoded in parts. Between a letter and what is no letter all known patterns come apart, whatever stands on either side:
// a run of letters ends there, nothing else holds a letter before its end but a contraction, which ends there, too, and what
// follows is matched from there on. So the ids of both sides are those of the whole, if also normalisation does not cross
// (the right character begins alone, the left one stays a letter) and no added token does.
//
// A long stretch without such a place is encoded as far as is certain (encode_certain). Look at the beginning of it that is
// valid, up to a character that begins alone, and in form C. No added token, be it met or not, begins before a place `known` in
// it, and what it holds behind that is as long as any token, any piece, and what a match looks ahead. Then
// - the matches up to `known` are those of the whole text: a match depends on what follows, and that is seen
//   (WordScanner::certain); tokens change nothing before they begin, or, if one takes the blanks before it, before these, which
//   `known` leaves out;
// - normalisation changes nothing there, and the rest can be normalised for itself wherever it begins: part of a text in form C
//   is in form C, and what stands behind the stretch begins alone. Tokens are met in the rest as in the whole, for none begins
//   near its beginning: none is left of it, whose left neighbour or whose own end were on the other side.
// So whole matches are encoded and left behind. If a match goes beyond `known`, its certain beginning is merged (merge_table.h),
// and the rest of it, which begins as no match does, ends where its run ends (WordScanner::end_of_open) and is merged for itself.
// A unit that is longer than all pieces is none, so a model that ignores merges does not look for its rest.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
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
  // Of the text that is encoded now:
  std::string held;                        // if it comes in parts: not encoded yet
  std::size_t enough = 0;                  // bytes of it from which on to look for what is certain without a cut
  OpenMatch open = OpenMatch::kNone;       // what is not encoded yet begins with the rest of this
  std::int64_t control_tokens = 0;  // met in text so far

  void give_back();  // what a very long unit took
};

struct ByteLevelSizes {
  std::size_t part = std::size_t{16} << 10;      // of text that is encoded at a time: stays in the cache
  std::size_t window = std::size_t{64} << 10;    // without a place to cut: then what is certain is encoded
  // Of a text in parts of which nothing is certain: encoded, each byte takes about 40 of memory.
  std::size_t most_held = std::size_t{8} << 20;
};

// Refers to its `bpe`.
class ByteLevelEncoder {
 public:
  explicit ByteLevelEncoder(const ByteLevelBpe& bpe, const ByteLevelSizes& sizes = {});
  ByteLevelEncoder(const ByteLevelEncoder&) = delete;
  ByteLevelEncoder& operator=(const ByteLevelEncoder&) = delete;

  // Appends the ids of `text`, any bytes.
  void encode(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;

  // Whether texts may come in parts: not with a pattern that is not known, whose matches may depend on anything.
  bool streams() const { return comes_apart_; }
  // A text in parts, cut anywhere: begin(), then add() and finish() append what is certain. False is the end: of more than
  // most_held bytes nothing is, so the text can be encoded as a whole only.
  void begin(ByteLevelRoom& room) const;
  bool add(std::string_view part, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;
  void finish(ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;

 private:
  struct Unit;
  static constexpr std::size_t kNowhere = SIZE_MAX;

  std::size_t first_cut(std::string_view text, std::size_t from, bool is_last) const;
  bool may_cut(std::string_view text, std::size_t at, bool is_last) const;
  bool stays_letter(std::string_view letter) const;
  std::size_t plain_bytes(std::string_view& text, ByteLevelRoom& room) const;
  const ByteTrie& symbols() const;
  std::size_t encode_beginning_of_unit(std::string_view text, std::size_t known, ByteLevelRoom& room,
                                       std::vector<std::int32_t>& ids) const;
  std::size_t encode_certain(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;
  void encode_rest(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;
  void add_some(std::string_view part, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;
  void encode_part(std::string_view part, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;
  void encode_valid(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;
  void encode_normalized(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;
  void encode_text(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;
  Unit unit_of(const char* begin, const char* end, const ByteLevelRoom& room) const;
  std::int32_t* encode_unit(const Unit& unit, ByteLevelRoom& room, std::int32_t* out) const;
  std::int32_t* encode_long_unit(Unit unit, ByteLevelRoom& room, std::int32_t* out) const;
  void merge(std::string_view unit, ByteLevelRoom& room) const;
  void load(std::string_view unit, MergeRoom& room) const;
  void merge_bytes(std::string_view unit, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const;

  const ByteLevelBpe& bpe_;
  ByteLevelSizes sizes_;
  CharacterClasses classes_;
  std::unique_ptr<const NfcNormalizer> nfc_;
  AddedTokens raw_tokens_, normalized_tokens_;
  PreTokenizer pre_tokenizer_;
  bool comes_apart_;
  std::array<std::int32_t, 256> byte_ids_{};
  MergeTable table_;
  std::size_t longest_piece_ = 0;  // in bytes
  mutable std::once_flag symbols_made_;
  mutable std::unique_ptr<const ByteTrie> symbols_;  // the pieces by their bytes; made when first asked for
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

// SPDX-License-Identifier: Apache-2.0
// Encodes text with a SentencePiece model, BPE or unigram, as the library does, id for id, but much faster: units (unit_splitter.h)
// are looked up among those that the thread met before, and only new ones are encoded. Works in parts: normalise some text, encode
// its units, go on. A unit that does not end goes on in parts itself (merge_table.h, unigram_lattice.h), so that memory grows with
// nothing but the stretch of text that must be known before anything of it is certain: most often less than a hundred bytes; in a
// unigram model perhaps all of it, if it is one pattern over and over, which takes little room (path_store.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/data/bpe_merger.h"
#include "libcore/data/model_proto.h"
#include "libcore/data/text_normalizer.h"
#include "libcore/data/unigram_lattice.h"
#include "libcore/data/unit_cache.h"
#include "libcore/data/unit_splitter.h"
#include "libcore/data/vocabulary.h"

namespace convoy::data {

// What one thread keeps from text to text, all of one encoder.
struct EncoderRoom {
  UnitCache cache;
  MergeRoom merges;
  PathRoom paths;
  // Of the text that is encoded now:
  NormalizerCursor cursor;
  std::string raw;                   // given, and not normalised because more text may change it
  std::string text;                  // normalised
  std::size_t enough = 0;            // bytes of it that are worth looking at
  std::size_t long_unit = 0;         // bytes from which on a unit that goes on is encoded in parts
  std::vector<std::int32_t> unit;    // ids of a new unit
  std::vector<std::int32_t> ids;     // of a part of the text
  float score = 0.0F;                // unigram: of the best path so far
  bool after_unknown = false;        // the last id was the unknown piece's
};

struct EncoderSizes {
  std::size_t part = std::size_t{16} << 10;       // of text, normalised and encoded at a time: stays in the cache
  std::size_t long_unit = std::size_t{32} << 10;  // from which on a unit that goes on is encoded in parts
  std::size_t most_open = std::size_t{4} << 20;   // of a unit that stays uncertain: beyond, the text is left to the library
};

class PieceEncoder {
 public:
  explicit PieceEncoder(const ModelProto& model, const EncoderSizes& sizes = {});
  PieceEncoder(const PieceEncoder&) = delete;  // its parts refer to its vocabulary
  PieceEncoder& operator=(const PieceEncoder&) = delete;

  // Why this model must be encoded by the library, as a clause ("a word model"), or empty.
  const std::string& left_to_library() const { return vocabulary_.left_to_library; }

  // Appends the ids of `text`, any bytes. False, and `ids` as they were, if this text must be encoded by the library: the model
  // has an unused piece that can be taken apart in several ways, and it occurs; or nothing is certain of very much text.
  bool encode(std::string_view text, EncoderRoom& room, std::vector<std::int32_t>& ids) const;
  // The same of a text that comes in parts, cut anywhere: begin(), any add(), finish(). Each appends the ids that are certain by
  // then. False is the end: the library must encode the whole text.
  void begin(EncoderRoom& room) const;
  bool add(std::string_view part, EncoderRoom& room, std::vector<std::int32_t>& ids) const;
  bool finish(EncoderRoom& room, std::vector<std::int32_t>& ids) const;

 private:
  struct Part;
  struct Unit;
  bool encode_window(std::string_view text, bool goes_on, EncoderRoom& room, std::vector<std::int32_t>& ids) const;
  // Of an open unit (unigram_lattice.h), up to lookahead_ bytes stay that were known before, and up to lookahead_ that were not.
  std::size_t least_long_unit() const { return std::max(sizes_.long_unit, 3 * lookahead_ + 8); }
  bool encode_beginning_of_unit(EncoderRoom& room, std::vector<std::int32_t>& ids) const;
  Part encode_part(bool is_last, EncoderRoom& room) const;
  Unit unit_of(const char* begin, const char* end, const EncoderRoom& room) const;
  std::int32_t* encode_unit(const Unit& unit, EncoderRoom& room, std::int32_t* out) const;
  std::int32_t* encode_long_unit(Unit unit, EncoderRoom& room, std::int32_t* out) const;
  std::int32_t* encode_new_unit(const Unit& unit, EncoderRoom& room, std::int32_t* out) const;
  bool holds(float reach, const EncoderRoom& room) const { return !lattice_ || std::abs(room.score) <= reach; }
  void advance(const std::int32_t* begin, const std::int32_t* end, EncoderRoom& room) const;
  void encode_end_of_open_unit(EncoderRoom& room, std::vector<std::int32_t>& ids) const;
  void join_unknown(std::size_t first, EncoderRoom& room, std::vector<std::int32_t>& ids) const;

  EncoderSizes sizes_;
  std::size_t lookahead_ = 0;  // bytes behind what is known of a unit that goes on
  Vocabulary vocabulary_;
  std::unique_ptr<const TextNormalizer> normalizer_;
  std::unique_ptr<const UnitSplitter> splitter_;
  std::unique_ptr<const BpeMerger> merger_;        // of a BPE model
  std::unique_ptr<const UnigramLattice> lattice_;  // of a unigram model
  // ASCII characters that are a unit of their own: their one id, or -1.
  std::array<std::int32_t, 128> single_ids_{};
};

}  // namespace convoy::data

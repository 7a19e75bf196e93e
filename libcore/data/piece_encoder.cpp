// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/piece_encoder.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <utility>

#include "libcore/base/checksum.h"

namespace convoy::data {
namespace {

constexpr std::size_t kPadding = 16;        // a unit's key is read at once
constexpr std::size_t kMostIdsOfAByte = 3;  // a blank that is no piece is three bytes
constexpr std::size_t kAtOnce = 32;         // units whose places are fetched before the first is looked up
constexpr std::size_t kRoomToKeep = std::size_t{4} << 20;

// A long unit's room does not outlive its text.
void free_much(EncoderRoom& room) {
  if (room.text.capacity() > kRoomToKeep) std::string().swap(room.text);
  if (room.ids.capacity() > kRoomToKeep) std::vector<std::int32_t>().swap(room.ids);
  if (room.unit.capacity() > kRoomToKeep) std::vector<std::int32_t>().swap(room.unit);
}

}  // namespace

struct PieceEncoder::Part {
  std::size_t bytes = 0;   // done
  std::size_t ids = 0;     // in room.ids
  bool is_exact = true;
};

struct PieceEncoder::Unit {
  const char* begin = nullptr;
  std::size_t bytes = 0;
  std::int32_t single = -1;  // its id, if it is one ASCII character that is a piece
  UnitKey key;               // of at most UnitKey::kMostBytes

  std::string_view text() const { return {begin, bytes}; }
};

PieceEncoder::PieceEncoder(const ModelProto& model, const EncoderSizes& sizes) : sizes_(sizes), vocabulary_(vocabulary_of(model)) {
  if (!left_to_library().empty()) return;
  normalizer_ = std::make_unique<TextNormalizer>(model, vocabulary_);
  splitter_ = std::make_unique<UnitSplitter>(vocabulary_);
  if (vocabulary_.kind == ModelKind::kBpe) {
    merger_ = std::make_unique<BpeMerger>(vocabulary_);
  } else {
    lattice_ = std::make_unique<UnigramLattice>(vocabulary_);
  }
  lookahead_ = std::max(splitter_->lookahead(), merger_ ? merger_->longest_piece() : lattice_->longest_piece());
  single_ids_.fill(-1);
  for (const TextPiece& piece : vocabulary_.pieces) {
    const bool is_met = merger_ ? piece.kind != PieceKind::kUserDefined : piece.kind != PieceKind::kUnused;
    const auto byte = static_cast<unsigned char>(piece.text[0]);
    if (piece.text.size() == 1 && byte < 0x80 && is_met) single_ids_[byte] = piece.id;
  }
}

inline void PieceEncoder::advance(const std::int32_t* begin, const std::int32_t* end, EncoderRoom& room) const {
  if (!lattice_) return;
  for (const std::int32_t* id = begin; id != end; ++id) lattice_->advance(room.score, *id);
}

// Null if the text must be left to the library.
std::int32_t* PieceEncoder::encode_new_unit(const Unit& unit, EncoderRoom& room, std::int32_t* out) const {
  const std::string_view text = unit.text();
  room.unit.clear();
  float reach = FLT_MAX;
  if (merger_) {
    if (!merger_->encode(text, room.merges, room.unit)) return nullptr;
  } else {
    const float before = std::abs(room.score);
    const bool all_pieces = lattice_->encode(text, room.score, room.paths, room.unit);
    const bool may_be_known = all_pieces && text.size() <= KnownLongUnit::kMostBytes;
    reach = may_be_known ? lattice_->reach(text, room.paths) : -1.0F;
    if (before > reach) reach = -1.0F;  // this path is no other text's
  }
  if (reach >= 0.0F) room.cache.keep(text, unit.key, room.unit, reach);
  return std::copy(room.unit.begin(), room.unit.end(), out);
}

// One of many bytes, or of many ids, or a new one.
std::int32_t* PieceEncoder::encode_long_unit(Unit unit, EncoderRoom& room, std::int32_t* out) const {
  const std::string_view text = unit.text();
  if (text.size() > KnownLongUnit::kMostBytes) return encode_new_unit(unit, room, out);
  if (text.size() > UnitKey::kMostBytes) unit.key.hash = xxh3_64(text);
  const KnownLongUnit* const known = room.cache.find_long(text, unit.key.hash);
  if (known == nullptr || !holds(known->reach, room)) return encode_new_unit(unit, room, out);
  std::copy_n(known->ids.begin(), known->count, out);
  advance(out, out + known->count, room);
  return out + known->count;
}

inline PieceEncoder::Unit PieceEncoder::unit_of(const char* begin, const char* end, const EncoderRoom& room) const {
  Unit unit{.begin = begin, .bytes = static_cast<std::size_t>(end - begin), .key = {}};
  if (unit.bytes == 1) unit.single = single_ids_[static_cast<unsigned char>(*begin)];
  if (unit.single >= 0 || unit.bytes > UnitKey::kMostBytes) return unit;
  unit.key = UnitKey::of(begin, unit.bytes);
  room.cache.prefetch(unit.key);
  return unit;
}

inline std::int32_t* PieceEncoder::encode_unit(const Unit& unit, EncoderRoom& room, std::int32_t* out) const {
  if (unit.single >= 0) {
    *out = unit.single;
    advance(out, out + 1, room);
    return out + 1;
  }
  if (unit.bytes > UnitKey::kMostBytes) return encode_long_unit(unit, room, out);
  const KnownUnit* const known = room.cache.find(unit.key);
  if (known == nullptr || !holds(known->reach, room)) [[unlikely]] return encode_long_unit(unit, room, out);
  for (std::size_t i = 0; i < KnownUnit::kMostIds; ++i) out[i] = known->id(i);
  advance(out, out + known->count(), room);
  return out + known->count();
}

PieceEncoder::Part PieceEncoder::encode_part(bool is_last, EncoderRoom& room) const {
  const std::size_t bytes = room.text.size();
  if (const std::size_t most = bytes * kMostIdsOfAByte + kPadding; room.ids.size() < most) room.ids.resize(most);
  room.text.append(kPadding, '\0');
  std::int32_t* out = room.ids.data();
  Part part;
  std::array<Unit, kAtOnce> units;
  std::size_t waiting = 0;
  const auto encode_waiting = [&] {
    for (std::size_t i = 0; i < waiting && part.is_exact; ++i) {
      std::int32_t* const next = encode_unit(units[i], room, out);
      part.is_exact = next != nullptr;
      if (part.is_exact) out = next;
    }
    waiting = 0;
  };
  const auto on_unit = [&](const char* begin, const char* end) {
    units[waiting++] = unit_of(begin, end, room);
    if (waiting == kAtOnce) encode_waiting();
  };
  const auto on_symbol = [&](std::int32_t id) {
    encode_waiting();
    *out++ = id;
  };
  part.bytes = splitter_->split({room.text.data(), bytes}, is_last, on_unit, on_symbol);
  encode_waiting();
  room.text.resize(bytes);
  part.ids = static_cast<std::size_t>(out - room.ids.data());
  return part;
}

// Characters without a piece or bytes, one after another, are one unknown piece. Of the ids from `first` on.
void PieceEncoder::join_unknown(std::size_t first, EncoderRoom& room, std::vector<std::int32_t>& ids) const {
  if (vocabulary_.byte_fallback) return;
  bool after_unknown = room.after_unknown;
  const auto goes_on = [&](std::int32_t id) {
    const bool was_unknown = std::exchange(after_unknown, id == vocabulary_.unknown_id);
    return was_unknown && after_unknown;
  };
  std::size_t kept = first;
  for (std::size_t i = first; i < ids.size(); ++i) {
    if (!goes_on(ids[i])) ids[kept++] = ids[i];
  }
  ids.resize(kept);
  room.after_unknown = after_unknown;
}

void PieceEncoder::begin(EncoderRoom& room) const {
  room.cursor = {};
  room.raw.clear();
  room.text.clear();
  room.enough = sizes_.part;
  room.long_unit = least_long_unit();
  room.paths.close();
  room.score = 0.0F;
  room.after_unknown = false;
}

// All that room.text holds is one unit's, but for its last few bytes.
bool PieceEncoder::encode_beginning_of_unit(EncoderRoom& room, std::vector<std::int32_t>& ids) const {
  std::size_t known = room.text.size() - lookahead_;
  while ((static_cast<unsigned char>(room.text[known]) & 0xC0U) == 0x80U) --known;
  const std::size_t before = ids.size();
  const auto bytes = merger_ ? merger_->encode_beginning(room.text, known, room.merges, ids)
                             : lattice_->encode_beginning(room.text, known, room.score, room.paths, ids);
  if (!bytes || room.text.size() - *bytes > sizes_.most_open) return false;
  join_unknown(before, room, ids);
  room.text.erase(0, *bytes);
  room.long_unit = *bytes > 0 ? least_long_unit() : 2 * room.text.size();
  return true;
}

// Nothing, if it goes on.
void PieceEncoder::encode_end_of_open_unit(EncoderRoom& room, std::vector<std::int32_t>& ids) const {
  const std::size_t bytes = splitter_->first_unit(room.text, room.cursor.ended);
  if (bytes == 0) return;
  const std::size_t before = ids.size();
  lattice_->encode_end(std::string_view(room.text).substr(0, bytes), room.score, room.paths, ids);
  join_unknown(before, room, ids);
  room.text.erase(0, bytes);
}

// As much of `text` as is certain. Moves room.cursor.
bool PieceEncoder::encode_window(std::string_view text, bool goes_on, EncoderRoom& room, std::vector<std::int32_t>& ids) const {
  room.cursor.text = text;
  room.cursor.at = 0;
  room.cursor.goes_on = goes_on;
  const std::size_t first = ids.size();
  for (bool has_more = true; has_more;) {
    has_more = normalizer_->normalize(room.cursor, room.enough - room.text.size(), room.text);
    if (room.text.size() < room.enough && !room.cursor.ended) continue;
    if (room.paths.is_open()) encode_end_of_open_unit(room, ids);
    const Part part = room.paths.is_open() ? Part() : encode_part(room.cursor.ended, room);
    const std::size_t before = ids.size();
    ids.insert(ids.end(), room.ids.data(), room.ids.data() + part.ids);
    join_unknown(before, room, ids);
    room.text.erase(0, part.bytes);
    const bool goes_on_long = !room.cursor.ended && room.text.size() >= room.long_unit;
    if (!part.is_exact || (goes_on_long && !encode_beginning_of_unit(room, ids))) {
      ids.resize(first);
      return false;
    }
    // A unit that goes on is looked at again from its beginning, so there must be much more of it.
    room.enough = room.text.size() + std::max(sizes_.part, room.text.size());
  }
  return true;
}

bool PieceEncoder::encode(std::string_view text, EncoderRoom& room, std::vector<std::int32_t>& ids) const {
  begin(room);
  const bool is_exact = encode_window(text, false, room, ids);
  free_much(room);
  return is_exact;
}

bool PieceEncoder::add(std::string_view part, EncoderRoom& room, std::vector<std::int32_t>& ids) const {
  if (!room.raw.empty()) {
    // Followed by so many bytes, nothing that was kept back stays.
    const std::size_t before = room.raw.size(), joined = std::min(part.size(), normalizer_->most_kept_back());
    room.raw.append(part.substr(0, joined));
    if (!encode_window(room.raw, true, room, ids)) return false;
    if (joined == part.size()) {
      room.raw.erase(0, room.cursor.at);
      return true;
    }
    part.remove_prefix(room.cursor.at - before);
  }
  const bool is_exact = encode_window(part, true, room, ids);
  room.raw.assign(part.substr(room.cursor.at));
  return is_exact;
}

bool PieceEncoder::finish(EncoderRoom& room, std::vector<std::int32_t>& ids) const {
  const bool is_exact = encode_window(room.raw, false, room, ids);
  free_much(room);
  return is_exact;
}

}  // namespace convoy::data

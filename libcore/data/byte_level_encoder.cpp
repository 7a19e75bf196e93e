// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/byte_level_encoder.h"

#include <algorithm>
#include <cfloat>
#include <unordered_set>

#include "libcore/base/checksum.h"
#include "libcore/base/utf8.h"

namespace convoy::data {
namespace {

constexpr std::size_t kPadding = PreTokenizer::kPadding;   // a unit's key is read at once
constexpr std::size_t kAtOnce = 32;                        // units whose places are fetched before the first is looked up

// Bytes that are no UTF-8 become U+FFFD only after the text is cut.
bool holds_replacement(const AddedToken& token) { return token.content.find("\xef\xbf\xbd") != std::string::npos; }

}  // namespace

struct ByteLevelEncoder::Unit {
  const char* begin = nullptr;
  std::size_t bytes = 0;
  UnitKey key;  // of two bytes to UnitKey::kMostBytes

  std::string_view text() const { return {begin, bytes}; }
};

std::vector<AddedToken> added_tokens(const ByteLevelBpe& bpe, bool normalized, const NfcNormalizer* nfc) {
  std::vector<AddedToken> tokens;
  std::unordered_set<std::string> seen;
  for (AddedToken token : bpe.added) {
    if (token.normalized != normalized) continue;
    token.is_text = bpe.special_tokens_are_text && token.special;
    std::string room;
    if (normalized && nfc) token.content = std::string(nfc->normalize(token.content, room));
    if (seen.insert(token.content).second) tokens.push_back(std::move(token));
  }
  return tokens;
}

std::string_view repaired_text(std::string_view text, std::string& room) {
  std::size_t bad = find_invalid_utf8(text);
  if (bad == std::string_view::npos) return text;
  room.clear();
  while (bad != std::string_view::npos) {
    room += text.substr(0, bad);
    append_character(0xfffd, room);
    text.remove_prefix(bad + 1);
    bad = find_invalid_utf8(text);
  }
  return room += text;
}

ByteLevelEncoder::ByteLevelEncoder(const ByteLevelBpe& bpe, const ByteLevelSizes& sizes)
    : bpe_(bpe),
      sizes_(sizes),
      nfc_(bpe.nfc ? std::make_unique<const NfcNormalizer>() : nullptr),
      raw_tokens_(added_tokens(bpe, false, nullptr), classes_),
      normalized_tokens_(added_tokens(bpe, true, nfc_.get()), classes_),
      pre_tokenizer_(bpe.steps, bpe.byte_level, classes_, false),
      comes_apart_(pre_tokenizer_.scanner() != nullptr && std::none_of(bpe.added.begin(), bpe.added.end(), holds_replacement)),
      table_(bpe.merges) {
  byte_ids_.fill(-1);
  for (const auto& [piece, id] : bpe.pieces) {
    std::optional<std::string> bytes = bytes_of_piece(piece);
    if (!bytes) continue;
    longest_piece_ = std::max(longest_piece_, bytes->size());
    if (bytes->size() == 1) byte_ids_[static_cast<unsigned char>((*bytes)[0])] = id;
    if (bpe.ignores_merges) pieces_.emplace(std::move(*bytes), id);
  }
}

void ByteLevelEncoder::encode_part(std::string_view part, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  encode_valid(repaired_text(part, room.repaired), room, ids);
  room.open = OpenMatch::kNone;
  room.give_back();
}

void ByteLevelEncoder::encode_valid(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  const auto on_token = [&](const AddedToken& token) {
    room.open = OpenMatch::kNone;
    ids.push_back(token.id);
    room.control_tokens += token.special;
  };
  raw_tokens_.split(
      text, [&](std::string_view part) { encode_normalized(nfc_ ? nfc_->normalize(part, room.normalized) : part, room, ids); }, on_token);
}

void ByteLevelEncoder::encode_normalized(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  const auto on_token = [&](const AddedToken& token) {
    room.open = OpenMatch::kNone;
    ids.push_back(token.id);
    room.control_tokens += token.special;
  };
  normalized_tokens_.split(text, [&](std::string_view part) { encode_text(part, room, ids); }, on_token);
}

void ByteLevelEncoder::merge(std::string_view unit, ByteLevelRoom& room) const {
  room.unit.clear();
  if (!pieces_.empty()) {
    if (const auto found = pieces_.find(unit); found != pieces_.end()) {
      room.unit.push_back(found->second);
      return;
    }
  }
  merge_bytes(unit, room, room.unit);
}

void ByteLevelEncoder::load(std::string_view unit, MergeRoom& room) const {
  MergeTable::clear(room);
  for (std::size_t at = 0; at < unit.size(); ++at) {
    MergeTable::append(static_cast<std::uint32_t>(byte_ids_[static_cast<unsigned char>(unit[at])]), static_cast<std::uint32_t>(at), room);
  }
}

void ByteLevelEncoder::merge_bytes(std::string_view unit, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  load(unit, room.merges);
  table_.merge(room.merges);
  for (const MergeRoom::Symbol& symbol : room.merges.symbols) ids.push_back(static_cast<std::int32_t>(symbol.number));
}

// One of many bytes, or of many ids, or a new one.
std::int32_t* ByteLevelEncoder::encode_long_unit(Unit unit, ByteLevelRoom& room, std::int32_t* out) const {
  const std::string_view text = unit.text();
  if (text.size() <= KnownLongUnit::kMostBytes) {
    if (text.size() > UnitKey::kMostBytes) unit.key.hash = xxh3_64(text);
    if (const KnownLongUnit* const known = room.cache.find_long(text, unit.key.hash)) return std::copy_n(known->ids.begin(), known->count, out);
  }
  merge(text, room);
  room.cache.keep(text, unit.key, room.unit, FLT_MAX);
  return std::copy(room.unit.begin(), room.unit.end(), out);
}

inline ByteLevelEncoder::Unit ByteLevelEncoder::unit_of(const char* begin, const char* end, const ByteLevelRoom& room) const {
  Unit unit{.begin = begin, .bytes = static_cast<std::size_t>(end - begin), .key = {}};
  if (unit.bytes == 1 || unit.bytes > UnitKey::kMostBytes) return unit;
  unit.key = UnitKey::of(begin, unit.bytes);
  room.cache.prefetch(unit.key);
  return unit;
}

inline std::int32_t* ByteLevelEncoder::encode_unit(const Unit& unit, ByteLevelRoom& room, std::int32_t* out) const {
  if (unit.bytes == 1) {
    *out = byte_ids_[static_cast<unsigned char>(*unit.begin)];
    return out + 1;
  }
  if (unit.bytes > UnitKey::kMostBytes) return encode_long_unit(unit, room, out);
  const KnownUnit* const known = room.cache.find(unit.key);
  if (known == nullptr) [[unlikely]] return encode_long_unit(unit, room, out);
  for (std::size_t i = 0; i < KnownUnit::kMostIds; ++i) out[i] = known->id(i);
  return out + known->count();
}

void ByteLevelEncoder::encode_text(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  const WordScanner* const scanner = pre_tokenizer_.scanner();
  if (room.open != OpenMatch::kNone) {
    const auto rest = static_cast<std::size_t>(scanner->end_of_open(room.open, text.data(), text.data() + text.size()) - text.data());
    merge_bytes(text.substr(0, rest), room, ids);
    text.remove_prefix(rest);
    room.open = OpenMatch::kNone;
  }
  room.text.assign(text);
  room.text.append(kPadding, '\0');
  const std::string_view padded(room.text.data(), text.size());
  std::size_t bytes = text.size();
  if (scanner == nullptr) {
    room.units.clear();
    pre_tokenizer_.split(padded, room.blanks, room.units);
    bytes += room.units.size();
  }
  if (const std::size_t most = bytes + kPadding; room.ids.size() < most) room.ids.resize(most);
  std::int32_t* out = room.ids.data();
  std::array<Unit, kAtOnce> units;
  std::size_t waiting = 0;
  const auto encode_waiting = [&] {
    for (std::size_t i = 0; i < waiting; ++i) out = encode_unit(units[i], room, out);
    waiting = 0;
  };
  const auto on_unit = [&](const char* begin, const char* end) {
    units[waiting++] = unit_of(begin, end, room);
    if (waiting == kAtOnce) encode_waiting();
  };
  if (scanner != nullptr) {
    scanner->split(padded, on_unit);
  } else {
    for (const std::string_view unit : room.units) on_unit(unit.data(), unit.data() + unit.size());
  }
  encode_waiting();
  ids.insert(ids.end(), room.ids.data(), out);
}

}  // namespace convoy::data

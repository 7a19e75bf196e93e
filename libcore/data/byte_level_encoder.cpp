// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/byte_level_encoder.h"

#include <algorithm>
#include <cfloat>
#include <unordered_set>

#include "libcore/base/checksum.h"
#include "libcore/base/utf8.h"

namespace convoy::data {
namespace {

constexpr std::size_t kPartBytes = std::size_t{16} << 10;  // of text that is encoded at a time: stays in the cache
constexpr std::size_t kPadding = PreTokenizer::kPadding;   // a unit's key is read at once
constexpr std::size_t kAtOnce = 32;                        // units whose places are fetched before the first is looked up
constexpr std::size_t kMostIdsOfAUnit = KnownUnit::kMostIds;
constexpr std::size_t kRoomToKeep = std::size_t{4} << 20;

// Bytes that are no UTF-8 become U+FFFD only after the text is cut.
bool holds_replacement(const AddedToken& token) { return token.content.find("\xef\xbf\xbd") != std::string::npos; }

template <class Container>
void give_back(Container& container) {
  if (container.capacity() > kRoomToKeep) Container().swap(container);
}

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
    : sizes_(sizes),
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
    if (bytes->size() == 1) byte_ids_[static_cast<unsigned char>((*bytes)[0])] = id;
    if (bpe.ignores_merges) pieces_.emplace(std::move(*bytes), id);
  }
}

// Normalised, some letters end in a mark, which goes with what follows: U+095C. Those that compose with what stands before them are letters still.
bool ByteLevelEncoder::stays_letter(std::string_view letter) const {
  std::string room;
  return (classes_.of(decode_last_character(nfc_->normalize(letter, room)).code) & kLetter) != 0;
}

bool ByteLevelEncoder::may_cut(std::string_view text, std::size_t at, bool is_last) const {
  const DecodedCharacter left = decode_last_character(text.substr(0, at));
  if (left.bytes == 0 || (classes_.of(left.code) & kLetter) == 0) return false;
  const DecodedCharacter right = decode_character(text.substr(at));
  if (right.bytes == 0 || (classes_.of(right.code) & kLetter) != 0) return false;
  if (nfc_ && !(nfc_->begins_alone(right.code) && stays_letter(text.substr(at - left.bytes, left.bytes)))) return false;
  if (raw_tokens_.empty() && normalized_tokens_.empty()) return true;
  const std::size_t margin = std::max(raw_tokens_.margin(), normalized_tokens_.margin());
  if (!is_last && text.size() - at < margin) return false;
  const std::size_t begin = at > margin ? at - margin : 0;
  const std::string_view around = text.substr(begin, std::min(text.size(), at + margin) - begin);
  if (!raw_tokens_.may_cut(around, at - begin) || !normalized_tokens_.may_cut(around, at - begin)) return false;
  // Normalisation may make a token of what is none here.
  const bool changes = nfc_ && !normalized_tokens_.empty();
  return !changes || std::all_of(around.begin(), around.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// The first place from `from` on where the text may be cut.
std::size_t ByteLevelEncoder::first_cut(std::string_view text, std::size_t from, bool is_last) const {
  for (std::size_t at = std::max<std::size_t>(from, 1); at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool is_ascii_letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
    const bool within_character = (byte & 0xc0) == 0x80;
    if (is_ascii_letter || within_character) continue;
    if (may_cut(text, at, is_last)) return at;
  }
  return kNowhere;
}

void ByteLevelEncoder::encode(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  while (streams() && text.size() > kPartBytes) {
    const std::size_t cut = first_cut(text, kPartBytes, true);
    if (cut == kNowhere) break;
    encode_part(text.substr(0, cut), room, ids);
    text.remove_prefix(cut);
  }
  encode_part(text, room, ids);
}

bool ByteLevelEncoder::add(std::string_view part, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  // What is held has no cut but perhaps at its end.
  const std::size_t margin = std::max(raw_tokens_.margin(), normalized_tokens_.margin()) + 4;
  std::size_t from = room.held.size() > margin ? room.held.size() - margin : 0;
  room.held += part;
  std::size_t done = 0;
  const std::string_view held = room.held;
  for (;;) {
    const std::size_t cut = first_cut(held.substr(done), from, false);
    if (cut == kNowhere) break;
    encode_part(held.substr(done, cut), room, ids);
    done += cut;
    from = kPartBytes;
  }
  // The last parts that are shorter: only behind another one, else all places have been looked at.
  std::size_t last = kNowhere;
  for (std::size_t cut = done > 0 ? first_cut(held.substr(done), 0, false) : kNowhere; cut != kNowhere; cut = first_cut(held.substr(done), cut + 1, false)) last = cut;
  if (last != kNowhere) {
    encode_part(held.substr(done, last), room, ids);
    done += last;
  }
  room.held.erase(0, done);
  if (room.held.size() <= sizes_.most_held) return true;
  room.held.clear();
  give_back(room.held);
  return false;
}

void ByteLevelEncoder::finish(ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  encode(room.held, room, ids);
  room.held.clear();
  give_back(room.held);
}

void ByteLevelEncoder::encode_part(std::string_view part, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  encode_valid(repaired_text(part, room.repaired), room, ids);
  give_back(room.repaired);
  give_back(room.normalized);
  give_back(room.text);
  give_back(room.blanks);
  give_back(room.units);
  give_back(room.unit);
  give_back(room.ids);
}

void ByteLevelEncoder::encode_valid(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  const auto on_token = [&](const AddedToken& token) {
    ids.push_back(token.id);
    room.control_tokens += token.special;
  };
  raw_tokens_.split(
      text, [&](std::string_view part) { encode_normalized(nfc_ ? nfc_->normalize(part, room.normalized) : part, room, ids); }, on_token);
}

void ByteLevelEncoder::encode_normalized(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  const auto on_token = [&](const AddedToken& token) {
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
  MergeTable::clear(room.merges);
  for (const char byte : unit) MergeTable::append(static_cast<std::uint32_t>(byte_ids_[static_cast<unsigned char>(byte)]), 0, room.merges);
  table_.merge(room.merges);
  for (const MergeRoom::Symbol& symbol : room.merges.symbols) room.unit.push_back(static_cast<std::int32_t>(symbol.number));
}

// One of many bytes, or of many ids, or a new one.
std::int32_t* ByteLevelEncoder::encode_long_unit(Unit unit, ByteLevelRoom& room, std::int32_t* out) const {
  const std::string_view text = unit.text();
  const bool may_be_known = text.size() <= KnownLongUnit::kMostBytes;
  if (may_be_known) {
    if (text.size() > UnitKey::kMostBytes) unit.key.hash = xxh3_64(text);
    if (const KnownLongUnit* const known = room.cache.find_long(text, unit.key.hash)) return std::copy_n(known->ids.begin(), known->count, out);
  }
  merge(text, room);
  if (text.size() <= UnitKey::kMostBytes && room.unit.size() <= kMostIdsOfAUnit) {
    room.cache.add(unit.key, room.unit, FLT_MAX);
  } else if (may_be_known) {
    room.cache.add_long(text, unit.key.hash, room.unit, FLT_MAX);
  }
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
  room.text.assign(text);
  room.text.append(kPadding, '\0');
  const std::string_view padded(room.text.data(), text.size());
  std::size_t bytes = text.size();
  const WordScanner* const scanner = pre_tokenizer_.scanner();
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

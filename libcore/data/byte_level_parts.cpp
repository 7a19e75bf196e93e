// SPDX-License-Identifier: Apache-2.0
// Of ByteLevelEncoder: texts in parts.
#include <algorithm>

#include "libcore/base/utf8.h"
#include "libcore/data/byte_level_encoder.h"

namespace convoy::data {
namespace {

constexpr std::size_t kRoomToKeep = std::size_t{4} << 20;

template <class Container>
void give_back_much(Container& container) {
  if (container.capacity() > kRoomToKeep) Container().swap(container);
}

bool is_within_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

void ByteLevelRoom::give_back() {
  give_back_much(repaired);
  give_back_much(normalized);
  give_back_much(text);
  give_back_much(blanks);
  give_back_much(units);
  give_back_much(unit);
  give_back_much(ids);
}

// Normalised, some letters end in a mark, which goes with what follows: U+095C. Those that compose with what stands before them are
// letters still.
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
    if (is_ascii_letter || is_within_character(text[at])) continue;
    if (may_cut(text, at, is_last)) return at;
  }
  return kNowhere;
}

// The first bytes of `text`, whole characters, whose ids the rest may still change but only by what their matches are: they and what
// is left of `text`, kLookAhead bytes and the longest piece at least, are valid, normalised whatever follows, and hold no added token.
std::size_t ByteLevelEncoder::plain_bytes(std::string_view& text, ByteLevelRoom& room) const {
  text = text.substr(0, find_invalid_utf8(text));
  for (bool is_whole = nfc_ == nullptr; !is_whole;) {
    const DecodedCharacter last = decode_last_character(text);
    if (last.bytes == 0) return 0;
    text.remove_suffix(last.bytes);
    is_whole = nfc_->begins_alone(last.code);
  }
  if (nfc_ && nfc_->normalize(text, room.normalized).data() != text.data()) return 0;
  const std::size_t behind = std::max({raw_tokens_.margin(), normalized_tokens_.margin(), longest_piece_}) + WordScanner::kLookAhead;
  std::size_t known = text.size() - std::min(text.size(), behind);
  const std::size_t token = std::min(raw_tokens_.first_beginning(text), normalized_tokens_.first_beginning(text));
  if (token < text.size()) known = std::min(known, token - std::min(token, WordScanner::kLookAhead));
  while (known > 0 && is_within_character(text[known])) --known;
  if (!raw_tokens_.take_blanks_before() && !normalized_tokens_.take_blanks_before()) return known;
  for (DecodedCharacter last; known > 0; known -= last.bytes) {
    last = decode_last_character(text.substr(0, known));
    if ((classes_.of(last.code) & kSpace) == 0) break;
  }
  return known;
}

const ByteTrie& ByteLevelEncoder::symbols() const {
  std::call_once(symbols_made_, [this] {
    std::vector<std::pair<std::string, std::int32_t>> keys;
    for (const auto& [piece, id] : bpe_.pieces) {
      if (std::optional<std::string> bytes = bytes_of_piece(piece)) keys.emplace_back(std::move(*bytes), id);
    }
    symbols_ = std::make_unique<const ByteTrie>(std::move(keys));
  });
  return *symbols_;
}

// Of one unit, of which `known` bytes of `text` are for certain: appends the ids that are certain, and returns their bytes.
std::size_t ByteLevelEncoder::encode_beginning_of_unit(std::string_view text, std::size_t known, ByteLevelRoom& room,
                                                       std::vector<std::int32_t>& ids) const {
  load(text.substr(0, known), room.merges);
  std::size_t certain = table_.merge_beginning(text, known, symbols(), room.merges);
  auto& merged = room.merges.symbols;
  // What is left must be text again. It may begin between any two symbols: no merge joined them.
  for (; !merged.empty() && is_within_character(text[certain]); merged.pop_back()) certain = merged.back().begin;
  if (merged.empty()) return 0;
  for (const MergeRoom::Symbol& symbol : merged) ids.push_back(static_cast<std::int32_t>(symbol.number));
  return certain;
}

// The same of a text that has no place to cut, and goes on.
std::size_t ByteLevelEncoder::encode_certain(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  const std::size_t known = plain_bytes(text, room);
  const WordScanner::Certain certain = pre_tokenizer_.scanner()->certain(text, known, room.open);
  if (certain.open_ended) room.open = OpenMatch::kNone;
  if (certain.matched > 0) {
    encode_part(text.substr(0, certain.matched), room, ids);
    return certain.matched;
  }
  const bool may_be_a_piece = room.open == OpenMatch::kNone && certain.open_bytes <= longest_piece_;
  if (certain.open_bytes == 0 || may_be_a_piece) return 0;
  const std::size_t bytes = encode_beginning_of_unit(text, certain.open_bytes, room, ids);
  if (bytes > 0) room.open = WordScanner::open_behind(certain.open, text[bytes - 1]);
  room.give_back();
  return bytes;
}

// The last part of a text, or all of it.
void ByteLevelEncoder::encode_rest(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  std::size_t window = sizes_.window;
  while (streams() && text.size() > sizes_.part) {
    const std::string_view seen = text.substr(0, window);
    const bool is_last = seen.size() == text.size();
    std::size_t done = first_cut(seen, sizes_.part, is_last);
    if (done != kNowhere) {
      encode_part(text.substr(0, done), room, ids);
    } else if (is_last) {
      break;
    } else {
      done = encode_certain(seen, room, ids);
    }
    window = done > 0 ? sizes_.window : 2 * window;
    text.remove_prefix(done);
  }
  encode_part(text, room, ids);
}

void ByteLevelEncoder::encode(std::string_view text, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  room.open = OpenMatch::kNone;
  encode_rest(text, room, ids);
}

void ByteLevelEncoder::begin(ByteLevelRoom& room) const {
  room.held.clear();
  room.open = OpenMatch::kNone;
  room.enough = sizes_.window;
}

bool ByteLevelEncoder::add(std::string_view part, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  const std::size_t at_once = 4 * sizes_.window;  // the last places to cut of each are looked for twice
  while (!part.empty()) {
    add_some(part.substr(0, at_once), room, ids);
    part.remove_prefix(std::min(part.size(), at_once));
    if (room.held.size() <= sizes_.most_held) continue;
    std::string().swap(room.held);
    return false;
  }
  return true;
}

void ByteLevelEncoder::add_some(std::string_view part, ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
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
    from = sizes_.part;
  }
  // The last parts that are shorter: only behind another one, else all places have been looked at.
  std::size_t last = kNowhere;
  for (std::size_t cut = done > 0 ? 0 : kNowhere; cut != kNowhere;) {
    cut = first_cut(held.substr(done), cut + 1, false);
    if (cut != kNowhere) last = cut;
  }
  if (last != kNowhere) {
    encode_part(held.substr(done, last), room, ids);
    done += last;
  }
  if (done > 0) room.enough = sizes_.window;
  if (held.size() - done >= room.enough) {
    const std::size_t certain = encode_certain(held.substr(done), room, ids);
    done += certain;
    // What is not certain is looked at again from its beginning, so there must be much more of it.
    room.enough = certain > 0 ? sizes_.window : 2 * (held.size() - done);
  }
  room.held.erase(0, done);
}

void ByteLevelEncoder::finish(ByteLevelRoom& room, std::vector<std::int32_t>& ids) const {
  encode_rest(room.held, room, ids);
  room.held.clear();
  give_back_much(room.held);
}

}  // namespace convoy::data

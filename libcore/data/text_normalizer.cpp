// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/text_normalizer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "libcore/base/utf8.h"

namespace convoy::data {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
constexpr std::uint64_t kHighBits = 0x8080808080808080U;

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

}  // namespace

TextNormalizer::TextNormalizer(const ModelProto& model, const Vocabulary& vocabulary)
    : marks_blanks_(model.escape_spaces),
      dummy_blank_first_(model.add_dummy_prefix && !model.space_is_suffix),
      dummy_blank_last_(model.add_dummy_prefix && model.space_is_suffix),
      removes_blanks_(model.remove_extra_spaces),
      symbols_(vocabulary.raw_symbols),
      rules_(vocabulary.rules) {
  lookahead_ = std::max(lookahead_, rules_.longest_rule());
  for (const auto& [text, id] : vocabulary.raw_symbols) {
    begins_symbol_[static_cast<unsigned char>(text[0])] = true;
    lookahead_ = std::max(lookahead_, text.size());
  }
  for (unsigned int byte = 0; byte < 0x80; ++byte) {
    const auto c = static_cast<unsigned char>(byte);
    plain_[c] = !begins_symbol_[c] && !rules_.rewrites_within_ascii(c) && !(c == ' ' && removes_blanks_);
    ascii_is_plain_ = ascii_is_plain_ && plain_[c];
  }
}

// Symbols come before rules, and both before the characters themselves.
TextNormalizer::Prefix TextNormalizer::prefix(std::string_view text) const {
  if (begins_symbol_[static_cast<unsigned char>(text[0])]) {
    const std::size_t bytes = symbols_.longest_prefix(text).bytes;
    if (bytes > 0) return {text.substr(0, bytes), bytes};
  }
  if (const CharacterRules::Match match = rules_.longest(text); match.bytes > 0) return {match.replacement, match.bytes};
  const std::size_t bytes = decode_character(text).bytes;
  return bytes == 0 ? Prefix{kReplacement, 1} : Prefix{text.substr(0, bytes), bytes};
}

// Bytes from the beginning on that are ASCII and stay. Before a byte beyond ASCII, which may combine with the one before it, the
// run ends one earlier if there are rules.
std::size_t TextNormalizer::plain_run(std::string_view text) const {
  std::size_t at = 0;
  if (ascii_is_plain_) {
    for (std::uint64_t word; at + sizeof word <= text.size(); at += sizeof word) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & kHighBits) != 0) break;
    }
  }
  while (at < text.size() && plain_[static_cast<unsigned char>(text[at])]) ++at;
  const bool may_combine = at > 0 && at < text.size() && !is_ascii(text[at]) && !rules_.empty();
  return may_combine ? at - 1 : at;
}

void TextNormalizer::append_compact(std::string_view text, std::string& out) const {
  if (marks_blanks_ && text == kBlankMark) {
    out += ' ';
    return;
  }
  if (!marks_blanks_ || text.find(kBlankMark) == std::string_view::npos) {
    out += text;
    return;
  }
  for (std::size_t at = 0; at < text.size();) {
    const bool marked = text.substr(at).starts_with(kBlankMark);
    out += marked ? ' ' : text[at];
    at += marked ? kBlankMark.size() : 1;
  }
}

// False, and nothing taken, if blanks are due first.
bool TextNormalizer::append(std::string_view replacement, NormalizerCursor& cursor, std::size_t most_blanks, std::string& out) const {
  const std::size_t before = out.size();
  if (!removes_blanks_) {
    append_compact(replacement, out);
    return true;
  }
  while (cursor.after_blank && replacement.starts_with(' ')) replacement.remove_prefix(1);
  if (replacement.empty()) return true;
  append_compact(replacement, out);
  // Blanks at the end are held back, those that were held before among them if there is nothing else.
  std::size_t end = out.size();
  while (end > before && out[end - 1] == ' ') --end;
  const std::size_t blanks = out.size() - end;
  out.resize(end);
  if (end > before && cursor.held_blanks > most_blanks) {
    out.resize(before);
    cursor.due_blanks = std::exchange(cursor.held_blanks, 0);
    return false;
  }
  if (end > before) out.insert(before, std::exchange(cursor.held_blanks, 0), ' ');
  cursor.held_blanks += blanks;
  cursor.after_blank = replacement.ends_with(' ');
  return true;
}

// What begins before it is a whole character, symbol or rule, whatever follows the text.
std::size_t TextNormalizer::certain_end(const NormalizerCursor& cursor) const {
  const std::size_t size = cursor.text.size();
  if (!cursor.goes_on) return size;
  return size < lookahead_ ? 0 : size - lookahead_ + 1;
}

void TextNormalizer::begin(NormalizerCursor& cursor, std::string& out) const {
  const std::size_t stop = certain_end(cursor);
  bool is_text = !removes_blanks_ && !cursor.text.empty();
  while (removes_blanks_ && cursor.at < stop) {
    const Prefix blank = prefix(cursor.text.substr(cursor.at));
    is_text = blank.replacement != " ";
    if (is_text) break;
    cursor.at += blank.bytes;
  }
  cursor.begun = is_text;
  cursor.ended = !is_text && !cursor.goes_on;
  cursor.after_blank = removes_blanks_;
  if (!is_text || !dummy_blank_first_) return;
  if (removes_blanks_) {
    cursor.held_blanks = 1;
  } else {
    out += ' ';
  }
}

void TextNormalizer::end(NormalizerCursor& cursor, std::string& out) const {
  cursor.ended = true;
  if (dummy_blank_last_) out += ' ';
}

bool TextNormalizer::normalize(NormalizerCursor& cursor, std::size_t bytes, std::string& out) const {
  if (!cursor.begun) begin(cursor, out);
  if (cursor.ended || !cursor.begun) return false;
  const std::string_view text = cursor.text;
  const std::size_t certain = certain_end(cursor);
  const std::size_t stop = certain > cursor.at && certain - cursor.at > bytes ? cursor.at + bytes : certain;
  const auto write_due = [&] {
    const std::size_t blanks = std::min(cursor.due_blanks, bytes);
    out.append(blanks, ' ');
    cursor.due_blanks -= blanks;
    return cursor.due_blanks == 0;
  };
  while (cursor.at < stop) {
    if (cursor.due_blanks > 0 && !write_due()) return true;
    // What may combine with bytes behind `stop` is left to prefix(), which sees all of the text.
    const std::size_t run = plain_run(text.substr(cursor.at, stop == text.size() ? stop - cursor.at : stop - cursor.at + 1));
    if (const std::size_t taken = std::min(run, stop - cursor.at); taken > 0) {
      if (cursor.held_blanks > bytes) {
        cursor.due_blanks = std::exchange(cursor.held_blanks, 0);
        continue;
      }
      out.append(std::exchange(cursor.held_blanks, 0), ' ');
      cursor.after_blank = false;
      out.append(text.data() + cursor.at, taken);
      cursor.at += taken;
      continue;
    }
    const Prefix next = prefix(text.substr(cursor.at));
    if (append(next.replacement, cursor, bytes, out)) cursor.at += next.bytes;
  }
  if (!cursor.goes_on && cursor.at == text.size()) end(cursor, out);
  return !cursor.ended && cursor.at < certain;
}

}  // namespace convoy::data

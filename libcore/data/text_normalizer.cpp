// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/text_normalizer.h"

#include <cstdint>
#include <cstring>

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
  for (const auto& [text, id] : vocabulary.raw_symbols) begins_symbol_[static_cast<unsigned char>(text[0])] = true;
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

void TextNormalizer::append(std::string_view replacement, NormalizerCursor& cursor, std::string& out) const {
  if (!removes_blanks_) return append_compact(replacement, out);
  while (cursor.after_blank && replacement.starts_with(' ')) replacement.remove_prefix(1);
  if (replacement.empty()) return;
  cursor.after_blank = replacement.ends_with(' ');
  const std::size_t before = out.size();
  out.append(cursor.held_blanks, ' ');
  append_compact(replacement, out);
  // Blanks at the end are held back again, those that were held before among them if nothing else was written.
  cursor.held_blanks = 0;
  while (out.size() > before && out.back() == ' ') {
    out.pop_back();
    ++cursor.held_blanks;
  }
}

void TextNormalizer::begin(NormalizerCursor& cursor, std::string& out) const {
  cursor.begun = true;
  while (removes_blanks_ && cursor.at < cursor.text.size()) {
    const Prefix blank = prefix(cursor.text.substr(cursor.at));
    if (blank.replacement != " ") break;
    cursor.at += blank.bytes;
  }
  cursor.ended = cursor.at == cursor.text.size();
  cursor.after_blank = removes_blanks_;
  if (cursor.ended || !dummy_blank_first_) return;
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

void TextNormalizer::normalize(NormalizerCursor& cursor, std::size_t bytes, std::string& out) const {
  if (!cursor.begun) begin(cursor, out);
  if (cursor.ended) return;
  const std::string_view text = cursor.text;
  const std::size_t stop = text.size() - cursor.at > bytes ? cursor.at + bytes : text.size();
  while (cursor.at < stop) {
    // What may combine with bytes behind `stop` is left to prefix(), which sees all of the text.
    const std::size_t run = plain_run(text.substr(cursor.at, stop == text.size() ? stop - cursor.at : stop - cursor.at + 1));
    if (const std::size_t taken = run < stop - cursor.at ? run : stop - cursor.at; taken > 0) {
      out.append(cursor.held_blanks, ' ');
      cursor.held_blanks = 0;
      cursor.after_blank = false;
      out.append(text.data() + cursor.at, taken);
      cursor.at += taken;
      continue;
    }
    const Prefix next = prefix(text.substr(cursor.at));
    append(next.replacement, cursor, out);
    cursor.at += next.bytes;
  }
  if (cursor.at == text.size()) end(cursor, out);
}

}  // namespace convoy::data

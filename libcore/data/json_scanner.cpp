// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/json_scanner.h"

#include <fmt/format.h>

#include <array>

#include "libcore/base/utf8.h"
#include "libcore/data/json_record.h"

namespace convoy::data {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_high(std::uint32_t code) { return code >= 0xd800u && code <= 0xdbffu; }
bool is_low(std::uint32_t code) { return code >= 0xdc00u && code <= 0xdfffu; }

// What a string's characters end at: a quote, a backslash, or a control character, which must be escaped.
constexpr std::array<bool, 256> ends_characters() {
  std::array<bool, 256> ends{};
  for (std::size_t c = 0; c < 0x20; ++c) ends[c] = true;
  ends[static_cast<unsigned char>('"')] = ends[static_cast<unsigned char>('\\')] = true;
  return ends;
}
constexpr std::array<bool, 256> kEndsCharacters = ends_characters();

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char small = static_cast<char>(c | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

std::string shown(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte < 0x7f ? fmt::format("'{}'", c) : fmt::format("a byte {:#04x}", byte);
}

}  // namespace

void JsonScanner::fail(std::string_view expected, char found) {
  error_ = fmt::format("at byte {} of the line, expected {}, found {}", at_ + 1, expected, shown(found));
  state_ = State::kFailed;
}

void JsonScanner::fail_depth() {
  error_ = fmt::format("values are nested more than {} deep", kDeepestJson);
  state_ = State::kFailed;
}

void JsonScanner::add(std::string_view part) {
  for (std::size_t i = 0; i < part.size() && state_ != State::kFailed;) {
    if (state_ == State::kString) {
      const std::size_t taken = take_characters(part.substr(i));
      i += taken;
      at_ += taken;
    } else {
      take(part[i++]);
      ++at_;
    }
  }
}

void JsonScanner::finish() {
  if (state_ == State::kNumber) take_number(' ');
  if (state_ == State::kFailed || (state_ == State::kBehindValue && containers_.empty())) return;
  error_ = fmt::format("at byte {} of the line, it ends within a value", at_);
  state_ = State::kFailed;
}

void JsonScanner::take(char c) {
  if (state_ == State::kNumber && take_number(c)) return;  // else it ended, and `c` stands behind it
  switch (state_) {
    case State::kEscape:
      return take_escape(c);
    case State::kHex:
      return take_hex(c);
    case State::kLiteral:
      if (c != literal_.front()) return fail("a value", c);
      literal_.remove_prefix(1);
      if (literal_.empty()) state_ = State::kBehindValue;
      return;
    default:
      break;
  }
  if (is_json_space(c)) return;
  if ((state_ == State::kValueOrEnd && c == ']') || (state_ == State::kKeyOrEnd && c == '}')) return close(c);
  if (containers_.size() == kDeepestJson) return fail_depth();  // RecordParser's library allows empty ones there
  switch (state_) {
    case State::kValue:
    case State::kValueOrEnd:
      return begin_value(c);
    case State::kKey:
    case State::kKeyOrEnd:
      return c == '"' ? begin_string(true) : fail("a key", c);
    case State::kColon:
      if (c != ':') return fail("':'", c);
      state_ = State::kValue;
      return;
    case State::kBehindValue:
      return take_behind_value(c);
    default:
      return;
  }
}

void JsonScanner::begin_value(char c) {
  const std::size_t depth = containers_.size();
  if (c == '{' || c == '[') return open(c);
  if (c == '"') {
    events_.on_value(depth, JsonKind::kString);
    return begin_string(false);
  }
  if (c == '-' || is_digit(c)) {
    number_ = c == '-' ? Number::kMinus : c == '0' ? Number::kZero : Number::kWhole;
    state_ = State::kNumber;
  } else {
    literal_ = c == 't' ? "rue" : c == 'f' ? "alse" : c == 'n' ? "ull" : "";
    if (literal_.empty()) return fail("a value", c);
    state_ = State::kLiteral;
  }
  events_.on_value(depth, JsonKind::kOther);
}

void JsonScanner::open(char c) {
  const bool object = c == '{';
  events_.on_value(containers_.size(), object ? JsonKind::kObject : JsonKind::kArray);
  containers_.push_back(object);
  state_ = object ? State::kKeyOrEnd : State::kValueOrEnd;
}

void JsonScanner::close(char c) {
  if (containers_.empty() || in_object() != (c == '}')) return fail(containers_.empty() ? "its end" : in_object() ? "',' or '}'" : "',' or ']'", c);
  containers_.pop_back();
  state_ = State::kBehindValue;
}

void JsonScanner::take_behind_value(char c) {
  if (c == '}' || c == ']') return close(c);
  if (containers_.empty()) return fail("its end", c);
  if (c != ',') return fail(in_object() ? "',' or '}'" : "',' or ']'", c);
  state_ = in_object() ? State::kKey : State::kValue;
}

void JsonScanner::begin_string(bool is_key) {
  is_key_ = is_key;
  if (is_key) events_.on_key(containers_.size());
  state_ = State::kString;
}

std::size_t JsonScanner::take_characters(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && !kEndsCharacters[static_cast<unsigned char>(text[end])]) ++end;
  if (end > 0) {
    end_high_surrogate();
    events_.on_characters(text.substr(0, end));
    return end;
  }
  if (text[0] == '"') {
    end_string();
  } else if (text[0] == '\\') {
    state_ = State::kEscape;
  } else {
    fail("an escape", text[0]);
  }
  return 1;
}

void JsonScanner::end_string() {
  end_high_surrogate();
  state_ = is_key_ ? State::kColon : State::kBehindValue;
}

void JsonScanner::take_escape(char c) {
  if (c == 'u') {
    state_ = State::kHex;
    code_ = 0;
    hex_digits_ = 0;
    return;
  }
  constexpr std::string_view kNames = "\"\\/bfnrt", kCharacters = "\"\\/\b\f\n\r\t";
  const std::size_t which = kNames.find(c);
  if (which == std::string_view::npos) return fail("an escape of JSON", c);
  end_high_surrogate();
  events_.on_characters(kCharacters.substr(which, 1));
  state_ = State::kString;
}

void JsonScanner::take_hex(char c) {
  const int value = hex_value(c);
  if (value < 0) return fail("a hexadecimal digit", c);
  code_ = code_ * 16 + static_cast<std::uint32_t>(value);
  if (++hex_digits_ < 4) return;
  take_code();
  state_ = State::kString;
}

void JsonScanner::take_code() {
  if (high_ != 0 && is_low(code_)) {
    emit(0x10000u + ((high_ - 0xd800u) << 10) + (code_ - 0xdc00u));
    high_ = 0;
    return;
  }
  end_high_surrogate();
  if (is_high(code_)) {
    high_ = code_;
  } else if (is_low(code_)) {
    events_.on_lone_surrogate();
  } else {
    emit(code_);
  }
}

void JsonScanner::end_high_surrogate() {
  if (high_ != 0) events_.on_lone_surrogate();
  high_ = 0;
}

void JsonScanner::emit(std::uint32_t code) {
  std::string character;
  append_character(code, character);
  events_.on_characters(character);
}

// False if the number ended before `c`.
bool JsonScanner::take_number(char c) {
  using enum Number;
  const Number before = number_;
  if (is_digit(c)) {
    if (before == kMinus) {
      number_ = c == '0' ? kZero : kWhole;
    } else if (before == kPoint) {
      number_ = kFraction;
    } else if (before == kE || before == kSign) {
      number_ = kExponent;
    }
    if (before != kZero) return true;
  } else if (c == '.' && (before == kZero || before == kWhole)) {
    number_ = kPoint;
    return true;
  } else if ((c == 'e' || c == 'E') && (before == kZero || before == kWhole || before == kFraction)) {
    number_ = kE;
    return true;
  } else if ((c == '+' || c == '-') && before == kE) {
    number_ = kSign;
    return true;
  }
  const bool whole = before == kZero || before == kWhole || before == kFraction || before == kExponent;
  if (!whole) {
    fail("a digit", c);
    return true;
  }
  state_ = State::kBehindValue;
  return false;
}

}  // namespace convoy::data

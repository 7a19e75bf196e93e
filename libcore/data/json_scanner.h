// SPDX-License-Identifier: Apache-2.0
// A strict reader of one JSON value (RFC 8259) that comes in parts, cut anywhere: it holds nothing of the value but how deep it is
// nested. Strings are handed on in parts, escapes resolved, so that a value of any size can be read. Bytes of strings are not checked
// for UTF-8. JSON libraries hold whole values, or whole lines, or refuse lone surrogates and large numbers, which RecordParser takes
// where no text is wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::data {

inline bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

enum class JsonKind : std::uint8_t { kObject, kArray, kString, kOther };

// What a scanner meets, in the order of the bytes. `depth`: of the containers around, 0 for the value itself.
struct JsonEvents {
  std::function<void(std::size_t depth)> on_key;                  // a key begins
  std::function<void(std::size_t depth, JsonKind kind)> on_value; // a value begins; in an object it is that of the last key
  std::function<void(std::string_view)> on_characters;            // of the key or the string that began last
  std::function<void()> on_lone_surrogate;                        // in place of its characters
};

class JsonScanner {
 public:
  explicit JsonScanner(JsonEvents events) : events_(std::move(events)) {}

  void add(std::string_view part);
  void finish();  // behind the last part

  // Why it is no JSON, as a clause with the byte (from 1); empty if nothing speaks against it. After an error nothing is read.
  const std::string& error() const { return error_; }

 private:
  enum class State : std::uint8_t { kValue, kValueOrEnd, kKey, kKeyOrEnd, kColon, kBehindValue, kString, kEscape, kHex, kNumber, kLiteral, kFailed };
  // Of a number: what its last character was.
  enum class Number : std::uint8_t { kMinus, kZero, kWhole, kPoint, kFraction, kE, kSign, kExponent };

  void take(char c);
  void begin_value(char c);
  void open(char c);
  void close(char c);
  void begin_string(bool is_key);
  std::size_t take_characters(std::string_view text);  // of a string; returns how many
  void end_string();
  void take_escape(char c);
  void take_hex(char c);
  void take_code();
  void end_high_surrogate();
  bool take_number(char c);
  void take_behind_value(char c);
  void emit(std::uint32_t code);
  void fail(std::string_view expected, char found);
  void fail_depth();
  bool in_object() const { return !containers_.empty() && containers_.back(); }

  JsonEvents events_;
  State state_ = State::kValue;
  std::vector<bool> containers_;  // that are open: objects
  bool is_key_ = false;           // the string that is open
  Number number_ = Number::kMinus;
  std::string_view literal_;      // what is left of it
  std::uint32_t code_ = 0, high_ = 0;  // of an escape; the high surrogate before it, or 0
  int hex_digits_ = 0;
  std::size_t at_ = 0;            // bytes read
  std::string error_;
};

}  // namespace convoy::data

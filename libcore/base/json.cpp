// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>

#include "libcore/base/utf8.h"

namespace convoy {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

void append_ascii(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
  } else {
    out += c;
  }
}

template <class Real>
std::string shortest(Real value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 40> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end};
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = decode_character(text).bytes;
    if (length == 1) {
      append_ascii(out, text[0]);
    } else {
      out += length == 0 ? kReplacement : text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + '"';
}

std::string json_number(double value) { return shortest(value); }
std::string json_number(float value) { return shortest(value); }

std::string json_array(const std::vector<std::string>& values) { return fmt::format("[{}]", fmt::join(values, ",")); }

std::string json_strings(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(json_quoted(text));
  return json_array(quoted);
}

JsonObject& JsonObject::add_raw(std::string_view key, std::string_view json) {
  if (text_.size() > 1) text_ += ',';
  text_ += json_quoted(key);
  text_ += ':';
  text_ += json;
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, std::string_view text) { return add_raw(key, json_quoted(text)); }
JsonObject& JsonObject::add(std::string_view key, double value) { return add_raw(key, json_number(value)); }
JsonObject& JsonObject::add(std::string_view key, std::int64_t value) { return add_raw(key, fmt::format("{}", value)); }
JsonObject& JsonObject::add(std::string_view key, bool value) { return add_raw(key, value ? "true" : "false"); }

}  // namespace convoy

// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/json_rewrite.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace convoy::data {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kEndsAToken = "{}[],:\" \t\r\n";
constexpr std::size_t kEscapeBytes = 6;

bool skip_digits(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of(kDigits), text.size());
  text.remove_prefix(end);
  return end > 0;
}

bool skip_any_of(std::string_view& text, std::string_view characters) {
  if (text.empty() || characters.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// RFC 8259, section 6.
bool is_number(std::string_view token) {
  skip_any_of(token, "-");
  if (!skip_any_of(token, "0") && !skip_digits(token)) return false;
  if (skip_any_of(token, ".") && !skip_digits(token)) return false;
  if (skip_any_of(token, "eE")) {
    skip_any_of(token, "+-");
    if (!skip_digits(token)) return false;
  }
  return token.empty();
}

std::optional<std::uint32_t> escaped_code(std::string_view text) {
  if (text.size() < kEscapeBytes || !text.starts_with("\\u")) return std::nullopt;
  std::uint32_t code = 0;
  for (const char c : text.substr(2, 4)) {
    const std::size_t value = std::string_view("0123456789abcdef0123456789ABCDEF").find(c);
    if (value == std::string_view::npos) return std::nullopt;
    code = code * 16 + static_cast<std::uint32_t>(value % 16);
  }
  return code;
}

bool is_high(std::uint32_t code) { return code >= 0xd800u && code <= 0xdbffu; }
bool is_low(std::uint32_t code) { return code >= 0xdc00u && code <= 0xdfffu; }

// What stands at a backslash: its size, and whether it is a lone surrogate.
struct Escape {
  std::size_t size = 2;
  bool lone = false;
};

Escape escape_at(std::string_view text) {
  const auto code = escaped_code(text);
  if (!code) return {std::min<std::size_t>(2, text.size())};
  if (!is_high(*code)) return {kEscapeBytes, is_low(*code)};
  const auto second = escaped_code(text.substr(kEscapeBytes));
  if (second && is_low(*second)) return {2 * kEscapeBytes};
  return {kEscapeBytes, true};
}

// From behind the opening quote to behind the closing one; the size taken.
std::size_t rewrite_string(std::string_view text, std::string_view escape, std::string& out) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t next = std::min(text.find_first_of("\\\"", at), text.size());
    out.append(text, at, next - at);
    at = next;
    if (at == text.size()) break;
    if (text[at] == '"') {
      out.push_back('"');
      return at + 1;
    }
    const Escape found = escape_at(text.substr(at));
    out += found.lone ? escape : text.substr(at, found.size);
    at += found.size;
  }
  return at;
}

}  // namespace

std::string without_numbers_and_lone_surrogates(std::string_view line, std::string_view escape) {
  std::string out;
  out.reserve(line.size());
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(kEndsAToken, at), line.size());
    const std::string_view token = line.substr(at, end - at);
    if (is_number(token)) {
      out.push_back('0');
      out.append(token.size() - 1, ' ');
    } else {
      out += token;
    }
    if (end == line.size()) break;
    out.push_back(line[end]);
    at = end + 1;
    if (line[end] == '"') at += rewrite_string(line.substr(at), escape, out);
  }
  return out;
}

}  // namespace convoy::data

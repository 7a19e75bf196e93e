// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/json_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/data/utf8.h"

namespace convoy::data {
namespace {

using Path = std::vector<std::string>;
using KeyMask = std::uint32_t;  // bit k: the object at hand lies on the path of key k

constexpr int kDeepest = 1000;
constexpr std::size_t kMostKeys = 32;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// What was found under a wanted key, the last time that it occurred.
struct Finding {
  enum class State : std::uint8_t { kMissing, kWrongType, kText } state = State::kMissing;
  std::string_view raw;  // between the quotes, escapes and all
};

// The contents of a checked string, escapes resolved. False: a lone surrogate (which goes into `out` as three bytes).
bool unescape(std::string_view raw, std::string& out) {
  bool whole = true;
  const auto code_at = [&](std::size_t at) {
    std::uint32_t code = 0;
    for (std::size_t i = 0; i < 4; ++i) code = code * 16 + static_cast<std::uint32_t>(hex_value(raw[at + i]));
    return code;
  };
  for (std::size_t at = 0; at < raw.size();) {
    const std::size_t slash = std::min(raw.find('\\', at), raw.size());
    out.append(raw, at, slash - at);
    if (slash == raw.size()) break;
    const char kind = raw[slash + 1];
    at = slash + 2;
    if (kind != 'u') {
      constexpr std::string_view kNames = "bfnrt", kCodes = "\b\f\n\r\t";
      const std::size_t named = kNames.find(kind);
      out.push_back(named == std::string_view::npos ? kind : kCodes[named]);
      continue;
    }
    std::uint32_t code = code_at(at);
    at += 4;
    const bool high = code >= 0xd800u && code <= 0xdbffu;
    if (high && raw.size() >= at + 6 && raw[at] == '\\' && raw[at + 1] == 'u') {
      const std::uint32_t low = code_at(at + 2);
      if (low >= 0xdc00u && low <= 0xdfffu) {
        code = 0x10000u + ((code - 0xd800u) << 10) + (low - 0xdc00u);
        at += 6;
      }
    }
    whole = whole && !(code >= 0xd800u && code <= 0xdfffu);
    append_character(code, out);
  }
  return whole;
}

class Parser {
 public:
  Parser(std::string_view line, const std::vector<Path>& paths)
      : findings(paths.size()), begin_(line.data()), at_(line.data()), end_(line.data() + line.size()), paths_(paths) {}

  // The whole line; false if it is not one JSON object.
  bool run() {
    skip_space();
    if (at_ == end_) return fail("the line is empty");
    const bool object = *at_ == '{';
    const KeyMask all = static_cast<KeyMask>((std::uint64_t{1} << paths_.size()) - 1);
    if (!value(object ? all : 0, 0)) return false;
    skip_space();
    if (at_ != end_) return fail("something follows the JSON value");
    is_object = object;
    return true;
  }

  std::string problem;
  bool is_object = false;
  std::vector<Finding> findings;  // one a key

 private:
  bool fail(std::string_view what) {
    if (problem.empty()) problem = fmt::format("{} at byte {} of the line", what, at_ - begin_ + 1);
    return false;
  }
  void skip_space() {
    while (at_ != end_ && is_space(*at_)) ++at_;
  }
  bool literal(std::string_view word) {
    if (static_cast<std::size_t>(end_ - at_) < word.size() || std::string_view(at_, word.size()) != word) {
      return fail("no JSON value");
    }
    at_ += word.size();
    return true;
  }

  // One value; `wanted` has the keys whose path goes through it if it is an object, with `depth` of their parts used.
  bool value(KeyMask wanted, std::size_t depth) {
    if (at_ == end_) return fail("the line ends where a value is expected");
    std::string_view ignored;
    switch (*at_) {
      case '{': return object(wanted, depth);
      case '[': return array();
      case '"': return string(ignored);
      case 't': return literal("true");
      case 'f': return literal("false");
      case 'n': return literal("null");
      default: return number();
    }
  }

  bool descend() {
    if (++level_ <= kDeepest) return true;
    return fail(fmt::format("values are nested more than {} deep", kDeepest));
  }

  bool object(KeyMask wanted, std::size_t depth) {
    if (!descend()) return false;
    ++at_;
    skip_space();
    if (at_ != end_ && *at_ == '}') return close();
    while (true) {
      std::string_view key;
      skip_space();
      if (at_ == end_ || *at_ != '"') return fail("a key in double quotes is expected");
      if (!string(key)) return false;
      skip_space();
      if (at_ == end_ || *at_ != ':') return fail("a colon is expected");
      ++at_;
      skip_space();
      if (!member(wanted == 0 ? 0 : matching(key, wanted, depth), depth + 1)) return false;
      skip_space();
      if (at_ != end_ && *at_ == ',') {
        ++at_;
        continue;
      }
      if (at_ != end_ && *at_ == '}') return close();
      return fail("a comma or a closing brace is expected");
    }
  }

  bool close() {
    ++at_;
    --level_;
    return true;
  }

  KeyMask matching(std::string_view raw_key, KeyMask wanted, std::size_t depth) const {
    std::string unescaped;
    if (raw_key.find('\\') != std::string_view::npos) {
      unescape(raw_key, unescaped);
      raw_key = unescaped;
    }
    KeyMask matched = 0;
    for (std::size_t k = 0; k < paths_.size(); ++k) {
      const KeyMask bit = KeyMask{1} << k;
      if ((wanted & bit) != 0 && paths_[k][depth] == raw_key) matched |= bit;
    }
    return matched;
  }

  // A member's value. `matched`: the keys whose first `depth` parts led here.
  bool member(KeyMask matched, std::size_t depth) {
    if (matched == 0) return value(0, 0);
    const bool is_text = at_ != end_ && *at_ == '"', is_object_value = at_ != end_ && *at_ == '{';
    std::string_view raw;
    KeyMask deeper = 0;
    for (std::size_t k = 0; k < paths_.size(); ++k) {
      const KeyMask bit = KeyMask{1} << k;
      if ((matched & bit) == 0) continue;
      const bool last = paths_[k].size() == depth;
      if (!last && is_object_value) deeper |= bit;
      findings[k].state = !last && is_object_value ? Finding::State::kMissing : Finding::State::kWrongType;
    }
    if (!is_text) return value(deeper, depth);
    if (!string(raw)) return false;
    for (std::size_t k = 0; k < paths_.size(); ++k) {
      if ((matched & (KeyMask{1} << k)) != 0 && paths_[k].size() == depth) findings[k] = {Finding::State::kText, raw};
    }
    return true;
  }

  bool array() {
    if (!descend()) return false;
    ++at_;
    skip_space();
    if (at_ != end_ && *at_ == ']') return close();
    while (true) {
      skip_space();
      if (!value(0, 0)) return false;
      skip_space();
      if (at_ != end_ && *at_ == ',') {
        ++at_;
        continue;
      }
      if (at_ != end_ && *at_ == ']') return close();
      return fail("a comma or a closing bracket is expected");
    }
  }

  bool string(std::string_view& raw) {
    const char* first = ++at_;
    while (at_ != end_) {
      const auto c = static_cast<unsigned char>(*at_);
      if (c == '"') {
        raw = {first, static_cast<std::size_t>(at_ - first)};
        ++at_;
        return true;
      }
      if (c < 0x20) return fail("an unescaped control character");
      if (c == '\\') {
        if (!escape()) return false;
      } else {
        ++at_;
      }
    }
    return fail("the line ends inside a string");
  }

  bool escape() {
    if (end_ - at_ < 2) return fail("the line ends inside an escape");
    const char kind = at_[1];
    if (kind != 'u') {
      if (std::string_view("\"\\/bfnrt").find(kind) == std::string_view::npos) return fail("an unknown escape");
      at_ += 2;
      return true;
    }
    if (end_ - at_ < 6 || std::any_of(at_ + 2, at_ + 6, [](char c) { return hex_value(c) < 0; })) {
      return fail("\\u without four hexadecimal digits");
    }
    at_ += 6;
    return true;
  }

  bool digits(std::string_view what) {
    if (at_ == end_ || !is_digit(*at_)) return fail(what);
    while (at_ != end_ && is_digit(*at_)) ++at_;
    return true;
  }

  bool number() {
    if (*at_ == '-') ++at_;
    if (at_ != end_ && *at_ == '0') {
      ++at_;
    } else if (!digits("no JSON value")) {
      return false;
    }
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      if (!digits("a digit is expected after the decimal point")) return false;
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      return digits("a digit is expected in the exponent");
    }
    return true;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  const std::vector<Path>& paths_;
  int level_ = 0;
};

Path parts_of(const std::string& key) {
  Path parts;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    parts.push_back(key.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::string_view name_of(BadRecordKind kind) {
  switch (kind) {
    case BadRecordKind::kJson: return "json";
    case BadRecordKind::kUtf8: return "utf8";
    case BadRecordKind::kMissing: return "missing";
    case BadRecordKind::kType: return "type";
    case BadRecordKind::kSurrogate: return "surrogate";
  }
  return "json";
}

bool is_blank_line(std::string_view line) { return std::all_of(line.begin(), line.end(), is_space); }

RecordParser::RecordParser(const std::vector<std::string>& keys) : keys_(keys) {
  if (keys.empty() || keys.size() > kMostKeys) {
    throw ConfigError(fmt::format("expected 1 to {} keys, found {}", kMostKeys, keys.size()));
  }
  for (const std::string& key : keys) {
    paths_.push_back(parts_of(key));
    const Path& parts = paths_.back();
    if (std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); })) {
      throw ConfigError(fmt::format("a part of the key \"{}\" is empty", key));
    }
  }
}

std::optional<BadRecord> RecordParser::parse(std::string_view line, std::string& text) const {
  text.clear();
  const std::size_t invalid = find_invalid_utf8(line);
  if (invalid != std::string_view::npos) {
    return BadRecord{BadRecordKind::kUtf8, fmt::format("it is not valid UTF-8 at byte {} of the line", invalid + 1)};
  }
  Parser parser(line, paths_);
  if (!parser.run()) return BadRecord{BadRecordKind::kJson, "it is no JSON: " + parser.problem};
  if (!parser.is_object) return BadRecord{BadRecordKind::kType, "it is no JSON object"};
  for (std::size_t k = 0; k < keys_.size(); ++k) {
    const Finding& found = parser.findings[k];
    if (found.state == Finding::State::kMissing) {
      return BadRecord{BadRecordKind::kMissing, fmt::format("key \"{}\" is missing", keys_[k])};
    }
    if (found.state == Finding::State::kWrongType) {
      return BadRecord{BadRecordKind::kType, fmt::format("the value of key \"{}\" is no string", keys_[k])};
    }
    if (k > 0) text.push_back('\n');
    if (!unescape(found.raw, text)) {
      return BadRecord{BadRecordKind::kSurrogate, fmt::format("key \"{}\" holds a lone surrogate escape", keys_[k])};
    }
  }
  return std::nullopt;
}

}  // namespace convoy::data

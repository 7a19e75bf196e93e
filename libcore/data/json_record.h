// SPDX-License-Identifier: Apache-2.0
// One line of a JSON Lines file: a strict check against RFC 8259 (simdjson's), and the text under the wanted key.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::data {

enum class BadRecordKind : std::uint8_t { kJson, kUtf8, kMissing, kType, kSurrogate, kSize };
std::string_view name_of(BadRecordKind kind);  // "json", "utf8", "missing", "type", "surrogate", "size"

struct BadRecord {
  BadRecordKind kind = BadRecordKind::kJson;
  std::string reason;  // a clause for a message
};

BadRecord no_json(std::string_view why);
BadRecord invalid_utf8(std::size_t at);  // an offset in the line
BadRecord no_object();
BadRecord missing_key(const std::string& key);
BadRecord no_string(const std::string& key);
BadRecord lone_surrogate(const std::string& key);

constexpr std::size_t kDeepestJson = 1000;
constexpr std::string_view kMarkInside = "a byte order mark belongs at the start of a file only";
bool starts_with_mark(std::string_view line);

std::vector<std::string> key_path(const std::string& key);  // "a.b" -> "a", "b"

bool is_blank_line(std::string_view line);  // nothing but JSON white space

class RecordParser {
 public:
  // Keys with dots go into objects: "a.b" is b of a. The texts of several keys are joined by newlines; all must be
  // there. At most 32 keys.
  explicit RecordParser(const std::vector<std::string>& keys);

  // Sets `text`, or returns why the line is no good record. The last of equal keys counts. Lines of 4 GiB and values
  // nested more than 1000 deep are refused as no JSON. Safe on many threads: each has a parser of the library's.
  // `behind`: bytes that may be read behind the line, the first of them its line end; with some dozens the line is not copied.
  std::optional<BadRecord> parse(std::string_view line, std::string& text, std::size_t behind = 0) const;

 private:
  std::optional<BadRecord> parse_rewritten(std::string_view line, std::string& text) const;

  std::vector<std::string> keys_;  // as given, for messages
  std::vector<std::vector<std::string>> paths_;
  std::array<std::string, 2> substitutes_;  // escapes of two characters that no key holds
};

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/json_record.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "libcore/base/error.h"
#include "libcore/base/utf8.h"
#include "libcore/data/json_rewrite.h"
#include "libcore/data/json_scanner.h"

namespace convoy::data {
namespace {

using KeyPath = std::vector<std::string>;

constexpr std::size_t kMostKeys = 32;
constexpr std::size_t kUsualLine = std::size_t{64} << 10;
constexpr std::size_t kKeptLine = std::size_t{1} << 20;  // buffers for longer lines, about 14 bytes a byte, are given back

// simdjson's parser and the document that it fills, both kept from line to line.
struct Reader {
  simdjson::dom::parser parser;
  simdjson::dom::document document;

  simdjson::error_code reserve(std::size_t size) {
    if (parser.capacity() > kKeptLine && size <= kKeptLine) *this = Reader();
    if (size <= document.capacity() && size <= parser.capacity()) return simdjson::SUCCESS;
    const std::size_t limit = simdjson::SIMDJSON_MAXSIZE_BYTES;
    if (size > limit) return simdjson::CAPACITY;
    const std::size_t capacity = std::min(std::bit_ceil(std::max(size, kUsualLine)), limit);
    const simdjson::error_code error = parser.allocate(capacity, kDeepestJson);
    return error != simdjson::SUCCESS ? error : document.allocate(capacity);
  }

  // The root is valid until the next line.
  simdjson::error_code read(std::string_view line, std::size_t behind, simdjson::dom::element& root) {
    // simdjson copies the text, and an empty view may have no address to copy from.
    if (line.empty()) return simdjson::EMPTY;
    const simdjson::error_code error = reserve(line.size());
    if (error != simdjson::SUCCESS) return error;
    const bool copy = behind < simdjson::SIMDJSON_PADDING;
    return parser.parse_into_document(document, line.data(), line.size(), copy).get(root);
  }
};

thread_local Reader reader_of_thread;

// At once, not at the thread's next line: of many threads all would come to hold them.
struct GiveBackLargeBuffers {
  GiveBackLargeBuffers() = default;
  GiveBackLargeBuffers(const GiveBackLargeBuffers&) = delete;
  GiveBackLargeBuffers& operator=(const GiveBackLargeBuffers&) = delete;
  ~GiveBackLargeBuffers() {
    if (reader_of_thread.parser.capacity() > kKeptLine) reader_of_thread = Reader();
  }
};

struct Finding {
  enum class State : std::uint8_t { kMissing, kWrongType, kText } state = State::kMissing;
  std::string_view text;
};

Finding find(simdjson::dom::element value, const KeyPath& path) {
  for (const std::string& part : path) {
    simdjson::dom::object object;
    if (value.get(object) != simdjson::SUCCESS) return {Finding::State::kWrongType, {}};
    bool found = false;
    for (const simdjson::dom::key_value_pair field : object) {
      if (field.key != part) continue;
      value = field.value;
      found = true;
    }
    if (!found) return {};
  }
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return {Finding::State::kWrongType, {}};
  return {Finding::State::kText, text};
}

std::optional<BadRecord> check_finding(const Finding& found, const std::string& key) {
  if (found.state == Finding::State::kMissing) return missing_key(key);
  if (found.state == Finding::State::kWrongType) return no_string(key);
  return std::nullopt;
}

struct Keys {
  const std::vector<std::string>& names;
  const std::vector<KeyPath>& paths;
};

// `other`: null, or the same line with another character for each lone surrogate.
std::optional<BadRecord> take_texts(const Keys& keys, simdjson::dom::element root, const simdjson::dom::element* other,
                                    std::string& text) {
  text.clear();
  if (!root.is_object()) return no_object();
  for (std::size_t k = 0; k < keys.names.size(); ++k) {
    const Finding found = find(root, keys.paths[k]);
    if (auto bad = check_finding(found, keys.names[k])) return bad;
    if (other != nullptr && found.text != find(*other, keys.paths[k]).text) {
      return lone_surrogate(keys.names[k]);
    }
    if (k > 0) text.push_back('\n');
    text += found.text;
  }
  return std::nullopt;
}

// Where and why, which simdjson does not tell, in the words of the slower library; empty if that one has no objection.
std::string syntax_error_of(std::string_view line) {
  try {
    [[maybe_unused]] const auto accepted = nlohmann::json::parse(line);
  } catch (const nlohmann::json::parse_error& error) {
    std::string_view what = error.what();
    constexpr std::string_view kMarker = "syntax error ";
    const std::size_t begin = what.find(kMarker);
    if (begin != std::string_view::npos) what.remove_prefix(begin + kMarker.size());
    return fmt::format("at byte {} of the line, {}", error.byte, what.substr(0, what.find("; last read")));
  } catch (const nlohmann::json::exception&) {
    return {};
  }
  return {};
}

BadRecord refusal(simdjson::error_code error, std::string_view line) {
  const std::size_t invalid = find_invalid_utf8(line);
  if (invalid != std::string_view::npos) return invalid_utf8(invalid);
  std::string why;
  if (error == simdjson::MEMALLOC) {
    throw EnvironmentError(
        fmt::format("not enough memory to parse a line of {} bytes; use fewer threads", line.size()));
  } else if (error == simdjson::DEPTH_ERROR) {
    why = fmt::format("values are nested more than {} deep", kDeepestJson);
  } else if (error == simdjson::CAPACITY) {
    why = fmt::format("a line has {} bytes, expected less than 4 GiB", line.size());
  } else if (starts_with_mark(line)) {
    why = kMarkInside;
  } else {
    why = syntax_error_of(without_numbers_and_lone_surrogates(line, "\\ufffd"));
  }
  return no_json(why.empty() ? simdjson::error_message(error) : why);
}

// Private characters first: there are more of the basic plane than a command line has room for.
std::array<std::string, 2> escapes_in_no_key(const std::vector<std::string>& keys) {
  std::array<std::string, 2> escapes;
  std::uint32_t code = 0xe000u;
  for (std::string& escape : escapes) {
    const auto holds_code = [&code](const std::string& key) {
      std::string character;
      append_character(code, character);
      return key.find(character) != std::string::npos;
    };
    while (std::any_of(keys.begin(), keys.end(), holds_code)) ++code;
    escape = fmt::format("\\u{:04x}", code++);
  }
  return escapes;
}

}  // namespace

std::string_view name_of(BadRecordKind kind) {
  switch (kind) {
    case BadRecordKind::kJson:
      return "json";
    case BadRecordKind::kUtf8:
      return "utf8";
    case BadRecordKind::kMissing:
      return "missing";
    case BadRecordKind::kType:
      return "type";
    case BadRecordKind::kSurrogate:
      return "surrogate";
    case BadRecordKind::kSize:
      return "size";
  }
  return "json";
}

BadRecord no_json(std::string_view why) { return {BadRecordKind::kJson, fmt::format("it is no JSON: {}", why)}; }

BadRecord invalid_utf8(std::size_t at) { return {BadRecordKind::kUtf8, fmt::format("it is not valid UTF-8 at byte {} of the line", at + 1)}; }

BadRecord no_object() { return {BadRecordKind::kType, "it is no JSON object"}; }

BadRecord missing_key(const std::string& key) { return {BadRecordKind::kMissing, fmt::format("key \"{}\" is missing", key)}; }

BadRecord no_string(const std::string& key) { return {BadRecordKind::kType, fmt::format("the value of key \"{}\" is no string", key)}; }

BadRecord lone_surrogate(const std::string& key) {
  return {BadRecordKind::kSurrogate, fmt::format("key \"{}\" holds a lone surrogate escape", key)};
}

bool starts_with_mark(std::string_view line) { return line.starts_with("\xef\xbb\xbf"); }

std::vector<std::string> key_path(const std::string& key) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    parts.push_back(key.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_blank_line(std::string_view line) { return std::all_of(line.begin(), line.end(), is_json_space); }

RecordParser::RecordParser(const std::vector<std::string>& keys) : keys_(keys), substitutes_(escapes_in_no_key(keys)) {
  if (keys.empty() || keys.size() > kMostKeys) {
    throw ConfigError(fmt::format("expected 1 to {} keys, found {}", kMostKeys, keys.size()));
  }
  for (const std::string& key : keys) {
    paths_.push_back(key_path(key));
    const KeyPath& parts = paths_.back();
    if (std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); })) {
      throw ConfigError(fmt::format("a part of the key \"{}\" is empty", key));
    }
  }
}

std::optional<BadRecord> RecordParser::parse(std::string_view line, std::string& text, std::size_t behind) const {
  simdjson::dom::element root;
  const simdjson::error_code error = reader_of_thread.read(line, behind, root);
  // A number or an escape that simdjson refuses may be good JSON.
  if (error == simdjson::NUMBER_ERROR || error == simdjson::STRING_ERROR) return parse_rewritten(line, text);
  if (error != simdjson::SUCCESS) return refusal(error, line);
  return take_texts({keys_, paths_}, root, nullptr, text);
}

// Twice, with two characters for the lone surrogates: a text that has one differs.
std::optional<BadRecord> RecordParser::parse_rewritten(std::string_view line, std::string& text) const {
  const std::string rewritten = without_numbers_and_lone_surrogates(line, substitutes_[0]);
  const std::string again = without_numbers_and_lone_surrogates(line, substitutes_[1]);
  const bool lone_surrogates = again != rewritten;
  Reader second;
  simdjson::dom::element root, second_root;
  simdjson::error_code error = reader_of_thread.read(rewritten, 0, root);
  if (error == simdjson::SUCCESS && lone_surrogates) error = second.read(again, 0, second_root);
  if (error != simdjson::SUCCESS) return refusal(error, line);
  return take_texts({keys_, paths_}, root, lone_surrogates ? &second_root : nullptr, text);
}

}  // namespace convoy::data

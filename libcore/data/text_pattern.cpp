// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/text_pattern.h"

#include <fmt/format.h>
#include <oniguruma.h>

#include <array>
#include <mutex>

#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/utf8.h"
#include "libcore/data/unicode_classes.h"

namespace convoy::data {
namespace {

const OnigUChar* bytes_of(std::string_view text) { return reinterpret_cast<const OnigUChar*>(text.data()); }

std::string message_of(int code, OnigErrorInfo* info) {
  std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> message{};
  const int length = onig_error_code_to_str(message.data(), code, info);
  return {reinterpret_cast<const char*>(message.data()), static_cast<std::size_t>(length)};
}

struct FreeRegion {
  void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
};

void initialise_once() {
  static std::once_flag done;
  std::call_once(done, [] {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    onig_initialize(encodings, 1);
  });
}

}  // namespace

struct TextPattern::Content {
  regex_t* regex = nullptr;
  Content() = default;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  ~Content() {
    if (regex != nullptr) onig_free(regex);
  }
};

TextPattern::TextPattern(const std::string& regex) : content_(std::make_unique<Content>()) {
  initialise_once();
  if (find_invalid_utf8(regex) != std::string_view::npos) throw DataError("a regular expression is not valid UTF-8");
  OnigErrorInfo info{};
  const OnigUChar* const begin = bytes_of(regex);
  const int code = onig_new(&content_->regex, begin, begin + regex.size(), ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, ONIG_SYNTAX_ONIGURUMA, &info);
  if (code != ONIG_NORMAL) throw DataError(fmt::format("the regular expression {} is not accepted: {}", json_quoted(regex), message_of(code, &info)));
}

TextPattern::~TextPattern() = default;
TextPattern::TextPattern(TextPattern&&) noexcept = default;

void TextPattern::find(std::string_view text, std::vector<std::pair<std::size_t, std::size_t>>& matches) const {
  const std::string known = with_known_characters(text);
  const OnigUChar* const begin = bytes_of(known);
  const OnigUChar* const end = begin + known.size();
  const std::unique_ptr<OnigRegion, FreeRegion> region(onig_region_new());
  std::size_t from = 0, last_end = std::string_view::npos;
  while (from <= known.size()) {
    const int code = onig_search(content_->regex, begin, end, begin + from, end, region.get(), ONIG_OPTION_NONE);
    if (code == ONIG_MISMATCH) return;
    if (code < 0) throw DataError(fmt::format("the tokenizer's regular expression cannot be matched against a text of {} bytes: {}", text.size(), message_of(code, nullptr)));
    const auto match_begin = static_cast<std::size_t>(region->beg[0]), match_end = static_cast<std::size_t>(region->end[0]);
    if (match_begin == match_end && match_end == last_end) {
      from += from < known.size() ? decode_valid_character(known.data() + from).bytes : 1;
      continue;
    }
    matches.emplace_back(match_begin, match_end);
    from = last_end = match_end;
  }
}

}  // namespace convoy::data

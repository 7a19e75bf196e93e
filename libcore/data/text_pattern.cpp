// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/text_pattern.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <oniguruma.h>

#include <array>

#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/utf8.h"
#include "libcore/data/unicode_classes.h"

namespace convoy::data {
namespace {

const OnigUChar* bytes_of(std::string_view text) { return reinterpret_cast<const OnigUChar*>(text.data()); }

// Loaded into a scope of its own, not linked: the library also defines POSIX's regcomp() and its like, which would take the place of
// the C library's for everything in the process.
struct Oniguruma {
  decltype(&onig_initialize) initialize = nullptr;
  decltype(&onig_new) create = nullptr;
  decltype(&onig_free) destroy = nullptr;
  decltype(&onig_search) search = nullptr;
  decltype(&onig_region_new) create_region = nullptr;
  decltype(&onig_region_free) destroy_region = nullptr;
  decltype(&onig_error_code_to_str) describe = nullptr;
  OnigEncoding utf8 = nullptr;
  OnigSyntaxType* syntax = nullptr;
};

template <class T>
void load(void* library, const char* name, T& symbol) {
  symbol = reinterpret_cast<T>(::dlsym(library, name));
  if (symbol == nullptr) throw EnvironmentError(fmt::format("{} has no {}, expected Oniguruma 6.9", CONVOY_ONIGURUMA, name));
}

Oniguruma load_oniguruma() {
  void* const library = ::dlopen(CONVOY_ONIGURUMA, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw EnvironmentError(fmt::format("this tokenizer's regular expression needs the library Oniguruma, which is not there: {}; install it "
                                       "(Debian: libonig5)",
                                       ::dlerror()));
  }
  Oniguruma found;
  load(library, "onig_initialize", found.initialize);
  load(library, "onig_new", found.create);
  load(library, "onig_free", found.destroy);
  load(library, "onig_search", found.search);
  load(library, "onig_region_new", found.create_region);
  load(library, "onig_region_free", found.destroy_region);
  load(library, "onig_error_code_to_str", found.describe);
  load(library, "OnigEncodingUTF8", found.utf8);
  load(library, "OnigSyntaxOniguruma", found.syntax);
  OnigEncoding encodings[] = {found.utf8};
  found.initialize(encodings, 1);
  return found;
}

const Oniguruma& oniguruma() {
  static const Oniguruma loaded = load_oniguruma();
  return loaded;
}

std::string message_of(int code, OnigErrorInfo* info) {
  std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> message{};
  const int length = oniguruma().describe(message.data(), code, info);
  return {reinterpret_cast<const char*>(message.data()), static_cast<std::size_t>(length)};
}

struct FreeRegion {
  void operator()(OnigRegion* region) const { oniguruma().destroy_region(region, 1); }
};

}  // namespace

struct TextPattern::Content {
  regex_t* regex = nullptr;
  Content() = default;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  ~Content() {
    if (regex != nullptr) oniguruma().destroy(regex);
  }
};

TextPattern::TextPattern(const std::string& regex) : content_(std::make_unique<Content>()) {
  if (find_invalid_utf8(regex) != std::string_view::npos) throw DataError("a regular expression is not valid UTF-8");
  OnigErrorInfo info{};
  const OnigUChar* const begin = bytes_of(regex);
  const int code = oniguruma().create(&content_->regex, begin, begin + regex.size(), ONIG_OPTION_NONE, oniguruma().utf8, oniguruma().syntax, &info);
  if (code != ONIG_NORMAL) throw DataError(fmt::format("the regular expression {} is not accepted: {}", json_quoted(regex), message_of(code, &info)));
}

TextPattern::~TextPattern() = default;
TextPattern::TextPattern(TextPattern&&) noexcept = default;

void TextPattern::find(std::string_view text, std::vector<std::pair<std::size_t, std::size_t>>& matches) const {
  const std::string known = with_known_characters(text);
  const OnigUChar* const begin = bytes_of(known);
  const OnigUChar* const end = begin + known.size();
  const std::unique_ptr<OnigRegion, FreeRegion> region(oniguruma().create_region());
  std::size_t from = 0, last_end = std::string_view::npos;
  while (from <= known.size()) {
    const int code = oniguruma().search(content_->regex, begin, end, begin + from, end, region.get(), ONIG_OPTION_NONE);
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

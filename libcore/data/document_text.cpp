// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/document_text.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::data {
namespace {

constexpr std::size_t kMostTokensOfACharacter = 4;  // a byte each
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// A text is the texts of its tokens in a row, but for two things: bytes of several tokens may make one character, and the first token
// loses its blank. So it is cut behind tokens that are whole characters, which what follows cannot change, nor, since no character of
// UTF-8 is within another one, what comes before; and they stand before the next part once more, their text left out, lest that part
// begin the text.
class TextParts {
 public:
  TextParts(const Tokenizer& tokenizer, const std::function<void(std::string_view)>& take) : tokenizer_(tokenizer), take_(take) {}

  void add(std::span<const std::int32_t> ids) {
    const std::size_t before = waiting_.size();
    waiting_.insert(waiting_.end(), ids.begin(), ids.end());
    for (std::size_t cut = waiting_.size(); cut > before; --cut) {
      if (const std::size_t whole = whole_tokens(cut); whole > 0) return pass_on(cut, whole);
    }
  }
  void finish() { pass_on(waiting_.size(), 0); }

 private:
  std::string text_of(std::size_t begin, std::size_t end) const {
    const auto at = [this](std::size_t index) { return waiting_.begin() + static_cast<std::ptrdiff_t>(index); };
    return tokenizer_.decode(std::vector<std::int32_t>(at(begin), at(end)));
  }

  // How many tokens before `cut` are whole characters together, the fewest; 0: none.
  std::size_t whole_tokens(std::size_t cut) const {
    for (std::size_t count = 1; count <= std::min(cut, kMostTokensOfACharacter); ++count) {
      const std::string text = text_of(cut - count, cut);
      if (text.empty()) break;
      if (text.find(kReplacement) == std::string::npos) return count;
    }
    return 0;
  }

  void pass_on(std::size_t end, std::size_t kept) {
    if (end == passed_on_) return;
    const std::size_t known = passed_on_ == 0 ? 0 : text_of(0, passed_on_).size();
    take_(std::string_view(text_of(0, end)).substr(known));
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(end - kept));
    passed_on_ = kept;
  }

  const Tokenizer& tokenizer_;
  const std::function<void(std::string_view)>& take_;
  std::vector<std::int32_t> waiting_;
  std::size_t passed_on_ = 0;  // so many of the first ones were, and stand before the others
};

}  // namespace

void for_each_ids(const IndexedDataset& dataset, std::int64_t document, const std::function<void(std::span<const std::int32_t>)>& take,
                  std::int64_t part_tokens) {
  const auto [begin, end] = dataset.document(document);
  std::vector<std::int32_t> ids;
  for (std::int64_t at = begin; at < end; at += part_tokens) {
    ids.resize(static_cast<std::size_t>(std::min(part_tokens, end - at)));
    dataset.read(at, ids);
    take(ids);
    dataset.release(at, static_cast<std::int64_t>(ids.size()));
  }
}

void for_each_text(const IndexedDataset& dataset, std::int64_t document, const Tokenizer& tokenizer,
                   const std::function<void(std::string_view)>& take, std::int64_t part_tokens) {
  TextParts parts(tokenizer, take);
  for_each_ids(dataset, document, [&parts](std::span<const std::int32_t> ids) { parts.add(ids); }, part_tokens);
  parts.finish();
}

}  // namespace convoy::data

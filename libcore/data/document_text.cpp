// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/document_text.h"

#include <algorithm>
#include <string>
#include <vector>

namespace convoy::data {
namespace {

// A text is the texts of its tokens in a row, but for two things: bytes of several tokens may make one character, and the first token loses
// its blank. So it is cut between two tokens that have characters of their own, and the token before a part stands before it
// once more, its text left out, lest the part begin the text.
class TextParts {
 public:
  TextParts(const Tokenizer& tokenizer, const std::function<void(std::string_view)>& take) : tokenizer_(tokenizer), take_(take) {}

  void add(std::span<const std::int32_t> ids) {
    const std::size_t before = waiting_.size();
    waiting_.insert(waiting_.end(), ids.begin(), ids.end());
    for (std::size_t cut = waiting_.size() - 1; cut >= std::max(before, passed_on_ + 1); --cut) {
      if (has_characters(waiting_[cut]) && has_characters(waiting_[cut - 1])) return pass_on(cut);
    }
  }
  void finish() { pass_on(waiting_.size()); }

 private:
  bool has_characters(std::int32_t id) const {
    const std::string text = tokenizer_.decode({id});
    return !text.empty() && text.find("\xef\xbf\xbd") == std::string::npos;
  }

  void pass_on(std::size_t end) {
    if (end == passed_on_) return;
    const std::size_t known = passed_on_ == 0 ? 0 : tokenizer_.decode({waiting_.front()}).size();
    const std::vector<std::int32_t> ids(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(end));
    take_(std::string_view(tokenizer_.decode(ids)).substr(known));
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(end - 1));
    passed_on_ = 1;
  }

  const Tokenizer& tokenizer_;
  const std::function<void(std::string_view)>& take_;
  std::vector<std::int32_t> waiting_;
  std::size_t passed_on_ = 0;  // 1: the first of them was, and stands before the others
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

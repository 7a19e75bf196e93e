// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/encoder_verification.h"

#include <fmt/format.h>

#include <algorithm>

#include "libcore/base/json.h"

namespace convoy::data {
namespace {

constexpr std::size_t kShownBefore = 40, kShown = 120;     // bytes of text
constexpr std::size_t kShownIds = 8;

std::string some_ids(const std::vector<std::int32_t>& ids, std::size_t from) {
  std::string text;
  const std::size_t end = std::min(ids.size(), from + kShownIds);
  for (std::size_t i = from; i < end; ++i) text += fmt::format("{}{}", i == from ? "" : " ", ids[i]);
  if (text.empty()) return "the end";
  return end < ids.size() ? text + " ..." : text;
}

}  // namespace

std::string difference_text(std::string_view text, const std::vector<std::int32_t>& own, const std::vector<std::int32_t>& library,
                            const Tokenizer& tokenizer) {
  const auto parted = std::mismatch(own.begin(), own.end(), library.begin(), library.end());
  const auto token = static_cast<std::size_t>(parted.first - own.begin());
  // A normaliser may have changed the text before, so the place is near, not exact.
  const std::size_t at = std::min(text.size(), tokenizer.decode({own.begin(), parted.first}).size());
  const std::size_t begin = at > kShownBefore ? at - kShownBefore : 0;
  return fmt::format("the encoder and {} differ from token {} on, about byte {} of the document: expected {}, found {}, in {}", tokenizer.reference(), token,
                     at, some_ids(library, token), some_ids(own, token), json_quoted(text.substr(begin, kShown)));
}

std::optional<std::string> EncoderVerification::look_at(std::string_view text, Tokenizer::Lane& lane) const {
  if (every_ == 0 || !tokenizer_.left_to_library().empty()) return std::nullopt;
  if (documents_.fetch_add(1, std::memory_order_relaxed) % every_ != 0) return std::nullopt;
  text = text.substr(0, kVerifiedBytes);
  std::vector<std::int32_t> own, library;
  lane.encode(text, own);
  tokenizer_.encode_by_library(text, library);
  if (own == library) return std::nullopt;
  return difference_text(text, own, library, tokenizer_);
}

}  // namespace convoy::data

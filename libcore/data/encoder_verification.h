// SPDX-License-Identifier: Apache-2.0
// The check of a run on itself: some documents are encoded by the SentencePiece library, too, or by what stands for a
// library that cannot be linked (Tokenizer::encode_by_library).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/data/tokenizer.h"

namespace convoy::data {

constexpr std::size_t kVerifiedBytes = std::size_t{64} << 10;  // of a text: the library slows down on long ones

// Takes every `every`-th document, the first one included, whichever thread it meets; 0: none. Of long ones the first 64 KiB.
class EncoderVerification {
 public:
  EncoderVerification(const Tokenizer& tokenizer, std::int64_t every) : tokenizer_(tokenizer), every_(every) {}
  // What differs between `lane`'s ids and the library's, as a clause, if this document's turn has come and something does. Thread-safe.
  std::optional<std::string> look_at(std::string_view text, Tokenizer::Lane& lane) const;

 private:
  const Tokenizer& tokenizer_;
  std::int64_t every_;
  mutable std::atomic<std::int64_t> documents_ = 0;
};

// Where two encodings of `text` part, with the text there, shortened; they differ.
std::string difference_text(std::string_view text, const std::vector<std::int32_t>& own, const std::vector<std::int32_t>& library,
                            const Tokenizer& tokenizer);

}  // namespace convoy::data

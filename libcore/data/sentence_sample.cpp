// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/sentence_sample.h"

#include <algorithm>

#include "libcore/base/random.h"
#include "libcore/base/utf8.h"

namespace convoy::data {
namespace {

constexpr std::size_t kSentenceBytes = 4096;
constexpr std::string_view kReserved = "\xe2\x96\x85";  // U+2585, the trainer's mark of an unknown character

std::size_t character_boundary(std::string_view text, std::size_t at) {
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0u) == 0x80u) --at;
  return at;
}

}  // namespace

void split_at_blanks(std::string_view line, std::size_t most, const std::function<void(std::string_view)>& take) {
  while (line.size() > most) {
    const std::size_t blank = line.rfind(' ', most);
    const bool found = blank != std::string_view::npos && blank > 0;
    const std::size_t end = found ? blank : std::max<std::size_t>(1, character_boundary(line, most));
    take(line.substr(0, end));
    line.remove_prefix(end + (found ? 1 : 0));
  }
  if (!line.empty()) take(line);
}

SentenceSample::SentenceSample(std::int64_t most_bytes, std::uint64_t seed)
    : most_bytes_(most_bytes), key_(stream_key(seed, "train-tokenizer:sample")) {}

void SentenceSample::add_text(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    add_line(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

void SentenceSample::add_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return;
  ++counts_.lines;
  if (find_invalid_utf8(line) != std::string_view::npos) {
    ++counts_.invalid_utf8;
  } else if (line.find(kReserved) != std::string_view::npos) {
    ++counts_.reserved;
  } else {
    if (line.size() > kSentenceBytes) ++counts_.split_lines;
    split_at_blanks(line, kSentenceBytes, [this](std::string_view part) { add_sentence(part); });
  }
}

void SentenceSample::add_sentence(std::string_view sentence) {
  const std::int64_t number = number_++;
  const auto bytes = static_cast<std::int64_t>(sentence.size());
  counts_.bytes += bytes;
  const std::uint64_t rank = mix64(key_ ^ mix64(static_cast<std::uint64_t>(number)));
  if (kept_bytes_ + bytes > most_bytes_ && !kept_.empty() && rank > kept_.front().rank) {
    ++counts_.sampled_out;
    return;
  }
  kept_.push_back({rank, number, std::string(sentence)});
  std::push_heap(kept_.begin(), kept_.end());
  kept_bytes_ += bytes;
  while (kept_bytes_ > most_bytes_) {
    std::pop_heap(kept_.begin(), kept_.end());
    kept_bytes_ -= static_cast<std::int64_t>(kept_.back().sentence.size());
    kept_.pop_back();
    ++counts_.sampled_out;
  }
}

std::vector<std::string> SentenceSample::take() {
  std::sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.number < b.number; });
  std::vector<std::string> sentences;
  sentences.reserve(kept_.size());
  for (Kept& kept : kept_) sentences.push_back(std::move(kept.sentence));
  kept_.clear();
  kept_bytes_ = 0;
  return sentences;
}

}  // namespace convoy::data

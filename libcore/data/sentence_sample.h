// SPDX-License-Identifier: Apache-2.0
// The sentences that a tokenizer is trained on: lines without their newline, so that no piece crosses a line; long ones split
// at a blank; a seeded sample if there are more bytes than wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::data {

struct SentenceCounts {
  std::int64_t lines = 0;          // not empty
  std::int64_t split_lines = 0;    // longer than the limit, used in parts
  std::int64_t invalid_utf8 = 0;   // left out
  std::int64_t reserved = 0;       // left out: they hold U+2585, which the trainer reserves
  std::int64_t bytes = 0;          // of all sentences
  std::int64_t sampled_out = 0;    // sentences beyond the sample
};

class SentenceSample {
 public:
  // Keeps at most `most_bytes` bytes of sentences, those whose seeded hash of their number is least: the choice depends on the
  // seed and the order of the text only.
  SentenceSample(std::int64_t most_bytes, std::uint64_t seed);

  void add_text(std::string_view text);
  const SentenceCounts& counts() const { return counts_; }
  std::int64_t kept_bytes() const { return kept_bytes_; }
  // The sentences in the order of the text; leaves the sample empty.
  std::vector<std::string> take();

 private:
  struct Kept {
    std::uint64_t rank = 0;    // hash
    std::int64_t number = 0;   // in the text
    std::string sentence;
    bool operator<(const Kept& other) const { return rank != other.rank ? rank < other.rank : number < other.number; }
  };

  void add_line(std::string_view line);
  void add_sentence(std::string_view sentence);

  std::int64_t most_bytes_;
  std::uint64_t key_;
  SentenceCounts counts_;
  std::int64_t number_ = 0, kept_bytes_ = 0;
  std::vector<Kept> kept_;  // a heap, the largest rank first
};

// Cuts `line` into parts of at most `most` bytes, each at a blank (which is dropped: every sentence starts with one anyway),
// or between characters where there is none.
void split_at_blanks(std::string_view line, std::size_t most, const std::function<void(std::string_view)>& take);

}  // namespace convoy::data

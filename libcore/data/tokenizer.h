// SPDX-License-Identifier: Apache-2.0
// Text to ids and back, by one of the kinds of models (token_model.h). Thread-safe once loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/data/token_model.h"

namespace convoy::data {

// A text of more bytes is not for encode_by_library, which takes about a hundred bytes of memory for each: 800 MiB then.
constexpr std::size_t kMostBytesByLibrary = std::size_t{8} << 20;

class Tokenizer {
 public:
  // A SentencePiece model, or a tokenizer.json of Hugging Face's tokenizers that is a byte-level BPE: its bytes say which.
  // `special_tokens_are_text`: control tokens never come from their names in text. In a SentencePiece model they never do; with a
  // tokenizer.json they do unless this is set. A missing file is a ConfigError, one that is neither a DataError.
  explicit Tokenizer(const Path& model, bool special_tokens_are_text = false);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;

  std::int64_t vocabulary() const;
  std::int32_t eos_id() const;      // -1: none
  std::int32_t bos_id() const;      // -1: none
  const std::string& sha256() const;  // of the model's bytes: its identity
  const TokenizerFacts& facts() const;
  // Why encode followed by decode may not give the text back (a clause for a message), or empty if a probe came back whole.
  const std::string& lossy_reason() const;

  // Appends the ids of `text` (any bytes) to `ids`, exactly those of the library that the model is of, without BOS and EOS. They
  // are found by an encoder of our own, or, where that leaves a SentencePiece model or a text to it, by the library: then a call
  // takes about a hundred bytes of memory for each byte of text.
  void encode(std::string_view text, std::vector<std::int32_t>& ids) const;
  // The same, always by the library; where there is none to link, by a plain encoder.
  void encode_by_library(std::string_view text, std::vector<std::int32_t>& ids) const;
  // Why the library encodes all texts, as a clause, or empty.
  const std::string& left_to_library() const;
  std::string_view reference() const;  // who encodes in encode_by_library, for messages

  class Stream;
  // For one thread with many texts: what it learnt of one serves the next ones. Refers to the tokenizer.
  class Lane {
   public:
    explicit Lane(const Tokenizer& tokenizer);
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;
    void encode(std::string_view text, std::vector<std::int32_t>& ids);

   private:
    friend class Tokenizer::Stream;
    const Tokenizer& tokenizer_;
    std::unique_ptr<TextEncoder> encoder_;  // taken from the tokenizer, and given back
  };

  bool streams() const;  // whether texts can be encoded in parts: not where the library encodes all of them

  // A text in parts, cut anywhere, within a character too: as many add() as it has, then finish(). Each appends the ids that are
  // certain by then; together they are those of Lane::encode of the whole. False is the end of it: this text can be encoded
  // as a whole only, by Lane::encode, and the ids so far are void. One at a time of a lane, which encodes nothing else meanwhile; of a
  // tokenizer that streams().
  class Stream {
   public:
    explicit Stream(Lane& lane);
    bool add(std::string_view text, std::vector<std::int32_t>& ids);
    bool finish(std::vector<std::int32_t>& ids);

   private:
    Lane& lane_;
  };
  std::string decode(const std::vector<std::int32_t>& ids) const;
  std::string piece(std::int32_t id) const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace convoy::data

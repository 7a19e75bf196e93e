// SPDX-License-Identifier: Apache-2.0
// What stands behind a Tokenizer: one kind of model. SentencePiece's is piece_model.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::data {

constexpr std::string_view kByteLevelKind = "byte-level-bpe";

// What a dataset's metadata record about its tokenizer.
struct TokenizerFacts {
  std::string kind;        // "sentencepiece-bpe", "sentencepiece-unigram", ..., or kByteLevelKind
  std::string normalizer;  // "identity", "nmt_nfkc", ...
  bool add_dummy_prefix = true;
  std::int32_t bos_id = -1, eos_id = -1, unk_id = -1, pad_id = -1;  // -1: none
  std::int64_t vocabulary = 0;                                      // ids are below
};

// One thread's, for one text after another. Refers to its model.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  // Appends the ids of `text`, any bytes. False, and `ids` as they were, if this text must be left to the reference.
  virtual bool encode(std::string_view text, std::vector<std::int32_t>& ids) = 0;
  // The same of a text that comes in parts, cut anywhere: begin(), any add(), finish(). Each appends the ids that are certain by
  // then. False is the end: the text can be encoded as a whole only. Only if the model streams().
  virtual void begin() = 0;
  virtual bool add(std::string_view part, std::vector<std::int32_t>& ids) = 0;
  virtual bool finish(std::vector<std::int32_t>& ids) = 0;
};

// Thread-safe once loaded.
class TokenModel {
 public:
  virtual ~TokenModel() = default;

  const TokenizerFacts& facts() const { return facts_; }
  // Why encode followed by decode may not give the text back (a clause), or empty.
  const std::string& lossy_reason() const { return lossy_reason_; }
  // Why the reference encodes all texts (a clause), or empty.
  virtual const std::string& left_to_reference() const = 0;

  virtual bool streams() const { return left_to_reference().empty(); }  // its encoders take texts in parts
  // Not if all is left to the reference.
  virtual std::unique_ptr<TextEncoder> make_encoder() const = 0;
  // The same ids on another way: slower, but it is what defines them.
  virtual void encode_by_reference(std::string_view text, std::vector<std::int32_t>& ids) const = 0;
  virtual std::string_view reference() const = 0;  // its name, for messages: "the SentencePiece library"

  // Of ids below the vocabulary.
  virtual std::string decode(const std::vector<std::int32_t>& ids) const = 0;
  virtual std::string piece(std::int32_t id) const = 0;

 protected:
  TokenizerFacts facts_;
  std::string lossy_reason_;
};

}  // namespace convoy::data

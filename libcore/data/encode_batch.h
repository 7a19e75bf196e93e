// SPDX-License-Identifier: Apache-2.0
// What one thread does with one batch: parse its records, choose their split, tokenize them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/data/encode_options.h"
#include "libcore/data/encoder_verification.h"
#include "libcore/data/json_record.h"
#include "libcore/data/text_key.h"
#include "libcore/data/tokenizer.h"

namespace convoy::data {

struct BadLine {
  std::int64_t line = 0;
  BadRecord record;
};

struct EncodedBatch {
  // Of a huge record's part no more than what was read (huge_record.h): its bytes, unless kWhole.
  RecordPart part = RecordPart::kWhole;
  RecordFormat format = RecordFormat::kText;
  std::string bytes;
  RawRecord record;

  struct Document {
    std::size_t begin = 0, end = 0;  // in `ids`
    std::size_t split = 0;
    TextKey key = {};  // the hash under --dedup alone
  };
  std::size_t file = 0;
  std::vector<std::int32_t> ids;
  std::vector<Document> documents;
  std::vector<BadLine> bad;
  struct Difference {
    std::int64_t line = 0;
    std::string what;
  };
  std::optional<Difference> difference;  // our own fault (encoder_verification.h)
  std::int64_t lines = 0;
  std::int64_t empty = 0;
  std::int64_t bytes_in = 0;
  std::int64_t bytes_text = 0;
  std::int64_t invalid_utf8 = 0;
  std::int64_t consumed = 0;
};

class BatchEncoder {
 public:
  BatchEncoder(const Tokenizer& tokenizer, const EncodeOptions& options);
  EncodedBatch encode(RawBatch& batch) const;  // const, and safe on many threads

  const Tokenizer& tokenizer() const { return tokenizer_; }
  const EncoderVerification& verification() const { return verification_; }
  bool hashes() const { return hashes_; }
  const std::vector<double>& thresholds() const { return thresholds_; }

 private:
  void add_document(std::string_view text, std::int64_t line, Tokenizer::Lane& lane, EncodedBatch& out) const;
  bool add_ids(std::string_view text, Tokenizer::Lane& lane, std::vector<std::int32_t>& ids) const;

  const Tokenizer& tokenizer_;
  EncoderVerification verification_;
  RecordParser parser_;
  bool append_eos_, prepend_bos_, hashes_;
  std::vector<double> thresholds_;  // cumulative shares
};

// What is wrong with a text of more than kMostBytesByLibrary that can be encoded as a whole only.
BadRecord too_large_as_a_whole(std::int64_t bytes);

// The split whose cumulative share exceeds hash / 2^64.
std::size_t split_of(std::uint64_t hash, const std::vector<double>& thresholds);

}  // namespace convoy::data

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

 private:
  void add_document(std::string_view text, std::int64_t line, Tokenizer::Lane& lane, EncodedBatch& out) const;

  const Tokenizer& tokenizer_;
  EncoderVerification verification_;
  RecordParser parser_;
  bool append_eos_, prepend_bos_, hashes_;
  std::vector<double> thresholds_;  // cumulative shares
};

// The split whose cumulative share exceeds hash / 2^64.
std::size_t split_of(std::uint64_t hash, const std::vector<double>& thresholds);

}  // namespace convoy::data

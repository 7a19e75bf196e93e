// SPDX-License-Identifier: Apache-2.0
// Trains a SentencePiece model that loses nothing: byte fallback, identity normalisation, blanks kept, digits split. Every
// text but a literal U+2581 comes back from it byte for byte.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/data/record_reader.h"
#include "libcore/data/sentence_sample.h"

namespace convoy::data {

struct TrainTokenizerOptions {
  std::vector<std::string> inputs = {};
  ReadOptions read = {};
  std::vector<std::string> keys = {};
  Path out = {};                    // writes OUT.model and OUT.vocab
  std::string kind = "bpe";    // bpe, unigram
  std::int64_t vocabulary = 32000;
  std::int64_t sample_bytes = 200'000'000;
  std::uint64_t seed = 1;
  std::vector<std::string> user_symbols = {};  // each one piece wherever it occurs
  double character_coverage = 0.9999;     // share of the characters that get a piece; the others are bytes
};

struct TrainTokenizerReport {
  SentenceCounts counts;
  std::int64_t sentences = 0;  // trained on
  std::int64_t bytes = 0;      // of these
  std::int64_t pieces = 0;
  std::string sha256;
  std::string model;
  double seconds = 0.0;

  std::string json() const;
};

using ReadProgress = std::function<void(std::int64_t consumed, std::int64_t total)>;

// ConfigError: inputs, symbols, a vocabulary that the text cannot fill or that cannot hold its characters; DataError: bad
// records, no text. The model's bytes are a function of the options and the text, not of the machine.
TrainTokenizerReport train_tokenizer(const TrainTokenizerOptions& options, const ReadProgress& progress);

}  // namespace convoy::data

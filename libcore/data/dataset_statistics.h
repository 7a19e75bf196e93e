// SPDX-License-Identifier: Apache-2.0
// What `info` tells about a dataset: sizes, document lengths, and the cross-entropies that a language model has to beat.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/data/indexed_dataset.h"

namespace convoy::data {

// Lengths of documents in tokens; a percentile is the nearest rank.
struct LengthBin {
  std::int64_t first = 0, last = 0;  // lengths
  std::int64_t documents = 0;
};
struct LengthStatistics {
  std::int64_t least = 0, p10 = 0, median = 0, p90 = 0, p99 = 0, most = 0;
  double mean = 0.0;
  std::vector<LengthBin> bins;  // [2^i, 2^(i+1) - 1] from the shortest document's to the longest's without a gap; 0 has its own
};
LengthStatistics length_statistics(const IndexedDataset& dataset);

// How many entries a table of counts may have: a count for each id, or each pair of ids, 32 bytes at most. What does not fit is
// counted in several passes, whatever the ids are.
constexpr std::size_t kMostCounts = std::size_t{1} << 23;

// How often the ids occur that do, the most frequent first: few numbers, for of N tokens there are at most sqrt(2 N) frequencies.
struct Frequency {
  std::int64_t times = 0, ids = 0;  // so many ids occur so often
  bool operator==(const Frequency&) const = default;
};
struct TokenFrequencies {
  std::vector<Frequency> falling;
  std::int64_t distinct = 0;  // ids in all
};
TokenFrequencies token_frequencies(const IndexedDataset& dataset, std::size_t most_entries = kMostCounts);

// Cross-entropy in nats a token of a stream under counts of another (or the same), with add-0.1 smoothing over the vocabulary V:
//   unigram p(w) = (c(w) + 0.1) / (N + 0.1 V); bigram p(w | v) = (c(v w) + 0.1) / (c(v .) + 0.1 V),
// averaged over the tokens that have a predecessor in the stream, documents following each other as in training.
struct CrossEntropy {
  double unigram = 0.0;
  double bigram = 0.0;
  std::int64_t tokens = 0;  // measured
};

constexpr double kSmoothing = 0.1;

// The vocabulary that both datasets share: their metadata's, or the largest id + 1 where there are none. DataError if the
// metadata name different tokenizers, or an id lies beyond the vocabulary.
std::int64_t shared_vocabulary(const IndexedDataset& counted, const IndexedDataset& measured);

CrossEntropy cross_entropy(const IndexedDataset& counted, const IndexedDataset& measured, std::int64_t vocabulary,
                           std::size_t most_entries = kMostCounts);

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/dataset_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>

#include "libcore/base/error.h"
#include "libcore/base/random.h"
#include "libcore/data/pair_counter.h"

namespace convoy::data {
namespace {

constexpr std::int64_t kBlockTokens = 1 << 16;

// Calls `visit(previous, token)` for every token that has a predecessor, until it returns false.
template <class Visit>
bool for_each_pair(const IndexedDataset& dataset, const Visit& visit) {
  std::vector<std::int32_t> block(static_cast<std::size_t>(std::min(kBlockTokens, dataset.tokens())));
  std::int32_t previous = -1;
  for (std::int64_t at = 0; at < dataset.tokens(); at += kBlockTokens) {
    const std::span<std::int32_t> part(block.data(), static_cast<std::size_t>(std::min(kBlockTokens, dataset.tokens() - at)));
    dataset.read(at, part);
    for (const std::int32_t token : part) {
      if (previous >= 0 && !visit(previous, token)) return false;
      previous = token;
    }
    dataset.release(at, static_cast<std::int64_t>(part.size()));
  }
  return true;
}

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
}

// Which of `parts` passes counts the pairs that start with `token`.
std::uint64_t part_of(std::int32_t token, std::uint64_t parts) { return mix64(static_cast<std::uint64_t>(token)) % parts; }

struct UnigramCounts {
  std::vector<std::int64_t> all;          // c(w)
  std::vector<std::int64_t> predecessor;  // c(v .): all but the last token of the stream
  std::int64_t tokens = 0;
};

UnigramCounts count_tokens(const IndexedDataset& dataset, std::int64_t vocabulary) {
  UnigramCounts counts;
  counts.predecessor.resize(static_cast<std::size_t>(vocabulary));
  for_each_pair(dataset, [&](std::int32_t previous, std::int32_t) {
    ++counts.predecessor[static_cast<std::size_t>(previous)];
    return true;
  });
  counts.all = counts.predecessor;
  std::vector<std::int32_t> last(1);
  if (dataset.tokens() > 0) {
    dataset.read(dataset.tokens() - 1, last);
    ++counts.all[static_cast<std::size_t>(last[0])];
  }
  counts.tokens = dataset.tokens();
  return counts;
}

double unigram_nats(const UnigramCounts& counts, const IndexedDataset& measured, std::int64_t vocabulary) {
  const double denominator = static_cast<double>(counts.tokens) + kSmoothing * static_cast<double>(vocabulary);
  double sum = 0.0;
  for_each_pair(measured, [&](std::int32_t, std::int32_t token) {
    sum -= std::log((static_cast<double>(counts.all[static_cast<std::size_t>(token)]) + kSmoothing) / denominator);
    return true;
  });
  return sum;
}

struct BigramPasses {
  const IndexedDataset& counted;
  const IndexedDataset& measured;
  const UnigramCounts& unigrams;
  std::int64_t vocabulary;
  PairCounter pairs;

  // False if the pairs of this part do not fit the table.
  bool count(std::uint64_t part, std::uint64_t parts) {
    pairs.clear();
    return for_each_pair(counted, [&](std::int32_t left, std::int32_t right) {
      return part_of(left, parts) != part || pairs.add(pair_key(left, right));
    });
  }

  double measure(std::uint64_t part, std::uint64_t parts) const {
    double sum = 0.0;
    for_each_pair(measured, [&](std::int32_t left, std::int32_t right) {
      if (part_of(left, parts) != part) return true;
      const double seen = static_cast<double>(pairs.count(pair_key(left, right)));
      const double before = static_cast<double>(unigrams.predecessor[static_cast<std::size_t>(left)]);
      sum -= std::log((seen + kSmoothing) / (before + kSmoothing * static_cast<double>(vocabulary)));
      return true;
    });
    return sum;
  }

  double run() {
    for (std::uint64_t parts = 1;; parts *= 2) {
      check(parts <= (std::uint64_t{1} << 32), "a table must hold the pairs of one token");
      double sum = 0.0;
      std::uint64_t part = 0;
      while (part < parts && count(part, parts)) sum += measure(part++, parts);
      if (part == parts) return sum;
    }
  }
};

void check_ids(const IndexedDataset& dataset, std::int64_t vocabulary) {
  const std::int32_t largest = dataset.largest_id();
  if (largest < vocabulary) return;
  throw DataError(fmt::format("{}: token id {} is beyond the vocabulary of {}: the dataset and its metadata do not belong together",
                              bin_path(dataset.prefix()).string(), largest, vocabulary));
}

std::vector<LengthBin> bins_of(const std::map<std::int64_t, std::int64_t>& histogram) {
  std::vector<LengthBin> bins;
  const auto bin_behind = [&bins](std::int64_t length) {
    const std::int64_t first = bins.empty() ? static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(length))) : bins.back().last + 1;
    bins.push_back({first, std::max<std::int64_t>(0, 2 * first - 1), 0});
  };
  for (const auto& [length, documents] : histogram) {
    while (bins.empty() || bins.back().last < length) bin_behind(length);
    bins.back().documents += documents;
  }
  return bins;
}

}  // namespace

LengthStatistics length_statistics(const IndexedDataset& dataset) {
  // Distinct lengths are at most about the square root of twice the tokens, so this stays small.
  std::map<std::int64_t, std::int64_t> histogram;
  for (std::int64_t d = 0; d < dataset.documents(); ++d) {
    const auto [begin, end] = dataset.document(d);
    ++histogram[end - begin];
  }
  LengthStatistics result;
  if (histogram.empty()) return result;
  const auto percentile = [&](double share) {
    const auto rank = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(share * static_cast<double>(dataset.documents()))));
    std::int64_t seen = 0;
    for (const auto& [length, documents] : histogram) {
      if ((seen += documents) >= rank) return length;
    }
    return histogram.rbegin()->first;
  };
  result.least = histogram.begin()->first;
  result.p10 = percentile(0.1);
  result.median = percentile(0.5);
  result.p90 = percentile(0.9);
  result.p99 = percentile(0.99);
  result.most = histogram.rbegin()->first;
  result.mean = static_cast<double>(dataset.tokens()) / static_cast<double>(dataset.documents());
  result.bins = bins_of(histogram);
  return result;
}

TokenFrequencies token_frequencies(const IndexedDataset& dataset, std::int64_t vocabulary) {
  TokenFrequencies result{count_tokens(dataset, vocabulary).all};
  std::erase(result.falling, 0);
  std::sort(result.falling.begin(), result.falling.end(), std::greater<>());
  return result;
}

std::int64_t shared_vocabulary(const IndexedDataset& counted, const IndexedDataset& measured) {
  const auto& a = counted.meta();
  const auto& b = measured.meta();
  if (a && b && a->tokenizer_sha256 != b->tokenizer_sha256) {
    throw DataError(fmt::format("{} and {} were encoded by different tokenizers (sha256 {:.12}... and {:.12}...): their counts cannot "
                                "be compared",
                                counted.prefix().string(), measured.prefix().string(), a->tokenizer_sha256, b->tokenizer_sha256));
  }
  const std::int64_t vocabulary = a   ? a->vocabulary
                                  : b ? b->vocabulary
                                      : std::int64_t{std::max(counted.largest_id(), measured.largest_id())} + 1;
  check_ids(counted, vocabulary);
  check_ids(measured, vocabulary);
  return vocabulary;
}

CrossEntropy cross_entropy(const IndexedDataset& counted, const IndexedDataset& measured, std::int64_t vocabulary,
                           std::size_t most_pairs) {
  CrossEntropy result;
  result.tokens = std::max<std::int64_t>(0, measured.tokens() - 1);
  if (result.tokens == 0) return result;
  const UnigramCounts counts = count_tokens(counted, vocabulary);
  const auto tokens = static_cast<double>(result.tokens);
  result.unigram = unigram_nats(counts, measured, vocabulary) / tokens;
  result.bigram = BigramPasses{counted, measured, counts, vocabulary, PairCounter(most_pairs)}.run() / tokens;
  return result;
}

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/dataset_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/random.h"
#include "libcore/data/pair_counter.h"

namespace convoy::data {
namespace {

constexpr std::int64_t kBlockTokens = 1 << 16;

// Calls `visit(token)` for every token, until it returns false.
template <class Visit>
bool for_each_token(const IndexedDataset& dataset, const Visit& visit) {
  std::vector<std::int32_t> block(static_cast<std::size_t>(std::min(kBlockTokens, dataset.tokens())));
  for (std::int64_t at = 0; at < dataset.tokens(); at += kBlockTokens) {
    const std::span<std::int32_t> part(block.data(), static_cast<std::size_t>(std::min(kBlockTokens, dataset.tokens() - at)));
    dataset.read(at, part);
    for (const std::int32_t token : part) {
      if (!visit(token)) return false;
    }
    dataset.release(at, static_cast<std::int64_t>(part.size()));
  }
  return true;
}

// Calls `visit(previous, token)` for every token that has a predecessor, until it returns false.
template <class Visit>
bool for_each_pair(const IndexedDataset& dataset, const Visit& visit) {
  std::int32_t previous = -1;
  return for_each_token(dataset, [&](std::int32_t token) {
    const std::int32_t left = std::exchange(previous, token);
    return left < 0 || visit(left, token);
  });
}

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
}

// Of a token by itself: no id is negative.
std::uint64_t single_key(std::int32_t token) { return pair_key(token, -1); }

// Which of `parts` passes counts a token, and the pairs that start with it.
std::uint64_t part_of(std::int32_t token, std::uint64_t parts) { return mix64(static_cast<std::uint64_t>(token)) % parts; }

// Counts in one bounded table, in as many passes as that takes: `count(part, parts)` is false if the counts of a part do not
// fit, and then all is done again with twice the parts, after `restart()`; `use(part, parts)` gets what was counted.
template <class Restart, class Count, class Use>
void in_passes(const Restart& restart, const Count& count, const Use& use) {
  for (std::uint64_t parts = 1;; parts *= 2) {
    check(parts <= (std::uint64_t{1} << 32), "a table must hold the pairs of one token");
    restart();
    std::uint64_t part = 0;
    while (part < parts && count(part, parts)) use(part++, parts);
    if (part == parts) return;
  }
}

// The tokens of one part, each as often as it occurs.
bool count_tokens(const IndexedDataset& dataset, std::uint64_t part, std::uint64_t parts, PairCounter& counts) {
  counts.clear();
  return for_each_token(dataset, [&](std::int32_t token) { return part_of(token, parts) != part || counts.add(single_key(token)); });
}

double unigram_nats(const IndexedDataset& counted, const IndexedDataset& measured, std::int64_t vocabulary, PairCounter& counts) {
  const double denominator = static_cast<double>(counted.tokens()) + kSmoothing * static_cast<double>(vocabulary);
  double sum = 0.0;
  in_passes([&] { sum = 0.0; }, [&](std::uint64_t part, std::uint64_t parts) { return count_tokens(counted, part, parts, counts); },
            [&](std::uint64_t part, std::uint64_t parts) {
              for_each_pair(measured, [&](std::int32_t, std::int32_t token) {
                if (part_of(token, parts) == part) sum -= std::log((static_cast<double>(counts.count(single_key(token))) + kSmoothing) / denominator);
                return true;
              });
            });
  return sum;
}

double bigram_nats(const IndexedDataset& counted, const IndexedDataset& measured, std::int64_t vocabulary, PairCounter& counts) {
  double sum = 0.0;
  const auto count = [&](std::uint64_t part, std::uint64_t parts) {
    counts.clear();
    return for_each_pair(counted, [&](std::int32_t left, std::int32_t right) {
      return part_of(left, parts) != part || (counts.add(pair_key(left, right)) && counts.add(single_key(left)));
    });
  };
  const auto measure = [&](std::uint64_t part, std::uint64_t parts) {
    for_each_pair(measured, [&](std::int32_t left, std::int32_t right) {
      if (part_of(left, parts) != part) return true;
      const auto seen = static_cast<double>(counts.count(pair_key(left, right))), before = static_cast<double>(counts.count(single_key(left)));
      sum -= std::log((seen + kSmoothing) / (before + kSmoothing * static_cast<double>(vocabulary)));
      return true;
    });
  };
  in_passes([&] { sum = 0.0; }, count, measure);
  return sum;
}

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

TokenFrequencies token_frequencies(const IndexedDataset& dataset, std::size_t most_entries) {
  std::map<std::int64_t, std::int64_t, std::greater<>> ids;  // how many ids occur so often
  PairCounter counts(most_entries);
  in_passes([&] { ids.clear(); }, [&](std::uint64_t part, std::uint64_t parts) { return count_tokens(dataset, part, parts, counts); },
            [&](std::uint64_t, std::uint64_t) { counts.for_each([&ids](std::int64_t times) { ++ids[times]; }); });
  TokenFrequencies result;
  for (const auto& [times, number] : ids) {
    result.falling.push_back({times, number});
    result.distinct += number;
  }
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
                           std::size_t most_entries) {
  CrossEntropy result;
  result.tokens = std::max<std::int64_t>(0, measured.tokens() - 1);
  if (result.tokens == 0) return result;
  PairCounter counts(most_entries);
  const auto tokens = static_cast<double>(result.tokens);
  result.unigram = unigram_nats(counted, measured, vocabulary, counts) / tokens;
  result.bigram = bigram_nats(counted, measured, vocabulary, counts) / tokens;
  return result;
}

}  // namespace convoy::data

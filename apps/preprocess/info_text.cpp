// SPDX-License-Identifier: Apache-2.0
// What `info` says as text and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "apps/preprocess/info_facts.h"
#include "libcore/base/json.h"
#include "libcore/base/units.h"
#include "libcore/data/index_format.h"

namespace convoy::apps::preprocess {
namespace {

std::int64_t size_of_file(const Path& path) { return static_cast<std::int64_t>(std::filesystem::file_size(path)); }

std::string length_json(const data::LengthStatistics& lengths) {
  std::vector<std::string> bins;
  for (const data::LengthBin& bin : lengths.bins)
    bins.push_back(JsonObject().add("from", bin.first).add("to", bin.last).add("documents", bin.documents).text());
  return JsonObject()
      .add("min", lengths.least)
      .add("p10", lengths.p10)
      .add("p50", lengths.median)
      .add("p90", lengths.p90)
      .add("p99", lengths.p99)
      .add("max", lengths.most)
      .add("mean", lengths.mean)
      .add_raw("histogram", json_array(bins))
      .text();
}

// A bar of text for each bin, the longest one `kColumns` wide.
void print_histogram(const data::LengthStatistics& lengths) {
  constexpr double kColumns = 40;
  std::int64_t most = 1;
  for (const data::LengthBin& bin : lengths.bins) most = std::max(most, bin.documents);
  for (const data::LengthBin& bin : lengths.bins) {
    const double share = static_cast<double>(bin.documents) / static_cast<double>(most);
    const auto columns = static_cast<std::size_t>(share * kColumns + 0.5);
    const std::string range = bin.first == bin.last ? fmt::format("{}", bin.first) : fmt::format("{}-{}", bin.first, bin.last);
    const std::string bar = bin.documents > 0 && columns == 0 ? "." : std::string(columns, '#');
    fmt::print("{}\n", fmt::format("    {:>23} {:>12} {}", range, bin.documents, bar));
  }
}

}  // namespace

std::int64_t Facts::bin_bytes() const { return size_of_file(data::bin_path(dataset.prefix())); }
std::int64_t Facts::idx_bytes() const { return size_of_file(data::idx_path(dataset.prefix())); }

double Facts::vocabulary_share() const {
  return vocabulary > 0 ? static_cast<double>(frequencies.distinct) / static_cast<double>(vocabulary) : 0.0;
}

std::optional<double> Facts::text_bytes_a_token() const {
  if (!dataset.meta() || !dataset.meta()->text_bytes || dataset.tokens() == 0) return std::nullopt;
  return static_cast<double>(*dataset.meta()->text_bytes) / static_cast<double>(dataset.tokens());
}

std::string json_of(const Facts& facts) {
  const auto number = [](const std::optional<double>& value) { return value ? json_number(*value) : std::string("null"); };
  JsonObject json;
  json.add("prefix", facts.prefix)
      .add("documents", facts.dataset.documents())
      .add("sequences", facts.dataset.sequences())
      .add("tokens", facts.dataset.tokens())
      .add("dtype", data::name_of(facts.dataset.token_type()))
      .add("vocab_size", facts.vocabulary)
      .add("bin_bytes", facts.bin_bytes())
      .add("idx_bytes", facts.idx_bytes())
      .add_raw("length", length_json(facts.lengths))
      .add_raw("bytes_per_token", number(facts.text_bytes_a_token()))
      .add("distinct_ids", facts.frequencies.distinct)
      .add("vocab_share", facts.vocabulary_share());
  if (facts.dataset.meta()) {
    json.add("tokenizer_sha256", facts.dataset.meta()->tokenizer_sha256);
    const auto& eos = facts.dataset.meta()->eos_id;
    if (eos) json.add("eos_id", static_cast<int>(*eos));
  }
  const bool measured = facts.entropy.tokens > 0;
  json.add_raw("unigram_nats", measured ? json_number(facts.entropy.unigram) : "null");
  json.add_raw("bigram_nats", measured ? json_number(facts.entropy.bigram) : "null");
  return json.text();
}

void print_facts(const Facts& facts) {
  const data::LengthStatistics& l = facts.lengths;
  fmt::print("{}\n", facts.prefix);
  fmt::print("  documents    {}\n", facts.dataset.documents());
  if (facts.dataset.sequences() != facts.dataset.documents()) fmt::print("  sequences    {}\n", facts.dataset.sequences());
  fmt::print("  tokens       {} ({}), vocabulary {}\n", facts.dataset.tokens(), data::name_of(facts.dataset.token_type()), facts.vocabulary);
  fmt::print("  ids          {} different ones, {:.1f} % of the vocabulary\n", facts.frequencies.distinct, 100 * facts.vocabulary_share());
  if (const auto ratio = facts.text_bytes_a_token()) fmt::print("  text         {:.3f} bytes a token\n", *ratio);
  fmt::print("  bytes        {} and {} of index\n", format_bytes(static_cast<double>(facts.bin_bytes())),
             format_bytes(static_cast<double>(facts.idx_bytes())));
  fmt::print("  lengths      min {}, 10 % {}, median {}, 90 % {}, 99 % {}, max {}, mean {:.1f} tokens\n", l.least, l.p10, l.median, l.p90, l.p99,
             l.most, l.mean);
  print_histogram(l);
  if (facts.dataset.meta()) fmt::print("  tokenizer    sha256 {}\n", facts.dataset.meta()->tokenizer_sha256);
}

void print_entropy(const std::string& on, const data::CrossEntropy& entropy) {
  if (entropy.tokens == 0) {
    fmt::print("  cross-entropy on {}: not measured, no token has a predecessor\n", on);
    return;
  }
  fmt::print("  cross-entropy on {}, nats a token: unigram {:.4f}, bigram {:.4f} (add-0.1)\n", on, entropy.unigram, entropy.bigram);
}

}  // namespace convoy::apps::preprocess

// SPDX-License-Identifier: Apache-2.0
// convoy-preprocess info: what a dataset holds.
#include <fmt/format.h>

#include <memory>

#include "apps/preprocess/commands.h"
#include "libcore/base/json.h"
#include "libcore/base/units.h"
#include "libcore/data/dataset_statistics.h"
#include "libcore/data/index_format.h"

namespace convoy::apps::preprocess {
namespace {

using data::IndexedDataset;

struct Flags {
  std::string prefix;
  std::optional<std::string> against;
  bool foreign = false;
};

std::int64_t size_of_file(const Path& path) { return static_cast<std::int64_t>(std::filesystem::file_size(path)); }

struct Facts {
  std::string prefix;
  const IndexedDataset& dataset;
  std::int64_t vocabulary;
  data::LengthStatistics lengths;
  data::CrossEntropy entropy;

  std::int64_t bin_bytes() const { return size_of_file(data::bin_path(dataset.prefix())); }
  std::int64_t idx_bytes() const { return size_of_file(data::idx_path(dataset.prefix())); }
};

std::string json_of(const Facts& facts) {
  const data::LengthStatistics& lengths = facts.lengths;
  JsonObject length;
  length.add("min", lengths.least).add("p50", lengths.median).add("p90", lengths.p90).add("p99", lengths.p99);
  length.add("max", lengths.most).add("mean", lengths.mean);
  JsonObject json;
  json.add("prefix", facts.prefix)
      .add("documents", facts.dataset.documents())
      .add("sequences", facts.dataset.sequences())
      .add("tokens", facts.dataset.tokens())
      .add("dtype", data::name_of(facts.dataset.token_type()))
      .add("vocab_size", facts.vocabulary)
      .add("bin_bytes", facts.bin_bytes())
      .add("idx_bytes", facts.idx_bytes())
      .add_raw("length", length.text());
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
  fmt::print("  bytes        {} and {} of index\n", format_bytes(static_cast<double>(facts.bin_bytes())),
             format_bytes(static_cast<double>(facts.idx_bytes())));
  fmt::print("  lengths      min {}, median {}, 90 % {}, 99 % {}, max {}, mean {:.1f} tokens\n", l.least, l.median, l.p90, l.p99, l.most,
             l.mean);
  if (facts.dataset.meta()) fmt::print("  tokenizer    sha256 {}\n", facts.dataset.meta()->tokenizer_sha256);
}

void print_entropy(const std::string& on, const data::CrossEntropy& entropy) {
  if (entropy.tokens == 0) {
    fmt::print("  cross-entropy on {}: not measured, no token has a predecessor\n", on);
    return;
  }
  fmt::print("  cross-entropy on {}, nats a token: unigram {:.4f}, bigram {:.4f} (add-0.1)\n", on, entropy.unigram, entropy.bigram);
}

Facts facts_of(const std::string& prefix, const IndexedDataset& counted, const IndexedDataset& measured, std::int64_t vocabulary) {
  return {prefix, measured, vocabulary, data::length_statistics(measured), data::cross_entropy(counted, measured, vocabulary)};
}

int run(const Flags& flags, const app::Session& session) {
  const IndexedDataset dataset(flags.prefix, flags.foreign);
  std::optional<IndexedDataset> other;
  if (flags.against) other.emplace(*flags.against, flags.foreign);
  const std::int64_t vocabulary = data::shared_vocabulary(dataset, other ? *other : dataset);
  const Facts own = facts_of(flags.prefix, dataset, dataset, vocabulary);
  std::optional<Facts> against;
  if (other) against.emplace(facts_of(*flags.against, dataset, *other, vocabulary));
  if (session.json) {
    std::string json = json_of(own);
    if (against) json.insert(json.size() - 1, ",\"against\":" + json_of(*against));
    fmt::print("{}\n", json);
    return 0;
  }
  print_facts(own);
  print_entropy("itself", own.entropy);
  if (against) {
    print_facts(*against);
    print_entropy("it, counted on " + flags.prefix, against->entropy);
  }
  return 0;
}

}  // namespace

app::Command info_command() {
  const auto flags = std::make_shared<Flags>();
  return {.name = "info",
          .purpose = "print a dataset's sizes, document lengths, and unigram and bigram cross-entropies",
          .details =
              "The cross-entropies are what a language model has to beat: nats a token under counts of PREFIX with add-0.1 smoothing "
              "over the vocabulary, measured on PREFIX itself and on the dataset of --against.",
          .examples = {"convoy-preprocess info data/docs.train --against data/docs.valid"},
          .options = {app::positional("PREFIX", flags->prefix, "dataset: PREFIX.bin, PREFIX.idx, PREFIX.meta.json"),
                      app::text("against", "PREFIX", flags->against, "measure the cross-entropies on this dataset too"),
                      app::toggle("foreign", flags->foreign, "pairs of other tools: no metadata, any shape of documents")},
          .has_json = true,
          .run = [flags](const app::Session& session) { return run(*flags, session); }};
}

}  // namespace convoy::apps::preprocess

// SPDX-License-Identifier: Apache-2.0
// convoy-preprocess info: what a dataset holds.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "apps/preprocess/commands.h"
#include "apps/preprocess/info_facts.h"
#include "libcore/base/error.h"
#include "libcore/base/file.h"

namespace convoy::apps::preprocess {
namespace {

using data::IndexedDataset;

struct Flags {
  std::string prefix;
  std::optional<std::string> against, html;
  bool foreign = false;
};

Facts facts_of(const std::string& prefix, const IndexedDataset& counted, const IndexedDataset& measured, std::int64_t vocabulary) {
  return {prefix,
          measured,
          vocabulary,
          data::length_statistics(measured),
          data::token_frequencies(measured),
          data::cross_entropy(counted, measured, vocabulary)};
}

// A page in the place of the tokens would be the end of them.
void refuse_own_files(const std::string& prefix, const std::string& page) {
  for (const char* suffix : {".bin", ".idx", ".meta.json"}) {
    std::error_code ignored;
    if (!std::filesystem::equivalent(prefix + suffix, page, ignored)) continue;
    throw ConfigError(fmt::format("--html {}: it is a file of the dataset; name another, {}.html for example", page, prefix));
  }
}

int run(const Flags& flags, const app::Session& session) {
  const IndexedDataset dataset(flags.prefix, flags.foreign);
  std::optional<AtomicFile> page;  // at once: a place that cannot be written is known before the counting
  if (flags.html) {
    refuse_own_files(flags.prefix, *flags.html);
    page.emplace(*flags.html);
  }
  std::optional<IndexedDataset> other;
  if (flags.against) other.emplace(*flags.against, flags.foreign);
  const std::int64_t vocabulary = data::shared_vocabulary(dataset, other ? *other : dataset);
  const Facts own = facts_of(flags.prefix, dataset, dataset, vocabulary);
  std::optional<Facts> against;
  if (other) against.emplace(facts_of(*flags.against, dataset, *other, vocabulary));
  if (page) {
    page->write(page_of(own));
    page->commit();
  }
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
          .purpose = "print a dataset's sizes, document lengths, token counts, and unigram and bigram cross-entropies",
          .details =
              "The cross-entropies are what a language model has to beat: nats a token under counts of PREFIX with add-0.1 smoothing "
              "over the vocabulary, measured on PREFIX itself and on the dataset of --against.\n"
              "--html FILE is one page for a browser about PREFIX, with its document lengths and token frequencies drawn; it needs nothing from outside.",
          .examples = {"convoy-preprocess info data/docs.train --against data/docs.valid", "convoy-preprocess info data/corpus --html corpus.html"},
          .options = {app::positional("PREFIX", flags->prefix, "dataset: PREFIX.bin, PREFIX.idx, PREFIX.meta.json"),
                      app::text("against", "PREFIX", flags->against, "measure the cross-entropies on this dataset too"),
                      app::text("html", "FILE", flags->html, "write a page for a browser too"),
                      app::toggle("foreign", flags->foreign, "pairs of other tools: no metadata, any shape of documents")},
          .has_json = true,
          .run = [flags](const app::Session& session) { return run(*flags, session); }};
}

}  // namespace convoy::apps::preprocess

// SPDX-License-Identifier: Apache-2.0
// convoy-preprocess cat: documents of a dataset, as ids or as text.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <memory>

#include "apps/preprocess/commands.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/data/document_text.h"
#include "libcore/data/indexed_dataset.h"
#include "libcore/data/tokenizer.h"

namespace convoy::apps::preprocess {
namespace {

struct Flags {
  std::string prefix, document;
  std::optional<std::string> tokenizer;
  bool decode = false, foreign = false;
};

struct DocumentRange {
  std::int64_t first = 0, last = 0;
  bool single = true;
};

bool parse_number(std::string_view text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0;
}

DocumentRange parse_range(const std::string& text, std::int64_t documents) {
  DocumentRange range;
  const std::size_t dash = text.find('-');
  range.single = dash == std::string::npos;
  bool good = parse_number(std::string_view(text).substr(0, dash), range.first);
  range.last = range.first;
  if (!range.single) good = good && parse_number(std::string_view(text).substr(dash + 1), range.last);
  if (!good || range.last < range.first) {
    throw ConfigError(fmt::format("--document {}: expected a number from 0, or a range such as 3-7", text));
  }
  if (range.last >= documents) {
    throw ConfigError(fmt::format("--document {}: the dataset has {} documents, numbered from 0 to {}", text, documents, documents - 1));
  }
  return range;
}

void check_tokenizer(const data::IndexedDataset& dataset, const data::Tokenizer& tokenizer, const std::string& name) {
  if (!dataset.meta() || dataset.meta()->tokenizer_sha256 == tokenizer.sha256()) return;
  throw DataError(fmt::format("{}: its sha256 is {}, but {} was encoded by a tokenizer with sha256 {}: decoding would give another text",
                              name, tokenizer.sha256(), dataset.prefix().string(), dataset.meta()->tokenizer_sha256));
}

void put(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void put_ids(const data::IndexedDataset& dataset, std::int64_t document, std::string_view separator) {
  bool first = true;
  data::for_each_ids(dataset, document, [&](std::span<const std::int32_t> ids) {
    put(fmt::format("{}{}", first ? "" : separator, fmt::join(ids, separator)));
    first = false;
  });
}

void put_json_row(const data::IndexedDataset& dataset, std::int64_t document, const data::Tokenizer* tokenizer) {
  put(fmt::format("{{\"document\":{},\"ids\":[", document));
  put_ids(dataset, document, ",");
  put("]");
  if (tokenizer != nullptr) {
    put(",\"text\":\"");
    data::for_each_text(dataset, document, *tokenizer, [](std::string_view text) {
      const std::string quoted = json_quoted(text);
      put(std::string_view(quoted).substr(1, quoted.size() - 2));
    });
    put("\"");
  }
  put("}\n");
}

// A single document's text goes out as it is, so that it can be compared with its source; a terminal and a list of documents
// get line ends.
void put_text(const data::IndexedDataset& dataset, std::int64_t document, const data::Tokenizer& tokenizer, bool single) {
  bool ended = false;
  data::for_each_text(dataset, document, tokenizer, [&ended](std::string_view text) {
    put(text);
    if (!text.empty()) ended = text.back() == '\n';
  });
  if (single && ::isatty(STDOUT_FILENO) == 0) return;
  if (!ended) put("\n");
}

int run(const Flags& flags, const app::Session& session) {
  if (flags.decode != flags.tokenizer.has_value()) {
    throw ConfigError(flags.decode ? "--decode needs --tokenizer M.model, the model that encoded the dataset"
                                   : "--tokenizer is of use with --decode only");
  }
  const data::IndexedDataset dataset(flags.prefix, flags.foreign);
  const DocumentRange range = parse_range(flags.document, dataset.documents());
  std::unique_ptr<data::Tokenizer> tokenizer;
  if (flags.decode) {
    tokenizer = std::make_unique<data::Tokenizer>(*flags.tokenizer);
    check_tokenizer(dataset, *tokenizer, *flags.tokenizer);
  }
  for (std::int64_t d = range.first; d <= range.last; ++d) {
    if (session.json) {
      put_json_row(dataset, d, tokenizer.get());
    } else if (tokenizer) {
      put_text(dataset, d, *tokenizer, range.single);
    } else {
      put_ids(dataset, d, " ");
      put("\n");
    }
  }
  return 0;
}

}  // namespace

app::Command cat_command() {
  const auto flags = std::make_shared<Flags>();
  return {.name = "cat",
          .purpose = "print documents of a dataset, as token ids or decoded",
          .details = "Documents are numbered from 0. With --json, one object a line.",
          .examples = {"convoy-preprocess cat data/corpus --document 0",
                       "convoy-preprocess cat data/corpus --document 0-2 --decode --tokenizer tokenizer.model"},
          .options = {app::positional("PREFIX", flags->prefix, "dataset: PREFIX.bin, PREFIX.idx, PREFIX.meta.json"),
                      app::text("document", "N", flags->document, "number of a document, or a range such as 3-7").required(),
                      app::toggle("decode", flags->decode, "print text instead of ids"),
                      app::text("tokenizer", "M.model", flags->tokenizer, "with --decode: the model that encoded the dataset"),
                      app::toggle("foreign", flags->foreign, "a pair of another tool: no metadata, any shape of documents")},
          .has_json = true,
          .run = [flags](const app::Session& session) { return run(*flags, session); }};
}

}  // namespace convoy::apps::preprocess

// SPDX-License-Identifier: Apache-2.0
// convoy-preprocess verify: is a dataset whole?
#include <fmt/format.h>

#include <memory>

#include "apps/preprocess/commands.h"
#include "libcore/app/progress.h"
#include "libcore/base/json.h"
#include "libcore/data/dataset_check.h"

namespace convoy::apps::preprocess {
namespace {

struct Flags {
  std::string prefix;
  bool foreign = false;
};

int run(const Flags& flags, const app::Session& session) {
  std::unique_ptr<app::Progress> progress;
  const auto show = [&](std::int64_t done, std::int64_t total) {
    if (!progress) progress = std::make_unique<app::Progress>("verify", total, "tokens");
    progress->update(done);
  };
  const data::DatasetCheck check = data::check_dataset(flags.prefix, flags.foreign, show);
  if (session.json) {
    fmt::print("{}\n", JsonObject()
                           .add("prefix", flags.prefix)
                           .add("ok", true)
                           .add("documents", check.documents)
                           .add("sequences", check.sequences)
                           .add("tokens", check.tokens)
                           .add("vocab_size", check.vocabulary)
                           .add("max_id", static_cast<int>(check.largest_id))
                           .add("checksums", check.has_checksums)
                           .text());
    return 0;
  }
  fmt::print("{}: whole: {} documents, {} tokens, largest id {}, {}\n", flags.prefix, check.documents, check.tokens, check.largest_id,
             check.has_checksums ? "checksums match" : "no metadata to compare checksums with");
  return 0;
}

}  // namespace

app::Command verify_command() {
  const auto flags = std::make_shared<Flags>();
  return {.name = "verify",
          .purpose = "check every byte of a dataset: structure, checksums, ids",
          .details = "Exit code 3 comes with a message that names what is wrong, and where.",
          .examples = {"convoy-preprocess verify data/corpus"},
          .options = {app::positional("PREFIX", flags->prefix, "dataset: PREFIX.bin, PREFIX.idx, PREFIX.meta.json"),
                      app::toggle("foreign", flags->foreign, "a pair of another tool: no metadata, any shape of documents")},
          .has_json = true,
          .run = [flags](const app::Session& session) { return run(*flags, session); }};
}

}  // namespace convoy::apps::preprocess

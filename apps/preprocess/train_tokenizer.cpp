// SPDX-License-Identifier: Apache-2.0
// convoy-preprocess train-tokenizer: text to a SentencePiece model.
#include <fmt/format.h>

#include <memory>

#include "apps/preprocess/commands.h"
#include "libcore/app/progress.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/data/tokenizer_trainer.h"

namespace convoy::apps::preprocess {
namespace {

struct Flags {
  InputFlags input;
  std::string out, kind = "bpe";
  std::int64_t vocabulary = 32000, sample_bytes = 200'000'000, seed = 1;
  std::vector<std::string> user_symbols;
  double coverage = 0.9999;

  data::TrainTokenizerOptions options() const {
    return {.inputs = input.inputs,
            .read = input.read(),
            .keys = input.keys_or_default(),
            .out = out,
            .kind = kind,
            .vocabulary = vocabulary,
            .sample_bytes = sample_bytes,
            .seed = static_cast<std::uint64_t>(seed),
            .user_symbols = user_symbols,
            .character_coverage = coverage};
  }
};

void tell(std::int64_t count, const char* what) {
  if (count > 0) log_info(fmt::format("{} {}", count, what));
}

int run(const Flags& flags, const app::Session& session) {
  std::unique_ptr<app::Progress> progress;
  const auto show = [&](std::int64_t consumed, std::int64_t total) {
    if (!progress) progress = std::make_unique<app::Progress>("read", total, "bytes");
    progress->update(consumed);
  };
  const data::TrainTokenizerReport report = data::train_tokenizer(flags.options(), show);
  tell(report.counts.sampled_out, "sentences are beyond --sample-bytes and were left out");
  tell(report.counts.split_lines, "long lines were split at a blank");
  log_info(fmt::format("wrote {} ({} pieces, sha256 {:.12}...) in {}", report.model, report.pieces, report.sha256,
                       format_seconds(report.seconds)));
  if (session.json) fmt::print("{}\n", report.json());
  return 0;
}

std::vector<app::Option> options_of(Flags& f) {
  std::vector<app::Option> options = f.input.options();
  const std::vector<app::Option> own{
      app::text("out", "PREFIX", f.out, "writes PREFIX.model and PREFIX.vocab").required(),
      app::count("vocab-size", f.vocabulary, {1, 1'000'000}, "pieces, the 256 bytes and <unk>, <s>, </s> among them"),
      app::choice("model", f.kind, {"bpe", "unigram"}, "kind of the model"),
      app::bytes("sample-bytes", f.sample_bytes, {1}, "train on a seeded sample of the lines of at most this many bytes"),
      app::count("seed", f.seed, {0}, "of the sample"),
      app::texts("user-symbol", "TEXT", f.user_symbols, "a text that is one piece wherever it occurs"),
      app::real("character-coverage", f.coverage, {0.9, 1.0}, "share of the text's characters that get a piece; others become bytes"),
  };
  options.insert(options.end(), own.begin(), own.end());
  return options;
}

}  // namespace

app::Command train_tokenizer_command() {
  const auto flags = std::make_shared<Flags>();
  return {.name = "train-tokenizer",
          .purpose = "train a SentencePiece tokenizer that gives every text back byte for byte",
          .details =
              "Identity normalisation, byte fallback, blanks kept, digits split. The trainer sees lines without their newline, so "
              "that no piece crosses a line; lines of more than 4096 bytes are split at a blank.\n"
              "The same text, options and seed give the same bytes on every machine.",
          .examples = {"convoy-preprocess train-tokenizer docs/ --out tokenizer --vocab-size 1000 --model bpe --sample-bytes 10M"},
          .options = options_of(*flags),
          .has_json = true,
          .run = [flags](const app::Session& session) { return run(*flags, session); }};
}

}  // namespace convoy::apps::preprocess

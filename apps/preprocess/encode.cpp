// SPDX-License-Identifier: Apache-2.0
// convoy-preprocess encode: text to a dataset pair.
#include "libcore/data/encoder.h"

#include <fmt/format.h>

#include <memory>

#include "apps/preprocess/commands.h"
#include "apps/preprocess/interrupt.h"
#include "libcore/app/progress.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"

namespace convoy::apps::preprocess {
namespace {

constexpr int kMostThreads = 1024;

struct Flags {
  InputFlags input;
  std::string tokenizer, out, on_error = "fail", dtype = "auto", split;
  bool append_eos = false, prepend_bos = false, allow_lossy = false;
  int threads = default_threads();
  std::optional<std::int64_t> max_errors;

  data::EncodeOptions options() const {
    return {.inputs = input.inputs,
            .read = input.read(),
            .keys = input.keys_or_default(),
            .tokenizer = tokenizer,
            .out = out,
            .append_eos = append_eos,
            .prepend_bos = prepend_bos,
            .threads = threads,
            .on_error = on_error == "skip"         ? data::OnError::kSkip
                        : on_error == "quarantine" ? data::OnError::kQuarantine
                                                   : data::OnError::kFail,
            .max_errors = max_errors,
            .dtype = dtype,
            .splits = split.empty() ? std::vector<data::Split>{} : data::parse_splits(split),
            .allow_lossy = allow_lossy};
  }
};

void summarize(const data::EncodeReport& report) {
  log_info(fmt::format("{} documents, {} tokens ({}) from {} in {}: {:.1f} MB/s", report.documents, report.tokens, report.dtype,
                       format_bytes(static_cast<double>(report.bytes_in)), format_seconds(report.seconds),
                       report.megabytes_per_second()));
  if (report.empty > 0) log_info(fmt::format("{} documents without tokens were dropped", report.empty));
  if (report.bad_records > 0) log_warning(fmt::format("{} bad records were left out", report.bad_records));
  for (const std::string& output : report.outputs) log_info(fmt::format("wrote {}.bin, .idx and .meta.json", output));
}

int run(const Flags& flags, const app::Session& session) {
  return run_interruptible([&](const std::function<void()>& poll) {
    std::unique_ptr<app::Progress> progress;
    const auto show = [&](std::int64_t consumed, std::int64_t total, std::int64_t tokens) {
      if (!progress) progress = std::make_unique<app::Progress>("encode", total, "bytes");
      progress->update(consumed, fmt::format("{} tokens", format_count(static_cast<double>(tokens))));
    };
    const data::EncodeReport report = data::encode(flags.options(), {.progress = show, .poll = poll});
    if (progress) progress->finish();
    summarize(report);
    if (session.json) fmt::print("{}\n", report.json());
    return 0;
  });
}

std::vector<app::Option> options_of(Flags& f) {
  std::vector<app::Option> options = f.input.options();
  const std::vector<app::Option> own{
      app::text("tokenizer", "M.model", f.tokenizer, "SentencePiece model").required(),
      app::text("out", "PREFIX", f.out, "writes PREFIX.bin, PREFIX.idx and PREFIX.meta.json").required(),
      app::toggle("append-eos", f.append_eos, "end every document with the model's end-of-sentence id"),
      app::toggle("prepend-bos", f.prepend_bos, "begin every document with the model's beginning-of-sentence id"),
      app::count("threads", f.threads, {1, kMostThreads}, "threads that tokenize; the output does not depend on it"),
      app::choice("on-error", f.on_error, {"fail", "skip", "quarantine"},
                  "bad records: stop with exit code 3, leave them out, or list them in PREFIX.quarantine.jsonl too"),
      app::count("max-errors", f.max_errors, {0}, "with skip or quarantine: more bad records than this end the run"),
      app::choice("dtype", f.dtype, {"auto", "u16", "i32"}, "auto: u16 below 65500 pieces, else i32, as Megatron does"),
      checked(app::text("split", "NAME=SHARE,...", f.split, "several pairs PREFIX.NAME, by a hash of the text: train=0.99,valid=0.01"),
              [](const std::string& split) { data::parse_splits(split); }),
      app::toggle("allow-lossy", f.allow_lossy, "do not warn about a tokenizer that loses newlines or blanks"),
  };
  options.insert(options.end(), own.begin(), own.end());
  return options;
}

}  // namespace

app::Command encode_command() {
  const auto flags = std::make_shared<Flags>();
  return {.name = "encode",
          .purpose = "tokenize text or JSON Lines into a dataset pair that convoy-train and Megatron read",
          .details =
              "Documents keep the order of the inputs. A document without tokens is dropped and counted. Bytes that are no UTF-8 "
              "are a bad record in JSON Lines and become U+FFFD in text.\n"
              "The pair is committed at the end: files get their names when they are complete, the metadata last. A pair of "
              "this program's under the same name is replaced; one without metadata is not.",
          .examples = {"convoy-preprocess encode corpus.jsonl.zst --tokenizer tokenizer.model --out data/corpus --append-eos",
                       "convoy-preprocess encode docs/ --document-separator blank-line --tokenizer tokenizer.model --out data/docs "
                       "--append-eos --split train=0.9,valid=0.1"},
          .options = options_of(*flags),
          .has_json = true,
          .run = [flags](const app::Session& session) { return run(*flags, session); }};
}

}  // namespace convoy::apps::preprocess

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "apps/preprocess/commands.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/data/duplicates.h"
#include "libcore/data/json_record.h"

namespace convoy::apps::preprocess {

std::vector<app::Option> EncodeFlags::options() {
  std::vector<app::Option> options = input.options();
  const std::vector<app::Option> own{
      app::text("tokenizer", "M.model", tokenizer, "SentencePiece model, or a tokenizer.json with a byte-level BPE (GPT-2, Llama 3, Qwen 2)"),
      app::toggle("append-eos", append_eos, "end every document with the model's end-of-sentence id"),
      app::toggle("prepend-bos", prepend_bos, "begin every document with the model's beginning-of-sentence id"),
      app::choice("on-error", on_error, {"fail", "skip", "quarantine"},
                  "bad records: stop with exit code 3, leave them out, or list them in PREFIX.quarantine.jsonl too"),
      app::count("max-errors", max_errors, {0}, "with skip or quarantine: more bad records than this end the run"),
      app::choice("dtype", dtype, {"auto", "u16", "i32"}, "auto: u16 below 65500 pieces, else i32, as Megatron does"),
      checked(app::text("split", "NAME=SHARE,...", split, "several pairs PREFIX.NAME, by a hash of the text: train=0.99,valid=0.01"),
              [](const std::string& text) { data::parse_splits(text); }),
      app::choice("dedup", dedup, {"off", "report", "drop"},
                  "documents with exactly the text of an earlier one, in the same pair: count them, or leave them out too"),
      app::bytes("dedup-memory", dedup_memory, {data::kLeastDedupMemory}, "with report or drop: memory to find them in; more is done on disk"),
      app::toggle("allow-lossy", allow_lossy, "do not warn about a tokenizer that loses newlines or blanks"),
      app::toggle("split-special-tokens", split_special_tokens,
                  "with a tokenizer.json: names of control tokens in text, such as <|endoftext|>, stay text"),
  };
  options.insert(options.end(), own.begin(), own.end());
  for (app::Option& option : options) {
    const std::string spelled = option.is_positional ? option.value : "--" + option.name;
    option.set = [this, spelled, set = std::move(option.set)](const std::string& text) {
      if (given.empty() || given.back() != spelled) given.push_back(spelled);
      return set(text);
    };
  }
  return options;
}

std::string verify_encoder_help() {
  return fmt::format("one of N documents is also encoded by the SentencePiece library, or for a tokenizer.json by a plain encoder, and other ids end the run with code 1; 0: none [default: {}]",
                     data::kVerifyEvery);
}

data::EncodeOptions EncodeFlags::encode_options() const {
  const bool asks_for_memory = std::find(given.begin(), given.end(), "--dedup-memory") != given.end();
  const std::vector<std::string> problems = data::idle_options({.format = input.format,
                                                                .separator = input.separator,
                                                                .on_error = on_error,
                                                                .dedup = dedup,
                                                                .keys = input.keys,
                                                                .max_errors = max_errors.has_value(),
                                                                .dedup_memory = asks_for_memory});
  if (!problems.empty()) throw ConfigError(problems);
  data::RecordParser(input.keys_or_default());  // each is checked as it is read; here, how many there are
  data::EncodeOptions options{.inputs = input.inputs,
                              .read = input.read(),
                              .keys = input.keys_or_default(),
                              .tokenizer = tokenizer,
                              .append_eos = append_eos,
                              .prepend_bos = prepend_bos,
                              .on_error = *data::on_error_named(on_error),
                              .max_errors = max_errors,
                              .dtype = dtype,
                              .allow_lossy = allow_lossy,
                              .split_special_tokens = split_special_tokens,
                              .dedup = *data::dedup_named(dedup),
                              .dedup_memory = dedup_memory};
  if (!split.empty()) options.splits = data::parse_splits(split);
  return options;
}

void tell_duplicates(const data::EncodeReport& report) {
  if (report.duplicates == 0) return;
  const bool one = report.duplicates == 1;
  log_info(fmt::format("{} {} the text of an earlier one and {}", report.duplicates, one ? "document has" : "documents have",
                       report.dedup == data::Dedup::kDrop ? fmt::format("{} left out", one ? "was" : "were")
                                                          : fmt::format("{} kept (--dedup drop leaves such out)", one ? "is" : "are")));
}

}  // namespace convoy::apps::preprocess

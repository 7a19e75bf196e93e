// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string_view>

#include "apps/train/commands.h"
#include "apps/train/machine.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/checkpoint/weight_source.h"
#include "libcore/data/tokenizer.h"
#include "libcore/train/generate.h"
#include "libcore/train/run_directory.h"
#include "libcore/train/weights.h"

namespace convoy::apps::train {
namespace {

using convoy::train::compute_dtype;
using convoy::train::Generator;
using convoy::train::SamplingOptions;

// What a decoder writes for bytes that are no character yet.
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool ends_within_a_character(std::string_view text) { return text.ends_with(kReplacement); }

// Prints the text of a growing list of tokens as it grows, whole characters at a time.
class TextStream {
 public:
  TextStream(const data::Tokenizer& tokenizer, std::string start, bool to_stdout)
      : tokenizer_(tokenizer), text_(std::move(start)), to_stdout_(to_stdout) {
    print(text_);
  }

  void show(const std::vector<std::int32_t>& tokens, bool last) {
    std::string text = tokenizer_.decode(tokens);
    if ((!last && ends_within_a_character(text)) || !text.starts_with(text_)) return;
    print(std::string_view(text).substr(text_.size()));
    text_ = std::move(text);
  }

  const std::string& text() const { return text_; }

 private:
  void print(std::string_view text) const {
    if (!to_stdout_) return;
    fmt::print("{}", text);
    std::fflush(stdout);
  }

  const data::Tokenizer& tokenizer_;
  std::string text_;
  bool to_stdout_;
};

std::vector<std::int32_t> prompt_tokens(const std::string& prompt, const data::Tokenizer& tokenizer,
                                        const model::Config& config) {
  std::vector<std::int32_t> tokens;
  tokenizer.encode(prompt, tokens);
  const std::int32_t start = tokenizer.eos_id() >= 0 ? tokenizer.eos_id() : tokenizer.bos_id();
  if (tokens.empty() && start >= 0) tokens.push_back(start);  // documents follow an end of text
  if (tokens.empty())
    throw ConfigError("--prompt is empty and the tokenizer has no end-of-text token to start from: give a --prompt");
  for (const std::int32_t id : tokens) {
    if (id < config.vocabulary) continue;
    throw DataError(fmt::format(
        "the prompt holds token id {}, but the model's vocabulary has {} entries: this checkpoint was trained "
        "with another tokenizer than --tokenizer",
        id, config.vocabulary));
  }
  return tokens;
}

// Another tokenizer gives another text without a word, whatever its size.
void expect_same_tokenizer(const Path& folder, const data::Tokenizer& tokenizer, const std::string& name) {
  const std::optional<std::string> recorded = convoy::train::recorded_tokenizer(folder);
  if (!recorded || *recorded == tokenizer.sha256()) return;
  throw DataError(
      fmt::format("{}: its sha256 is {}, but {} was trained on data of a tokenizer with sha256 {}: give that one", name,
                  tokenizer.sha256(), folder.string(), *recorded));
}

int sample(const SampleArguments& arguments, const app::Session& session) {
  const data::Tokenizer tokenizer(arguments.tokenizer);
  checkpoint::WeightSource source(arguments.checkpoint);
  const Path folder = source.folder();
  expect_same_tokenizer(folder, tokenizer, arguments.tokenizer);
  Generator generator(source, compute_dtype(arguments.precision), sampling_threads(arguments.threads));
  std::vector<std::int32_t> tokens = prompt_tokens(arguments.prompt, tokenizer, generator.config());
  const std::size_t given = tokens.size();
  TextStream stream(tokenizer, arguments.prompt.empty() ? "" : tokenizer.decode(tokens), !session.json);

  bool ended = false;
  const SamplingOptions options{.max_tokens = arguments.max_tokens,
                                .temperature = arguments.temperature,
                                .top_k = arguments.top_k,
                                .seed = static_cast<std::uint64_t>(arguments.seed)};
  generator.generate(tokens, tokenizer.vocabulary(), options, [&](std::int32_t id) {
    ended = id == tokenizer.eos_id();
    if (!ended) stream.show(tokens, false);
    return !ended;
  });
  if (ended) tokens.pop_back();
  stream.show(tokens, true);
  if (!session.json) {
    fmt::print("\n");
    return 0;
  }
  fmt::print("{}\n", JsonObject()
                         .add("checkpoint", folder.string())
                         .add("prompt", arguments.prompt)
                         .add("text", stream.text())
                         .add("prompt_tokens", static_cast<std::int64_t>(given))
                         .add("tokens", static_cast<std::int64_t>(tokens.size() - given))
                         .add("stop", ended ? "end-of-text" : "max-tokens")
                         .text());
  return 0;
}

}  // namespace

app::Command sample_command(SampleArguments& arguments) {
  app::Command command;
  command.name = "sample";
  command.purpose = "print text from a checkpoint";
  command.details =
      "Prints the prompt and what follows, as it comes. The same seed prints the same text; temperature 0 always takes "
      "the likeliest token.";
  command.examples = {
      "convoy-train sample --checkpoint runs/first --tokenizer tokenizer.model --prompt \"The function returns\" "
      "--max-tokens 80",
      "convoy-train sample --checkpoint runs/first/checkpoints/step_000001000 --tokenizer tokenizer.model --prompt "
      "Once --temperature 0",
  };
  command.options = {
      app::text("checkpoint", "CKPT", arguments.checkpoint,
                "a run directory (its newest step), a step directory, or a Hugging Face folder")
          .required(),
      app::text("tokenizer", "M.model", arguments.tokenizer, "the SentencePiece model or tokenizer.json that the data was encoded with")
          .required(),
      app::text("prompt", "TEXT", arguments.prompt, "the text to go on from; empty: a new document"),
      app::count("max-tokens", arguments.max_tokens, {.least = 1}, "tokens to print at most"),
      app::real("temperature", arguments.temperature, {.least = 0.0, .most = 100.0},
                "how daring; 0 always takes the likeliest token"),
      app::count("top-k", arguments.top_k, {.least = 0}, "choose among the so many likeliest; 0: among all"),
      app::count("seed", arguments.seed, {.least = 0}, "of the choice"),
      app::choice("precision", arguments.precision, {"fp32", "bf16", "fp16"}, "of weights and activations"),
      app::count("threads", arguments.threads, {.least = 1, .most = 1024},
                 "of the CPU (default: OMP_NUM_THREADS, else every core that this process may use)"),
  };
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) { return sample(arguments, session); };
  return command;
}

}  // namespace convoy::apps::train

// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/encode_checks.h"

#include <fmt/format.h>

#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/temporary_name.h"
#include "libcore/data/dataset_writer.h"
#include "libcore/data/encode_metadata.h"

namespace convoy::data {
namespace {

constexpr std::int64_t kU16Ids = 65536;

bool is_byte_level(const Tokenizer& tokenizer) { return tokenizer.facts().kind == kByteLevelKind; }

// The plan of a shard that was written over would wait for it again.
void refuse_shard(const Path& prefix) {
  if (!std::filesystem::exists(meta_path(prefix))) return;
  std::string plan;
  try {
    plan = parse_metadata(read_file(meta_path(prefix), "dataset metadata"), meta_path(prefix).string()).plan;
  } catch (const DataError&) {
    return;  // damaged metadata are replaced with the rest
  }
  if (plan.empty()) return;
  throw ConfigError(fmt::format("--out {}: the pair there is a shard of a plan, which needs it; choose another --out, or remove the shard first", prefix.string()));
}

}  // namespace

void check_options(const EncodeOptions& options, const Tokenizer& tokenizer) {
  std::vector<std::string> problems;
  const std::string model = options.tokenizer.string();
  const char* const has_none_yet = is_byte_level(tokenizer) ? "name it in a tokenizer_config.json beside the tokenizer, as transformers does"
                                                            : "train a tokenizer that has one";
  if (options.append_eos && tokenizer.eos_id() < 0) {
    problems.push_back(fmt::format("--append-eos: {} has no end-of-sentence piece; leave the flag out, or {}", model, has_none_yet));
  }
  if (options.prepend_bos && tokenizer.bos_id() < 0) {
    problems.push_back(fmt::format("--prepend-bos: {} has no beginning-of-sentence piece; leave the flag out, or {}", model, has_none_yet));
  }
  if (options.dtype == "u16" && tokenizer.vocabulary() > kU16Ids) {
    problems.push_back(fmt::format("--dtype u16: {} has {} pieces, u16 holds ids below {}; use --dtype i32 or auto", model,
                                   tokenizer.vocabulary(), kU16Ids));
  }
  for (std::string& problem : idle_options({.on_error = name_of(options.on_error), .max_errors = options.max_errors.has_value()}))
    problems.push_back(std::move(problem));
  if (!problems.empty()) throw ConfigError(problems);
}

void warn_if_lossy(const EncodeOptions& options, const Tokenizer& tokenizer) {
  if (tokenizer.lossy_reason().empty()) return;
  const std::string message = fmt::format(
      "{} loses text: {}. What it loses cannot be decoded again; a tokenizer of 'convoy-preprocess train-tokenizer' loses nothing",
      options.tokenizer.string(), tokenizer.lossy_reason());
  if (options.allow_lossy) {
    log_info(message);
  } else {
    log_warning(message + " (--allow-lossy says that this is intended)");
  }
}

void tell_if_slow(const EncodeOptions& options, const Tokenizer& tokenizer) {
  if (is_byte_level(tokenizer)) {
    const auto name = [&tokenizer](std::int32_t id) { return id < 0 ? std::string("none") : fmt::format("{} ({})", tokenizer.piece(id), id); };
    log_info(fmt::format("{}: end of text {}, beginning of text {}", options.tokenizer.string(), name(tokenizer.eos_id()), name(tokenizer.bos_id())));
  }
  if (tokenizer.left_to_library().empty()) return;
  log_info(fmt::format("{}: {}; so the SentencePiece library encodes all of it, exactly but at about a tenth of the speed", options.tokenizer.string(),
                       tokenizer.left_to_library()));
}

void check_place(const Path& out, const std::vector<Split>& splits) {
  const Path folder = out.parent_path();
  if (out.filename().empty() || out.filename() == "." || out.filename() == "..") throw ConfigError("--out: expected a prefix such as data/corpus, found a folder");
  if (!folder.empty()) ensure_directory(folder);
  for (const Path& prefix : pair_prefixes(out, splits)) {
    check_replaceable(prefix);
    refuse_shard(prefix);
  }
  remove_abandoned(folder.empty() ? Path(".") : folder, out.filename().string() + ".");
}

TokenType token_type_of(const EncodeOptions& options, const Tokenizer& tokenizer) {
  const TokenType usual = token_type_for(tokenizer.vocabulary());
  if (options.dtype == "auto") return usual;
  const TokenType wanted = options.dtype == "u16" ? TokenType::kU16 : TokenType::kI32;
  if (wanted == TokenType::kU16 && usual == TokenType::kI32) {
    log_warning(fmt::format("--dtype u16 with {} pieces: Megatron's own tools write i32 from 65500 pieces on",
                            tokenizer.vocabulary()));
  }
  return wanted;
}

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>

#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/data/dataset_writer.h"
#include "libcore/data/encode_batch.h"
#include "libcore/data/encode_metadata.h"
#include "libcore/data/index_format.h"
#include "libcore/data/ordered_pipeline.h"

namespace convoy::data {
namespace {

constexpr std::size_t kBytesInFlight = std::size_t{48} << 20;
constexpr std::size_t kBytesOfABatch = std::size_t{64} << 10;  // bookkeeping and ids of a small one
constexpr std::int64_t kU16Ids = 65536;

void check_options(const EncodeOptions& options, const Tokenizer& tokenizer) {
  std::vector<std::string> problems;
  const std::string model = options.tokenizer.string();
  if (options.append_eos && tokenizer.eos_id() < 0) {
    problems.push_back(fmt::format("--append-eos: {} has no end-of-sentence piece; leave the flag out, or train a tokenizer that "
                                   "has one",
                                   model));
  }
  if (options.prepend_bos && tokenizer.bos_id() < 0) {
    problems.push_back(fmt::format("--prepend-bos: {} has no beginning-of-sentence piece; leave the flag out", model));
  }
  if (options.dtype == "u16" && tokenizer.vocabulary() > kU16Ids) {
    problems.push_back(fmt::format("--dtype u16: {} has {} pieces, u16 holds ids below {}; use --dtype i32 or auto", model,
                                   tokenizer.vocabulary(), kU16Ids));
  }
  if (options.max_errors && options.on_error == OnError::kFail) {
    problems.push_back("--max-errors: goes with --on-error skip or quarantine; under fail the first bad record ends the run");
  }
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

TokenType type_for(const EncodeOptions& options, const Tokenizer& tokenizer) {
  const TokenType usual = token_type_for(tokenizer.vocabulary());
  if (options.dtype == "auto") return usual;
  const TokenType wanted = options.dtype == "u16" ? TokenType::kU16 : TokenType::kI32;
  if (wanted == TokenType::kU16 && usual == TokenType::kI32) {
    log_warning(fmt::format("--dtype u16 with {} pieces: Megatron's own tools write i32 from 65500 pieces on",
                            tokenizer.vocabulary()));
  }
  return wanted;
}

// One run of encode(): everything that lives from the first batch to the commit.
class Run {
 public:
  Run(const EncodeOptions& options, const EncodeHooks& hooks)
      : options_(options), hooks_(hooks), tokenizer_(options.tokenizer), encoder_(tokenizer_, options) {
    check_options(options, tokenizer_);
    files_ = expand_inputs(options.inputs);
    for (const InputFile& file : files_) total_bytes_ += file.bytes;
    warn_if_lossy(options, tokenizer_);
    open_outputs();
  }

  EncodeReport go() {
    const auto start = std::chrono::steady_clock::now();
    RecordReader reader(files_, options_.read, [this] {
      if (stopping_) throw EnvironmentError("the run has ended; nothing more is read");
    });
    OrderedPipeline<RawBatch, EncodedBatch> pipeline({.source = [&](RawBatch& batch) { return reader.next(batch); },
                                                      .work = [&](RawBatch& batch) { return encoder_.encode(batch); },
                                                      .sink = [&](EncodedBatch& batch) { take(batch); },
                                                      .weight = [](const RawBatch& b) { return b.bytes.size() + kBytesOfABatch; },
                                                      .poll = hooks_.poll},
                                                     kBytesInFlight);
    // Destroyed before the pipeline, whose reader may wait for a pipe that stays open.
    const StopReading stop{stopping_};
    pipeline.run(options_.threads);
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    finish();
    return report_;
  }

 private:
  struct StopReading {
    std::atomic<bool>& stopping;
    ~StopReading() { stopping = true; }
  };

  void open_outputs() {
    const Path folder = options_.out.parent_path();
    if (options_.out.filename().empty()) throw ConfigError("--out: expected a prefix such as data/corpus, found a folder");
    if (!folder.empty()) ensure_directory(folder);
    std::vector<Path> prefixes;
    for (const Split& split : options_.splits) prefixes.push_back(options_.out.string() + "." + split.name);
    if (prefixes.empty()) prefixes.push_back(options_.out);
    for (const Path& prefix : prefixes) check_replaceable(prefix);
    const TokenType type = type_for(options_, tokenizer_);
    for (const Path& prefix : prefixes) writers_.push_back(std::make_unique<DatasetWriter>(prefix, type));
    if (options_.on_error == OnError::kQuarantine) {
      quarantine_ = std::make_unique<AtomicFile>(options_.out.string() + ".quarantine.jsonl");
    }
    report_.dtype = name_of(type);
    for (const Path& prefix : prefixes) report_.outputs.push_back(prefix.string());
  }

  std::string name_of_file(std::size_t file) const { return files_[file].name == "-" ? "standard input" : files_[file].name; }

  void reject(std::size_t file, const BadLine& bad) {
    ++report_.bad_records;
    const std::string what = fmt::format("{}: line {}: {}", name_of_file(file), bad.line, bad.record.reason);
    if (options_.on_error == OnError::kFail) {
      throw DataError(what + "; correct the line, or leave such lines out with --on-error skip or quarantine");
    }
    if (quarantine_) {
      quarantine_->write(JsonObject()
                             .add("file", name_of_file(file))
                             .add("line", bad.line)
                             .add("kind", name_of(bad.record.kind))
                             .add("reason", bad.record.reason)
                             .text() +
                         "\n");
    }
    if (options_.max_errors && report_.bad_records > *options_.max_errors) {
      throw DataError(fmt::format("{}; this is bad record {} of this run, more than --max-errors {}", what, report_.bad_records,
                                  *options_.max_errors));
    }
    constexpr std::int64_t kShown = 5;
    if (report_.bad_records <= kShown) log_warning(what + "; left out");
    if (report_.bad_records == kShown + 1) log_warning("more bad records: they are counted, not shown");
  }

  void take(const EncodedBatch& batch) {
    for (const BadLine& bad : batch.bad) reject(batch.file, bad);
    for (const EncodedBatch::Document& document : batch.documents) {
      writers_[document.split]->add(std::span(batch.ids).subspan(document.begin, document.end - document.begin));
      report_.tokens += static_cast<std::int64_t>(document.end - document.begin);
    }
    report_.documents += static_cast<std::int64_t>(batch.documents.size());
    report_.empty += batch.empty;
    report_.bytes_in += batch.bytes_in;
    report_.bytes_text += batch.bytes_text;
    report_.invalid_utf8 += batch.invalid_utf8;
    if (hooks_.progress) hooks_.progress(batch.consumed, total_bytes_, report_.tokens);
  }

  void check_documents() const {
    if (report_.documents == 0) {
      throw DataError(fmt::format("no documents in {}: {} empty ones, {} bad records, {} bytes read; nothing is written",
                                  files_.size() == 1 ? name_of_file(0) : fmt::format("{} files", files_.size()), report_.empty,
                                  report_.bad_records, report_.bytes_in));
    }
    for (std::size_t i = 0; i < writers_.size(); ++i) {
      if (writers_[i]->documents() > 0) continue;
      throw DataError(fmt::format("--split: none of {} documents fell into '{}' (share {}); give it a larger share or more "
                                  "documents; nothing is written",
                                  report_.documents, options_.splits[i].name, options_.splits[i].share));
    }
  }

  void finish() {
    check_documents();
    if (report_.invalid_utf8 > 0) {
      log_warning(fmt::format("{} text documents hold bytes that are no UTF-8; each such byte became U+FFFD", report_.invalid_utf8));
    }
    if (hooks_.poll) hooks_.poll();
    for (const auto& writer : writers_) {
      writer->prepare([&](const PairSums& sums) {
        return encode_metadata({.options = options_, .report = report_, .tokenizer = tokenizer_, .files = files_}, *writer, sums);
      });
    }
    if (quarantine_) quarantine_->commit();
    for (const auto& writer : writers_) uncommit(writer->prefix());
    for (const auto& writer : writers_) writer->publish();
  }

  const EncodeOptions& options_;
  const EncodeHooks& hooks_;
  Tokenizer tokenizer_;
  BatchEncoder encoder_;
  std::vector<InputFile> files_;
  std::int64_t total_bytes_ = 0;
  std::vector<std::unique_ptr<DatasetWriter>> writers_;
  std::unique_ptr<AtomicFile> quarantine_;
  EncodeReport report_;
  std::atomic<bool> stopping_ = false;
};

bool is_split_name(const std::string& name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == std::string::npos;
}

}  // namespace

std::vector<Split> parse_splits(const std::string& text) {
  constexpr double kRounding = 1e-9;  // decimal shares such as 0.9 + 0.1 do not sum to 1 exactly
  std::vector<Split> splits;
  std::set<std::string> names;
  double sum = 0.0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = part.find('=');
    const auto share = parse_real(equals == std::string::npos ? "" : part.substr(equals + 1));
    const std::string name = part.substr(0, equals);
    if (!is_split_name(name) || !share.ok() || share.value <= 0.0 || share.value >= 1.0 || !names.insert(name).second) {
      throw ConfigError(fmt::format("'{}' is no NAME=SHARE with a new name and a share between 0 and 1; expected for example "
                                    "train=0.99,valid=0.01",
                                    part));
    }
    splits.push_back({name, share.value});
    sum += share.value;
  }
  if (sum < 1.0 - kRounding || sum > 1.0 + kRounding) {
    throw ConfigError(fmt::format("the shares sum to {}, expected 1", sum));
  }
  return splits;
}

double EncodeReport::megabytes_per_second() const {
  constexpr double kMega = 1e6;
  return seconds > 0 ? static_cast<double>(bytes_in) / kMega / seconds : 0.0;
}

EncodeReport encode(const EncodeOptions& options, const EncodeHooks& hooks) { return Run(options, hooks).go(); }

}  // namespace convoy::data

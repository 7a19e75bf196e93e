// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/encode_output.h"

#include <fmt/format.h>

#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/log.h"
#include "libcore/data/encode_checks.h"
#include "libcore/data/encode_metadata.h"
#include "libcore/data/index_format.h"

namespace convoy::data {
namespace {

std::string place_of(const InputFile& input, std::int64_t line) {
  const std::string from = input.range && input.range->begin > 0 ? fmt::format(" from byte {} on", input.range->begin) : "";
  return fmt::format("{}: line {}{}", shown_name(input), line, from);
}

}  // namespace

EncodeOutput::EncodeOutput(EncodeOrigin origin) : origin_(std::move(origin)), lines_(origin_.files.size()) {
  const EncodeOptions& options = origin_.options;
  const TokenType type = token_type_of(options, origin_.tokenizer);
  for (const Path& prefix : pair_prefixes(options.out, options.splits)) {
    outputs_.push_back(std::make_unique<SplitOutput>(prefix, type, options, !origin_.plan.empty()));
    report_.outputs.push_back(prefix.string());
  }
  if (options.on_error == OnError::kQuarantine) quarantine_ = std::make_unique<AtomicFile>(quarantine_path(options.out));
  report_.dtype = name_of(type);
  report_.dedup = options.dedup;
}

// A row of a shard has the number of its piece, too: how many lines of the file are before that is known to the merge alone.
void EncodeOutput::quarantine(std::size_t file, const BadLine& bad) {
  JsonObject row;
  if (!origin_.plan.empty()) row.add("piece", static_cast<std::int64_t>(file));
  row.add("file", shown_name(origin_.files[file]))
      .add("line", bad.line)
      .add("kind", name_of(bad.record.kind))
      .add("reason", bad.record.reason);
  quarantine_->write(row.text() + "\n");
}

void EncodeOutput::reject(std::size_t file, const BadLine& bad) {
  const EncodeOptions& options = origin_.options;
  const InputFile& input = origin_.files[file];
  ++report_.bad_records;
  const std::string what = fmt::format("{}: {}", place_of(input, bad.line), bad.record.reason);
  if (options.on_error == OnError::kFail) {
    throw DataError(what + "; correct the line, or leave such lines out with --on-error skip or quarantine");
  }
  if (quarantine_) quarantine(file, bad);
  if (options.max_errors && report_.bad_records > *options.max_errors) {
    throw DataError(fmt::format("{}; this is bad record {} of this run, more than --max-errors {}", what, report_.bad_records,
                                *options.max_errors));
  }
  constexpr std::int64_t kShown = 5;
  if (report_.bad_records <= kShown) log_warning(what + "; left out");
  if (report_.bad_records == kShown + 1) log_warning("more bad records: they are counted, not shown");
}

void EncodeOutput::refuse(std::size_t file, const EncodedBatch::Difference& difference) const {
  throw InternalError(fmt::format("{}: {}. This is a fault of this program, and nothing is written; please report it with the tokenizer "
                                  "{} (sha256 {}) and this document",
                                  place_of(origin_.files[file], difference.line), difference.what, origin_.options.tokenizer.string(),
                                  origin_.tokenizer.sha256()));
}

void EncodeOutput::take(const EncodedBatch& batch) {
  if (batch.difference) refuse(batch.file, *batch.difference);
  for (const BadLine& bad : batch.bad) reject(batch.file, bad);
  for (const EncodedBatch::Document& document : batch.documents) {
    outputs_[document.split]->add(std::span(batch.ids).subspan(document.begin, document.end - document.begin), document.key);
    report_.tokens += static_cast<std::int64_t>(document.end - document.begin);
  }
  lines_[batch.file] += batch.lines;
  report_.documents += static_cast<std::int64_t>(batch.documents.size());
  report_.empty += batch.empty;
  report_.bytes_in += batch.bytes_in;
  report_.bytes_text += batch.bytes_text;
  report_.invalid_utf8 += batch.invalid_utf8;
}

void EncodeOutput::take(const HugeDocument& document) {
  SplitOutput& output = *outputs_[document.split];
  output.begin(document.tokens, document.key);
  document.for_each_part([&output](std::span<const std::int32_t> ids) { output.add_part(ids); });
  report_.tokens += document.tokens;
  ++report_.documents;
  ++huge_documents_;
}

std::string EncodeOutput::metadata(const SplitOutput& output, const PairSums& sums) const {
  const DatasetWriter& writer = output.writer();
  const auto& [options, tokenizer, files, plan] = origin_;
  PairMetadata metadata{.report = report_,
                        .documents = writer.documents(),
                        .tokens = writer.tokens(),
                        .text_bytes = output.text_bytes(),
                        .vocabulary = tokenizer.vocabulary(),
                        .largest_id = writer.largest_id(),
                        .tokenizer = tokenizer_json(options.tokenizer, tokenizer),
                        .options = options_json(options),
                        .sources = sources_json(files),
                        .plan = plan};
  if (options.append_eos) metadata.eos_id = tokenizer.eos_id();
  return metadata_text(metadata, sums);
}

void EncodeOutput::finish(const std::function<void()>& poll) {
  for (const auto& output : outputs_) {
    const FoundDuplicates found = output->finish(poll);
    report_.duplicates += found.documents;
    report_.documents -= found.dropped_documents;
    report_.tokens -= found.dropped_tokens;
    report_.bytes_text -= found.dropped_text_bytes;
  }
}

void EncodeOutput::prepare() {
  if (report_.invalid_utf8 > 0) {
    log_warning(fmt::format("{} text documents hold bytes that are no UTF-8; each such byte became U+FFFD", report_.invalid_utf8));
  }
  if (huge_documents_ > 0 && origin_.tokenizer.facts().kind == "sentencepiece-unigram") {
    log_warning(fmt::format("documents too long for the sums of a unigram model: {}. They are 32-bit floats, in the SentencePiece library as here, "
                            "and lose digits, so that such a document takes more tokens than its parts would (12 % more at 50 MB); cut it, "
                            "for instance with --document-separator line or blank-line",
                            huge_documents_));
  }
  for (std::size_t split = 0; split < outputs_.size(); ++split) {
    SplitOutput& output = *outputs_[split];
    if (output.writer().documents() == 0) continue;
    pairs_.push_back(output.prepare(split, [&](const PairSums& sums) { return metadata(output, sums); }));
  }
  if (quarantine_) quarantine_->seal();
}

void EncodeOutput::publish() {
  if (quarantine_) quarantine_->commit();
  for (const auto& output : outputs_) withdraw(output->writer().prefix());
  if (!quarantine_) remove_quarantine(origin_.options.out);
  for (const auto& output : outputs_) output->publish();
}

std::vector<std::int64_t> EncodeOutput::documents() const {
  std::vector<std::int64_t> counts;
  for (const auto& output : outputs_) counts.push_back(output->writer().documents());
  return counts;
}

Path quarantine_path(const Path& out) { return out.string() + ".quarantine.jsonl"; }

void remove_quarantine(const Path& out) {
  const Path path = quarantine_path(out);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  std::filesystem::remove(path, error);
  if (error) throw EnvironmentError(fmt::format("cannot remove '{}', the bad records of an older run: {}", path.string(), error.message()));
  log_info(fmt::format("removed {}: it listed the bad records of an older run", path.string()));
}

std::string shown_name(const InputFile& file) { return file.name == "-" ? "standard input" : file.name; }

}  // namespace convoy::data

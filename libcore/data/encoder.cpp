// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

#include "libcore/base/error.h"
#include "libcore/data/duplicates.h"
#include "libcore/data/encode_batch.h"
#include "libcore/data/encode_checks.h"
#include "libcore/data/encode_output.h"
#include "libcore/data/huge_record.h"
#include "libcore/data/ordered_pipeline.h"

namespace convoy::data {
namespace {

constexpr std::size_t kBytesInFlight = std::size_t{48} << 20;
constexpr std::size_t kBytesInFlightToLibrary = std::size_t{512} << 20;
constexpr std::size_t kBytesOfABatch = std::size_t{64} << 10;  // bookkeeping and ids of a small one

// The library takes a hundred bytes for each of a text, of which no more than so many are in flight then.
constexpr std::size_t kBytesOfLibrary = 100;

// Of the bytes that a batch holds until it is written.
std::size_t weight_of(const RawBatch& batch, const Tokenizer& tokenizer) {
  std::size_t longest = 0;
  if (!tokenizer.streams()) {
    for (const RawRecord& record : batch.records) longest = std::max(longest, record.end - record.begin);
  }
  return batch.bytes.size() + kBytesOfABatch + kBytesOfLibrary * std::min(longest, kMostBytesByLibrary);
}

struct StopReading {
  std::atomic<bool>& stopping;
  ~StopReading() { stopping = true; }
};

}  // namespace

void encode_files(const EncodeOptions& options, const Tokenizer& tokenizer, const std::vector<InputFile>& files,
                  const EncodeHooks& hooks, EncodeOutput& output) {
  const auto start = std::chrono::steady_clock::now();
  const BatchEncoder encoder(tokenizer, options);
  std::int64_t total = 0;
  for (const InputFile& file : files) total += file.bytes_to_read();
  std::atomic<bool> stopping = false;
  RecordReader reader(files, options.read, [&stopping] {
    if (stopping) throw EnvironmentError("the run has ended; nothing more is read");
  });
  HugeRecords huge_records(encoder, options, hooks.poll);
  std::optional<HugeDocument> huge;
  const auto take = [&](const EncodedBatch& batch) {
    if (batch.part == RecordPart::kWhole) {
      output.take(batch);
    } else {
      output.take(huge_records.take(batch, huge));
      if (huge) output.take(*huge);
      if (batch.part == RecordPart::kLast) huge_records.close();
    }
    if (hooks.progress) hooks.progress(batch.consumed, total, output.report().tokens);
  };
  OrderedPipeline<RawBatch, EncodedBatch> pipeline({.source = [&](RawBatch& batch) { return reader.next(batch); },
                                                    .work = [&](RawBatch& batch) { return encoder.encode(batch); },
                                                    .sink = take,
                                                    .weight = [&](const RawBatch& b) { return weight_of(b, tokenizer); },
                                                    .poll = hooks.poll},
                                                   tokenizer.streams() ? kBytesInFlight : kBytesInFlightToLibrary);
  // Destroyed before the pipeline, whose reader may wait for a pipe that stays open.
  const StopReading stop{stopping};
  pipeline.run(options.threads);
  output.finish(hooks.poll);
  output.report().seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (hooks.poll) hooks.poll();
}

void check_documents(const EncodeReport& report, const std::vector<Split>& splits, const std::vector<std::int64_t>& documents,
                     const std::string& what) {
  if (report.documents == 0) {
    throw DataError(fmt::format("no documents in {}: {} empty ones, {} bad records, {} bytes read; nothing is written", what,
                                report.empty, report.bad_records, report.bytes_in));
  }
  for (std::size_t i = 0; i < splits.size(); ++i) {
    if (documents[i] > 0) continue;
    throw DataError(fmt::format("--split: none of {} documents fell into '{}' (share {}); give it a larger share or more "
                                "documents; nothing is written",
                                report.documents, splits[i].name, splits[i].share));
  }
}

EncodeReport encode(const EncodeOptions& options, const EncodeHooks& hooks) {
  const Tokenizer tokenizer(options.tokenizer, options.split_special_tokens);
  check_options(options, tokenizer);
  if (options.dedup != Dedup::kOff) check_dedup_memory(options.dedup_memory);
  const std::vector<InputFile> files = expand_inputs(options.inputs);
  warn_if_lossy(options, tokenizer);
  tell_if_slow(options, tokenizer);
  check_place(options.out, options.splits);
  EncodeOutput output({.options = options, .tokenizer = tokenizer, .files = files});
  encode_files(options, tokenizer, files, hooks, output);
  check_documents(output.report(), options.splits, output.documents(),
                  files.size() == 1 ? shown_name(files[0]) : fmt::format("{} files", files.size()));
  output.prepare();
  output.publish();
  return output.report();
}

}  // namespace convoy::data

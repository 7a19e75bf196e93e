// SPDX-License-Identifier: Apache-2.0
// Where encoded batches go: the pairs (one, or one a split), the list of bad records, the counts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libcore/data/encode_batch.h"
#include "libcore/data/encode_report.h"
#include "libcore/data/huge_record.h"
#include "libcore/data/split_output.h"

namespace convoy::data {

// What goes into the metadata; lives as long as the output.
struct EncodeOrigin {
  const EncodeOptions& options;
  const Tokenizer& tokenizer;
  const std::vector<InputFile>& files;
  std::string plan = {};  // see PairMetadata
};

class EncodeOutput {
 public:
  // Takes the temporary names beside options.out. The options are checked.
  explicit EncodeOutput(EncodeOrigin origin);

  // In the order of the inputs. DataError for a bad record under kFail or beyond max_errors.
  void take(const EncodedBatch& batch);
  // A document that is in none of them, at its place in the order.
  void take(const HugeDocument& document);

  // After the last batch: counts duplicates, or drops them. `poll` throws to stop.
  void finish(const std::function<void()>& poll);
  // Everything complete on disk under temporary names. Pairs without documents are not among it.
  void prepare();
  // Gives what is prepared its names, and removes what is there under the names of pairs without documents.
  void publish();

  EncodeReport& report() { return report_; }
  const EncodeReport& report() const { return report_; }
  const std::vector<WrittenPair>& pairs() const { return pairs_; }
  std::vector<std::int64_t> documents() const;  // of each split
  const std::vector<std::int64_t>& lines() const { return lines_; }  // of each file (or its range); 0 where it is the document
  std::int64_t quarantine_bytes() const { return quarantine_ ? static_cast<std::int64_t>(quarantine_->size()) : 0; }

 private:
  [[noreturn]] void refuse(std::size_t file, const EncodedBatch::Difference& difference) const;
  void reject(std::size_t file, const BadLine& bad);
  void quarantine(std::size_t file, const BadLine& bad);
  std::string metadata(const SplitOutput& output, const PairSums& sums) const;

  EncodeOrigin origin_;
  std::vector<std::unique_ptr<SplitOutput>> outputs_;
  std::vector<WrittenPair> pairs_;
  std::unique_ptr<AtomicFile> quarantine_;
  std::vector<std::int64_t> lines_;
  std::int64_t huge_documents_ = 0;
  EncodeReport report_;
};

Path quarantine_path(const Path& out);  // PREFIX.quarantine.jsonl

// Removes the list of an older run, which would be taken for that of the pairs beside it.
void remove_quarantine(const Path& out);

std::string shown_name(const InputFile& file);  // "standard input" for -

}  // namespace convoy::data

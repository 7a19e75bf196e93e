// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/pair_merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/data/dataset_check.h"
#include "libcore/data/encode_checks.h"
#include "libcore/data/encode_output.h"
#include "libcore/data/index_format.h"
#include "libcore/data/indexed_dataset.h"

namespace convoy::data {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kBlock = std::size_t{4} << 20;

// One line for each thing that differs.
void compare(std::string_view what, const std::string& first, const std::string& other, std::vector<std::string>& differences) {
  if (first != other) differences.push_back(fmt::format("{} {} against {}", what, first, other));
}

std::string text_of(const std::optional<std::int64_t>& id) { return id ? std::to_string(*id) : "none"; }

void compare_options(const PairMetadata& first, const PairMetadata& other, std::vector<std::string>& differences) {
  const Json a = Json::parse(first.options), b = Json::parse(other.options);
  Json keys = a;
  keys.update(b);
  for (const auto& [key, value] : keys.items()) {
    const auto shown = [&key = key](const Json& options) { return options.contains(key) ? options[key].dump() : std::string("nothing"); };
    compare(fmt::format("option {}", key), shown(a), shown(b), differences);
  }
}

void check_same(const Path& first_prefix, const PairMetadata& first, const Path& prefix, const PairMetadata& other) {
  const auto tokenizer = [](const PairMetadata& metadata) { return Json::parse(metadata.tokenizer).value("sha256", Json()).dump(); };
  std::vector<std::string> differences;
  compare("tokenizer", tokenizer(first), tokenizer(other), differences);
  compare("vocabulary", std::to_string(first.vocabulary), std::to_string(other.vocabulary), differences);
  compare("dtype", first.report.dtype, other.report.dtype, differences);
  compare("end-of-document id", text_of(first.eos_id), text_of(other.eos_id), differences);
  compare_options(first, other, differences);
  if (differences.empty()) return;
  throw DataError(fmt::format("{} and {} do not go together: {}; encode one of them again with the other's options", first_prefix.string(),
                              prefix.string(), fmt::join(differences, ", ")));
}

void check_target(const std::vector<Path>& prefixes, const Path& out) {
  std::error_code none;
  for (const Path& prefix : prefixes) {
    if (!std::filesystem::equivalent(bin_path(prefix), bin_path(out), none)) continue;
    throw ConfigError(fmt::format("--out {}: it is one of the pairs that are to be merged; choose another --out", out.string()));
  }
}

std::int64_t bytes_of_all(const std::vector<Path>& prefixes) {
  std::int64_t bytes = 0;
  for (const Path& prefix : prefixes) bytes += static_cast<std::int64_t>(std::filesystem::file_size(bin_path(prefix)));
  return bytes;
}

struct Copied {
  std::int64_t bytes = 0, total = 0;
  const MergeHooks& hooks;

  void add(std::size_t more) {
    bytes += static_cast<std::int64_t>(more);
    if (hooks.progress) hooks.progress(bytes, total);
    if (hooks.poll) hooks.poll();
  }
};

// Opening it checks the index against sizes and metadata; its sum is checked here.
IndexedDataset open_checked(const Path& prefix) {
  IndexedDataset dataset(prefix, false);
  check_sum(idx_path(prefix), "idx_xxh3_128", dataset.meta()->idx_xxh3_128);
  return dataset;
}

// The documents of several pairs that are kept, as runs of bytes of each pair's tokens. `first` is the number of a pair's first
// document among all.
class Kept {
 public:
  explicit Kept(const Duplicates* dropped) : dropped_(dropped) {}

  bool operator()(std::int64_t document) const { return dropped_ == nullptr || !dropped_->contains(document); }

  template <class Take>
  void for_each_run(const IndexedDataset& dataset, std::int64_t first, const Take& take) const {
    const std::int64_t size = size_of(dataset.token_type());
    if (dropped_ == nullptr) return take(std::int64_t{0}, dataset.tokens() * size);
    std::int64_t begin = -1;
    for (std::int64_t d = 0; d < dataset.documents(); ++d) {
      const std::int64_t at = dataset.document(d).first * size;
      if ((*this)(first + d)) {
        if (begin < 0) begin = at;
      } else if (begin >= 0) {
        take(std::exchange(begin, -1), at);
      }
    }
    if (begin >= 0) take(begin, dataset.tokens() * size);
  }

 private:
  const Duplicates* dropped_;
};

// Every byte of the tokens is read and summed, also of documents that are left out.
void append_pair(const IndexedDataset& dataset, std::int64_t first, const Kept& kept, PairFiles& out, Copied& copied) {
  const Path path = bin_path(dataset.prefix());
  const MappedFile bin(path, "dataset tokens");
  Xxh3Stream sum;
  std::size_t summed = 0;
  const auto advance = [&](std::size_t end, bool keep) {
    while (summed < end) {
      const auto block = bin.bytes().subspan(summed, std::min(kBlock, end - summed));
      sum.update(block);
      if (keep) out.append(block);
      bin.release(block);
      copied.add(block.size());
      summed += block.size();
    }
  };
  kept.for_each_run(dataset, first, [&](std::int64_t begin, std::int64_t end) {
    advance(static_cast<std::size_t>(begin), false);
    advance(static_cast<std::size_t>(end), true);
  });
  advance(bin.bytes().size(), false);
  expect_sum(path, "bin_xxh3_128", dataset.meta()->bin_xxh3_128, sum.hex());
}

// How each of the pairs treated its duplicates, which is all that a merge can say of them.
Dedup check_dedup(const std::vector<Path>& prefixes, const std::vector<PairMetadata>& parts) {
  const Dedup dedup = dedup_named(Json::parse(parts.front().options).value("dedup", "off")).value_or(Dedup::kOff);
  if (dedup == Dedup::kOff) return dedup;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].plan.empty()) continue;
    throw DataError(fmt::format("{} is a shard of a plan with --dedup {}, whose duplicates are not looked for yet; merge the shards with --plan PLAN.json",
                                prefixes[i].string(), name_of(dedup)));
  }
  log_warning("--dedup was each pair's own: documents that are in several of the pairs stay; to compare them all, encode all inputs together");
  return dedup;
}

}  // namespace

std::vector<PairMetadata> compatible_metadata(const std::vector<Path>& prefixes) {
  std::vector<PairMetadata> parts;
  for (const Path& prefix : prefixes) {
    const IndexedDataset whole(prefix, false);
    parts.push_back(parse_metadata(read_file(meta_path(prefix), "dataset metadata"), meta_path(prefix).string()));
    if (parts.size() > 1) check_same(prefixes.front(), parts.front(), prefix, parts.back());
  }
  return parts;
}

PairMetadata merged_metadata(const std::vector<PairMetadata>& parts) {
  PairMetadata all = parts.front();
  std::string sources;
  all.report = {.dtype = all.report.dtype};
  all.documents = all.tokens = 0;
  all.text_bytes = 0;
  all.plan.clear();
  for (const PairMetadata& part : parts) {
    add_counts(part.report, all.report);
    all.documents += part.documents;
    all.tokens += part.tokens;
    all.text_bytes = all.text_bytes && part.text_bytes ? std::optional(*all.text_bytes + *part.text_bytes) : std::nullopt;
    all.largest_id = std::max(all.largest_id, part.largest_id);
    const std::string inside = part.sources.substr(1, part.sources.size() - 2);  // of the brackets
    if (!inside.empty()) sources += (sources.empty() ? "" : ",") + inside;
  }
  all.sources = "[" + sources + "]";
  return all;
}

PairFiles merged_pair(const std::vector<Path>& prefixes, const Path& out, const PairMetadata& metadata, const MergeHooks& hooks,
                      const Duplicates* dropped) {
  check_target(prefixes, out);
  if (metadata.documents > static_cast<std::int64_t>(kMostDocuments)) {
    throw DataError(fmt::format("{}: {} documents in all, a dataset holds at most {}; merge fewer pairs into each", out.string(),
                                metadata.documents, kMostDocuments));
  }
  const std::int64_t item = metadata.report.dtype == name_of(TokenType::kU16) ? 2 : 4;
  Copied copied{0, bytes_of_all(prefixes), hooks};
  PairFiles files(out, item == 2 ? TokenType::kU16 : TokenType::kI32);
  const Kept kept(dropped);
  std::int64_t first = 0;
  for (const Path& prefix : prefixes) {
    const IndexedDataset dataset = open_checked(prefix);
    append_pair(dataset, first, kept, files, copied);
    first += dataset.documents();
  }
  const EachLength lengths = [&prefixes, &kept](const std::function<void(std::int32_t)>& take) {
    std::int64_t document = 0;
    for (const Path& prefix : prefixes) {
      const IndexedDataset dataset(prefix, false);
      for (std::int64_t s = 0; s < dataset.sequences(); ++s, ++document) {
        if (kept(document)) take(static_cast<std::int32_t>(dataset.sequence_length(s)));
      }
    }
  };
  files.prepare(metadata.documents, lengths, [&metadata](const PairSums& sums) { return metadata_text(metadata, sums); });
  return files;
}

EncodeReport merge_pairs(const std::vector<Path>& prefixes, const Path& out, const MergeHooks& hooks) {
  check_place(out, {});
  const std::vector<PairMetadata> parts = compatible_metadata(prefixes);
  const Dedup dedup = check_dedup(prefixes, parts);
  PairMetadata metadata = merged_metadata(parts);
  metadata.report.dedup = dedup;
  metadata.report.outputs = {out.string()};
  metadata.report.documents = metadata.documents;
  metadata.report.tokens = metadata.tokens;
  PairFiles files = merged_pair(prefixes, out, metadata, hooks);
  if (hooks.poll) hooks.poll();
  withdraw(out);
  remove_quarantine(out);
  files.publish();
  return metadata.report;
}

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/dataset_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/data/index_format.h"

namespace convoy::data {
namespace {

constexpr std::int64_t kBlockTokens = 1 << 18;

struct Bounds {
  std::int64_t vocabulary;  // 0: unknown
  std::int32_t eos_id;        // -1: documents need not end with it
};

void check_ids(const IndexedDataset& dataset, const Bounds& bounds, std::int32_t& largest,
               const std::function<void(std::int64_t, std::int64_t)>& progress) {
  const Path path = bin_path(dataset.prefix());
  const std::int64_t item = size_of(dataset.token_type());
  std::vector<std::int32_t> block(static_cast<std::size_t>(std::min(kBlockTokens, dataset.tokens())));
  for (std::int64_t at = 0; at < dataset.tokens(); at += kBlockTokens) {
    const std::span<std::int32_t> part(block.data(), static_cast<std::size_t>(std::min(kBlockTokens, dataset.tokens() - at)));
    dataset.read(at, part);
    for (std::size_t i = 0; i < part.size(); ++i) {
      largest = std::max(largest, part[i]);
      if (bounds.vocabulary == 0 || part[i] < bounds.vocabulary) continue;
      const std::int64_t token = at + static_cast<std::int64_t>(i);
      throw DataError(fmt::format("{}: token {} at offset {}: expected an id below the vocabulary of {}, found {}", path.string(), token,
                                  token * item, bounds.vocabulary, part[i]));
    }
    dataset.release(at, static_cast<std::int64_t>(part.size()));
    if (progress) progress(at + static_cast<std::int64_t>(part.size()), dataset.tokens());
  }
}

void check_ends(const IndexedDataset& dataset, const Bounds& bounds) {
  if (bounds.eos_id < 0) return;
  std::vector<std::int32_t> last(1);
  for (std::int64_t d = 0; d < dataset.documents(); ++d) {
    const auto [begin, end] = dataset.document(d);
    if (begin == end) continue;
    dataset.read(end - 1, last);
    if (last[0] == bounds.eos_id) continue;
    throw DataError(fmt::format("{}: last token of document {} at offset {}: expected the end-of-document id {}, found {}",
                                bin_path(dataset.prefix()).string(), d, (end - 1) * size_of(dataset.token_type()), bounds.eos_id,
                                last[0]));
  }
}

}  // namespace

void expect_sum(const Path& path, const std::string& key, const std::string& expected, const std::string& found) {
  if (found == expected) return;
  throw DataError(fmt::format("{}: the checksum of its bytes is {}, the metadata's \"{}\" is {}: the file was damaged or changed after "
                              "it was written; remove it and encode it again, or restore it",
                              path.string(), found, key, expected));
}

void check_sum(const Path& path, const std::string& key, const std::string& expected) {
  const MappedFile file(path, "dataset file");
  constexpr std::size_t kBlock = std::size_t{4} << 20;
  Xxh3Stream sum;
  for (std::size_t at = 0; at < file.bytes().size(); at += kBlock) {
    const auto block = file.bytes().subspan(at, std::min(kBlock, file.bytes().size() - at));
    sum.update(block);
    file.release(block);
  }
  expect_sum(path, key, expected, sum.hex());
}

DatasetCheck check_dataset(const Path& prefix, bool foreign, const std::function<void(std::int64_t done, std::int64_t total)>& progress) {
  const IndexedDataset dataset(prefix, foreign);
  DatasetCheck result{.documents = dataset.documents(),
                      .sequences = dataset.sequences(),
                      .tokens = dataset.tokens(),
                      .vocabulary = dataset.meta() ? dataset.meta()->vocabulary : 0,
                      .has_checksums = dataset.meta().has_value()};
  const Bounds bounds{result.vocabulary, dataset.meta() ? dataset.meta()->eos_id.value_or(-1) : -1};
  check_ids(dataset, bounds, result.largest_id, progress);
  check_ends(dataset, bounds);
  if (dataset.meta()) {
    check_sum(idx_path(prefix), "idx_xxh3_128", dataset.meta()->idx_xxh3_128);
    check_sum(bin_path(prefix), "bin_xxh3_128", dataset.meta()->bin_xxh3_128);
  }
  return result;
}

}  // namespace convoy::data

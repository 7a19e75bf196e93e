// SPDX-License-Identifier: Apache-2.0
// Verification of a dataset beyond what opening it checks: every byte against the checksums, every id against the vocabulary,
// every document's last id against the end-of-document id.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "libcore/data/indexed_dataset.h"

namespace convoy::data {

struct DatasetCheck {
  std::int64_t documents = 0;
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;
  std::int64_t vocabulary = 0;  // 0: unknown, without metadata
  std::int32_t largest_id = 0;
  bool has_checksums = false;
};

// Throws DataError naming file, field and offset at the first thing that does not hold.
DatasetCheck check_dataset(const Path& prefix, bool foreign, const std::function<void(std::int64_t done, std::int64_t total)>& progress);

// DataError unless the XXH3-128 of the file, or `found` of one that was read already, is what the metadata's `key` says.
void check_sum(const Path& path, const std::string& key, const std::string& expected);
void expect_sum(const Path& path, const std::string& key, const std::string& expected, const std::string& found);

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
// What `info` knows of one dataset, and the forms in which it says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "libcore/data/dataset_statistics.h"

namespace convoy::apps::preprocess {

struct Facts {
  std::string prefix;
  const data::IndexedDataset& dataset;
  std::int64_t vocabulary = 0;
  data::LengthStatistics lengths;
  data::TokenFrequencies frequencies;
  data::CrossEntropy entropy;

  std::int64_t bin_bytes() const;
  std::int64_t idx_bytes() const;
  double vocabulary_share() const;                  // of the vocabulary that occurs
  std::optional<double> text_bytes_a_token() const;  // where the metadata say how much text it was
};

std::string json_of(const Facts& facts);

void print_facts(const Facts& facts);  // to stdout
void print_entropy(const std::string& on, const data::CrossEntropy& entropy);

// One page for a browser: numbers, document lengths, token frequencies.
std::string page_of(const Facts& facts);

}  // namespace convoy::apps::preprocess

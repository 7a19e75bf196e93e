// SPDX-License-Identifier: Apache-2.0
// From options to a run that is known to be sound: opens the model's description and the data, gathers every problem,
// and settles what the options leave open. Allocates nothing of the model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libcore/checkpoint/weight_source.h"
#include "libcore/config/validate.h"
#include "libcore/data/blend.h"
#include "libcore/data/indexed_dataset.h"
#include "libcore/model/config.h"

namespace convoy::train {

struct NamedDataset {
  std::string name;
  data::IndexedDataset dataset;
};

struct PreparedRun {
  config::RunOptions options;
  config::Resolved resolved;
  model::Config model;
  std::string model_name;  // as the user gave it
  std::vector<data::IndexedDataset> data;
  data::BlendedSampler sampler;  // of them
  std::vector<NamedDataset> valid;
  std::unique_ptr<checkpoint::WeightSource> init_from;  // open and checked
};

// Throws ConfigError or DataError with all problems.
PreparedRun prepare(const config::RunOptions& options, const config::MachineFacts& machine);

// What is wrong with `options` whatever the data are: for a run that is planned before its data are there.
std::vector<std::string> problems_before_data(const config::RunOptions& options, const config::MachineFacts& machine);

}  // namespace convoy::train

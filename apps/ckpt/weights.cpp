// SPDX-License-Identifier: Apache-2.0
#include "apps/ckpt/weights.h"

#include "libcore/checkpoint/step_directory.h"

namespace convoy::apps::ckpt {

Weights open_weights(const std::string& path) {
  Weights weights;
  weights.folder = checkpoint::resolve_checkpoint(path);
  weights.step = checkpoint::parse_step_directory(weights.folder.filename().string());
  weights.config = model::read_config(weights.folder);
  weights.table = model::parameter_table(weights.config);
  std::vector<checkpoint::ExpectedTensor> expected;
  for (const model::Parameter& parameter : weights.table) expected.push_back({parameter.name, parameter.shape});
  weights.tensors = std::make_unique<checkpoint::HfFolder>(weights.folder, expected, weights.config.tied_embeddings);
  return weights;
}

}  // namespace convoy::apps::ckpt

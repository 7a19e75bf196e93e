// SPDX-License-Identifier: Apache-2.0
// A checkpoint or a Hugging Face folder, opened and held against the model that it says it is.
#pragma once

#include <string>
#include <vector>

#include "libcore/app/options.h"
#include "libcore/checkpoint/weight_source.h"
#include "libcore/model/parameters.h"

namespace convoy::apps::ckpt {

struct Source {
  checkpoint::WeightSource weights;
  model::Config config;
  std::vector<model::Parameter> table;

  const Path& folder() const { return weights.folder(); }
  const checkpoint::Checkpoint* checkpoint() const { return weights.checkpoint(); }  // null for a Hugging Face folder
};

// `path`: a run directory (its newest step), a step directory, or a Hugging Face folder. Every tensor of the model is
// there, and no other.
Source open_source(const std::string& path);

// The same, of which a Hugging Face folder is refused: ConfigError that says to import it first.
Source open_checkpoint(const std::string& path);

// What there is to read, tensor by tensor: a checkpoint's manifest; of a Hugging Face folder, its weights in one piece
// each, without digests.
checkpoint::Manifest inventory_of(const Source& source);
bool has_digests(const Source& source);

// The values of a box of tensor `tensor` of the inventory, as fp32 or as stored.
void read_box(const Source& source, const checkpoint::Manifest& inventory, std::size_t tensor, const tensor::Box& box,
              tensor::MutableView out);

// The widest of the weights' types, which holds every value: what config.json calls the model's.
tensor::DType widest_dtype(const Source& source);
std::string_view torch_name(tensor::DType dtype);  // "float32", "bfloat16", "float16"

// The operand of commands that read either kind, and of those that want a checkpoint.
app::Option source_operand(std::string& target, const std::string& name = "CKPT");
app::Option checkpoint_operand(std::string& target);

}  // namespace convoy::apps::ckpt

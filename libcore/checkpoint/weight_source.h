// SPDX-License-Identifier: Apache-2.0
// Weights to read, wherever they lie: a checkpoint of ours or a Hugging Face folder. Any box of any tensor, as fp32 or
// as it is stored, whatever layout wrote it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/checkpoint/checkpoint.h"
#include "libcore/checkpoint/hf_folder.h"

namespace convoy::checkpoint {

class WeightSource {
 public:
  // `path`: a run directory (its newest committed step), a step directory, or a Hugging Face folder. The model's
  // description is read, and the structure of a checkpoint checked; the tensors are held against a model by expect().
  // ConfigError if `path` does not exist, DataError if it holds no weights.
  explicit WeightSource(const Path& path);
  ~WeightSource();
  WeightSource(WeightSource&&) noexcept;
  WeightSource& operator=(WeightSource&&) noexcept;

  const Path& folder() const;                // the step directory or the Hugging Face folder
  std::optional<std::int64_t> step() const;  // of a checkpoint
  const std::string& model_config() const;   // config.json's text, for model::parse_config
  const std::string& config_name() const;    // what to call that text in messages
  const Checkpoint* checkpoint() const;      // null for a Hugging Face folder

  // The tensors that a model has, the embedding first; comes before all reads. DataError lists those that lack, have
  // another shape, or are not the model's. `tied_head`: lm_head.weight may be stored too if it equals the embedding.
  void expect(const std::vector<ExpectedTensor>& expected, bool tied_head);

  // The values of a box, row-major: `out` is dense [box.extent], fp32 (to which bf16 and fp16 are widened exactly) or
  // of the stored type. A checkpoint's bytes are held against their checksums.
  void read(const std::string& name, const tensor::Box& box, tensor::MutableView out) const;
  void read(const std::string& name, tensor::MutableView out) const;  // all of it
  tensor::DType dtype(const std::string& name) const;                 // as stored

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace convoy::checkpoint

// SPDX-License-Identifier: Apache-2.0
// A Hugging Face model folder: model.safetensors, or the shards that model.safetensors.index.json names (other files
// are ignored). Tensors are looked up by our unfused names; GPT-2's fused c_attn is split and joined here, in one
// place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libcore/checkpoint/safetensors.h"
#include "libcore/tensor/box.h"

namespace convoy::checkpoint {

// A tensor that the folder must hold, under our name.
struct ExpectedTensor {
  std::string name;
  tensor::Shape shape;
};

// The table's entries as such: anything that has a name and a global shape.
template <class Table>
std::vector<ExpectedTensor> expected_tensors(const Table& table) {
  std::vector<ExpectedTensor> expected;
  for (const auto& entry : table) expected.push_back({entry.name, entry.shape});
  return expected;
}

class HfFolder {
 public:
  // Opens every file and checks structure and names: DataError lists the tensors that lack, have another shape, are of
  // an unsupported dtype, or are not the model's. `tied_head`: lm_head.weight may be there too if its bytes are those
  // of the embedding, which is the first of `expected`.
  HfFolder(const Path& folder, const std::vector<ExpectedTensor>& expected, bool tied_head);
  ~HfFolder();

  // The tensor's values as fp32 (fp32, bf16 and fp16 are widened exactly), [shape] dense.
  void read(const std::string& name, tensor::MutableView out) const;
  // A box of it alone, [box.extent] dense, as fp32 or as it is stored.
  void read(const std::string& name, const tensor::Box& box, tensor::MutableView out) const;
  tensor::DType dtype(const std::string& name) const;  // as stored: fp32, bf16 or fp16
  const Path& folder() const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

// Writes config.json, generation_config.json and model.safetensors (fp32, or bf16 rounded to nearest even) into
// `folder`, which must exist (use AtomicDirectory to commit it). `tensors` are fp32 under our unfused names, in table
// order.
struct HfWriteOptions {
  tensor::DType dtype = tensor::DType::kF32;
  std::string config_json;
};
void write_hf_folder(const Path& folder, const std::vector<NamedTensor>& tensors, const HfWriteOptions& options);

// generation_config.json as transformers derives it from a model's configuration.
std::string generation_config(const std::string& config_json);

// Our unfused fp32 tensors under Hugging Face's names, GPT-2's c_attn joined: for write_hf_folder and --dump-gradients.
void write_hf_tensors(const Path& file, const std::vector<NamedTensor>& tensors, tensor::DType dtype);

}  // namespace convoy::checkpoint

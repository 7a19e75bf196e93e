// SPDX-License-Identifier: Apache-2.0
// Hugging Face's tensors against ours: GPT-2's c_attn holds our q_attn, k_attn and v_attn side by side; all other names
// are the same. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libcore/tensor/shape.h"

namespace convoy::checkpoint {

// A tensor of a Hugging Face file, and which of our tensors lie side by side along its last dimension.
struct HfTensor {
  std::string name;
  tensor::Shape shape;
  std::vector<std::size_t> parts;  // indices into the list that hf_tensors was given
};

struct NamedShape {
  std::string name;
  tensor::Shape shape;
};

// The tensors of a Hugging Face file that hold these tensors of ours, in the order of their first parts. InternalError
// if a fused tensor lacks a part.
std::vector<HfTensor> hf_tensors(const std::vector<NamedShape>& ours);

// Buffers that older files hold and that carry no weights: GPT-2's causal mask, Llama's rotary frequencies.
bool is_ignorable_buffer(std::string_view name);

}  // namespace convoy::checkpoint

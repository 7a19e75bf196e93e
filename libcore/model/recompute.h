// SPDX-License-Identifier: Apache-2.0
// Activation recomputation (Chen et al., 2016): what a block does not keep from its forward pass its backward makes
// again, out of what it keeps, by the same operations on the same numbers: results are the same to the bit.
#pragma once

#include <string_view>

namespace convoy::model {

// The choice of kSelective is by the memory that a floating-point operation buys. In bf16 an element of a norm's output
// is 2 bytes for some 8 operations, one of GELU or SwiGLU 2 bytes for some 20: a tenth of a byte each, and a pass over
// rows that memory bounds anyway. Outputs of products cost 2 C operations an element, those of attention about 2 T:
// a thousandth of a byte, and they are kept. That is 10 C of 16 C bytes a row and block of GPT-2, for some hundredth of
// its time.
enum class Recompute {
  kNone,       // everything that backward reads is kept
  kSelective,  // norm outputs and activation outputs are not; no product is done twice
  kFull,       // of a block only its input is; its forward runs twice but for its last product
};

// What making a tensor of a block's forward again costs.
enum class Remaking {
  kNever,    // it is the block's input
  kProduct,  // matrix products or attention
  kRows,     // a pass over the rows of what needs products
};

constexpr bool keeps(Recompute recompute, Remaking remaking) {
  if (recompute == Recompute::kNone || remaking == Remaking::kNever) return true;
  return recompute == Recompute::kSelective && remaking == Remaking::kProduct;
}

// "none", "selective", "full"; InternalError for another text.
Recompute parse_recompute(std::string_view text);
std::string_view name_of(Recompute recompute);

}  // namespace convoy::model

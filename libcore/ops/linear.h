// SPDX-License-Identifier: Apache-2.0
// Matrix products with weights: forward, and the two halves of backward. Products accumulate in fp32 whatever the
// dtype.
//
//   x [M, K] --(w [N, K])--> y [M, N];   dy [M, N] --> dx [M, K] = dy w,   dweight [N, K] += dy^T x
//
// M may be any number of rows, also changing from call to call; rows may be strided.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "libcore/device/stream.h"
#include "libcore/tensor/view.h"

namespace convoy::ops {

using device::Stream;
using tensor::DType;
using tensor::MutableView;
using tensor::View;

// How a weight lies in memory: as torch.nn.Linear (Llama) or as GPT-2's Conv1D.
enum class WeightLayout { kOutIn, kInOut };

enum class Activation { kNone, kGeluTanh };

// One or several weights that share their input, side by side along N (q, k and v; gate and up), with their biases, in
// the form the backend's products want. Opaque: made once for its shape, filled by pack_weight once a step, read many
// times.
// A copy is another handle of the same memory: for weights of one shape that are packed in turn.
class PackedWeight {
 public:
  struct Storage;  // the backend's
  PackedWeight() = default;
  // Allocates. `dtype` is that of the weights and activations (fp32, bf16 or fp16); outputs of the parts sum up to N.
  PackedWeight(Stream& stream, DType dtype, WeightLayout layout, std::span<const std::int64_t> part_outputs,
               std::int64_t inputs, bool has_bias);

  DType dtype() const;
  WeightLayout layout() const;
  std::int64_t outputs() const;  // N
  std::int64_t inputs() const;   // K
  bool has_bias() const;
  std::span<const std::int64_t> part_outputs() const;
  std::size_t bytes() const;  // held by the packed forms
  Storage& storage() const { return *storage_; }

 private:
  std::shared_ptr<Storage> storage_;
};

// Reads the parts' weights ([N_i, K] or [K, N_i] by layout) and biases ([N_i], or none) into `packed`.
void pack_weight(Stream& stream, std::span<const View> weights, std::span<const View> biases, PackedWeight& packed);

struct LinearForward {
  View x;  // [M, K]
  const PackedWeight* w = nullptr;
  Activation activation = Activation::kNone;
  MutableView
      preactivation;  // [M, N] optional: x w^T + bias, for the activation's backward; y follows from it as rounded here
  View residual;      // [M, N] optional: added after the activation
  MutableView y;      // [M, N]; dtype of x, or fp32
};
void linear_forward(Stream& stream, const LinearForward& args);

struct LinearBackwardInput {
  View dy;  // [M, N]
  const PackedWeight* w = nullptr;
  MutableView dx;  // [M, K] overwritten
};
void linear_backward_input(Stream& stream, const LinearBackwardInput& args);

struct LinearBackwardWeight {
  View dy;  // [M, N]
  View x;   // [M, K]
  WeightLayout layout = WeightLayout::kOutIn;
  std::span<const MutableView> dweights;  // fp32, a part each, [N_i, K] or [K, N_i]: += the part's columns of dy^T x
  std::span<const MutableView> dbiases;   // fp32, [N_i] each, or none: += sum over rows of dy
};
void linear_backward_weight(Stream& stream, const LinearBackwardWeight& args);

struct LinearTable {
  void (*create)(Stream&, PackedWeight::Storage*&, void (*&destroy)(PackedWeight::Storage*), DType, WeightLayout,
                 std::span<const std::int64_t> part_outputs, std::int64_t inputs, bool has_bias);
  void (*pack)(Stream&, std::span<const View> weights, std::span<const View> biases, PackedWeight&);
  void (*forward)(Stream&, const LinearForward&);
  void (*backward_input)(Stream&, const LinearBackwardInput&);
  void (*backward_weight)(Stream&, const LinearBackwardWeight&);
};

}  // namespace convoy::ops

// SPDX-License-Identifier: Apache-2.0
// The one table of parameters. Initialisation, optimizer, gradient norm, checkpoints, import and export all walk it;
// nothing else knows how a tensor is named, shaped or split.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libcore/device/arena.h"
#include "libcore/device/stream.h"
#include "libcore/model/config.h"
#include "libcore/parallel/partition.h"
#include "libcore/tensor/box.h"
#include "libcore/tensor/view.h"

namespace convoy::model {

// Over tensor-parallel ranks: not at all, along dimension 0, along dimension 1.
enum class Split { kReplicated, kRows, kColumns };
// What the split dimension is made of: a rank holds whole units of it.
enum class SplitUnit { kNone, kHead, kKeyValueHead, kFfn, kVocabulary };
enum class Init { kNormal, kZero, kOne };

struct Parameter {
  std::string name;     // as in Hugging Face's files, unfused: "model.layers.0.self_attn.q_proj.weight"
  tensor::Shape shape;  // global, in the orientation of Hugging Face's file
  Init init = Init::kNormal;
  double init_std = 0.0;
  bool decays = false;  // weight decay applies: logical 2-D tensors
  Split split = Split::kReplicated;
  SplitUnit unit = SplitUnit::kNone;
  bool partial = false;  // under sequence parallelism, its gradient is a partial sum: of the rank's own rows
  int layer = -1;        // -1: before the layers (embeddings); L: after them (final norm, head)
};

// In model order. A tied head has no entry of its own.
std::vector<Parameter> parameter_table(const Config& config);
std::int64_t parameter_count(const std::vector<Parameter>& table);

// An entry of the table as one rank holds it.
struct LocalParameter : Parameter {  // `shape` stays global
  tensor::Box box;                   // what this rank holds of it
  // This copy is the one that the gradient norm counts and that checkpoints store: not a replica of another TP rank's,
  // not the tied head's copy of the embedding.
  bool primary = true;
  bool tied_end = false;  // a tied embedding that is cut off from its other use by the pipeline: gradients are summed
  // `partial` says here what is so in this rank's layout: its gradient is one term of the sum over the tensor-parallel
  // ranks that hold the same part of the tensor. The group holds `parts` different ones, this rank number `part`.
  int part = 0, parts = 1;

  const tensor::Shape& local_shape() const { return box.extent; }
};

// Training FLOPs a token, by the convention below.
inline constexpr const char* kFlopsConvention =
    "6 N + 6 L T H D a token, forward and backward: N the weights that are multiplied with (the head's among them, the "
    "embedding's not), causal attention counted by half, a multiplication and an addition as two; recomputation is not "
    "counted";
double training_flops_per_token(const Config& config, std::int64_t sequence_length);

// The weights (compute dtype) and fp32 gradients of this rank, each one arena in table order.
class Parameters {
 public:
  Parameters(std::vector<LocalParameter> table, tensor::DType compute, bool with_gradients);
  // Whole tensors.
  Parameters(const std::vector<Parameter>& table, tensor::DType compute, bool with_gradients);

  const std::vector<LocalParameter>& table() const { return table_; }
  std::size_t size() const { return table_.size(); }
  bool contains(std::string_view name) const;
  std::size_t index(std::string_view name) const;  // InternalError if there is none
  tensor::DType compute_dtype() const { return compute_; }
  tensor::MutableView weight(std::size_t i) const;    // [local_shape()]
  tensor::MutableView gradient(std::size_t i) const;  // fp32
  void zero_gradients(device::Stream& stream);

 private:
  std::vector<LocalParameter> table_;
  tensor::DType compute_;
  std::vector<std::size_t> weight_offset_, gradient_offset_;
  device::Arena weights_{"weights"};
  device::Arena gradients_{"gradients"};
};

// The initial fp32 values of one parameter: N(0, std) keyed by (seed, name, global element), or constants.
void initial_values(const Parameter& parameter, std::uint64_t seed, device::Stream& stream, tensor::MutableView out);
// Of the flat range `range` of what a rank holds: the same values, whoever computes them. out: range.size() elements.
void initial_values(const LocalParameter& parameter, const parallel::Range& range, std::uint64_t seed,
                    device::Stream& stream, tensor::MutableView out);

}  // namespace convoy::model

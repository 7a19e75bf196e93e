// SPDX-License-Identifier: Apache-2.0
// The one table of parameters. Initialisation, optimizer, gradient norm, checkpoints, import and export all walk it;
// nothing else knows how a tensor is named, shaped or split.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libcore/device/stream.h"
#include "libcore/model/config.h"
#include "libcore/model/parameter_memory.h"
#include "libcore/parallel/layer_shards.h"
#include "libcore/parallel/partition.h"
#include "libcore/parallel/sharding.h"
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

// The weights (compute dtype) and fp32 gradients of this rank.
class Parameters {
 public:
  // `sharding`: what of them the replicas share; `layers` of the whole model, needed where they share some.
  Parameters(std::vector<LocalParameter> table, tensor::DType compute, bool with_gradients,
             const parallel::Sharding& sharding = {}, std::int64_t layers = 0);
  // Whole tensors.
  Parameters(const std::vector<Parameter>& table, tensor::DType compute, bool with_gradients);

  const std::vector<LocalParameter>& table() const { return table_; }
  std::size_t size() const { return table_.size(); }
  bool contains(std::string_view name) const;
  std::size_t index(std::string_view name) const;  // InternalError if there is none
  tensor::DType compute_dtype() const { return compute_; }
  const parallel::Sharding& sharding() const { return sharding_; }
  const std::vector<parallel::Unit>& units() const { return units_; }
  parallel::Range share(std::size_t i) const { return sharding_.share(table_[i].box.count()); }  // that it updates

  // Whole, [local_shape()]: where the model reads weights and adds gradients (fp32). Under ZeRO 2 (gradients) and 3
  // (weights) these are rooms, which layers take in turn (parallel::LayerShards).
  tensor::MutableView weight(std::size_t i) const { return weights_.whole(i); }
  tensor::MutableView gradient(std::size_t i) const;
  // What is kept from step to step, flat: whole, or the rank's share alone. And elements `range` of it.
  tensor::MutableView kept_weight(std::size_t i) const { return weights_.kept(i); }
  tensor::MutableView kept_gradient(std::size_t i) const { return gradients_.kept(i); }
  tensor::MutableView weight_part(std::size_t i, const parallel::Range& range) const { return weights_.part(i, range); }
  tensor::MutableView gradient_part(std::size_t i, const parallel::Range& range) const {
    return gradients_.part(i, range);
  }
  void zero_gradients(device::Stream& stream);  // those that are kept: rooms are emptied by who fills them

  // Bytes that are kept, and that layers take in turn.
  std::size_t kept_weight_bytes() const { return weights_.kept_bytes(); }
  std::size_t kept_gradient_bytes() const { return gradients_.kept_bytes(); }
  std::size_t room_bytes() const { return weights_.room_bytes() + gradients_.room_bytes(); }

 private:
  std::vector<LocalParameter> table_;
  tensor::DType compute_;
  parallel::Sharding sharding_;
  std::vector<parallel::Unit> units_;
  ParameterMemory weights_, gradients_;
};

// What parallel::LayerShards exchanges of them.
parallel::ShardedTensors sharded_tensors(const Parameters& parameters);

// The initial fp32 values of one parameter: N(0, std) keyed by (seed, name, global element), or constants.
void initial_values(const Parameter& parameter, std::uint64_t seed, device::Stream& stream, tensor::MutableView out);
// Of the flat range `range` of what a rank holds: the same values, whoever computes them. out: range.size() elements.
void initial_values(const LocalParameter& parameter, const parallel::Range& range, std::uint64_t seed,
                    device::Stream& stream, tensor::MutableView out);

}  // namespace convoy::model

// SPDX-License-Identifier: Apache-2.0
// A decoder-only language model, or one rank's part of it: embedding, L blocks, final norm and classifier, forward and
// hand-written backward over a Parameters. All memory is taken at construction; a step allocates nothing.
//
// Tensor parallelism (Shoeybi et al., 2019): every rank of the group makes the same calls with the same batches, holds
// its part of the heads, of the ffn width and of the vocabulary, and gets the same losses. The group sums, in forward,
// the embedding's rows and the two branches of a block, and exchanges the classifier's statistics; in backward, the
// gradients of the inputs of a block's two halves and of the classifier. Gradients of whole tensors (norms, positions,
// biases behind a sum) come out equal on all its ranks. Under sequence parallelism (sequence_parallel.h) a norm's
// gradient is that of the rank's own rows: partial_gradients() names it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "libcore/model/dropout.h"
#include "libcore/model/parameters.h"
#include "libcore/model/recompute.h"
#include "libcore/model/shard.h"

namespace convoy::model {

// One micro-batch.
struct Batch {
  tensor::View tokens;   // [B, T] i32
  tensor::View targets;  // [B, T] i32, ops::kIgnoredTarget where none counts
  tensor::View
      positions;  // [B, T] i32 optional: position in its own document; absent: 0 .. T-1 and one document a window
  // What masks are drawn from; absent: nothing is dropped, as in evaluation. The same in all passes over the batch.
  std::optional<DropoutDraw> dropout = std::nullopt;
};

struct LossSum {
  double sum = 0.0;          // of -ln p(target) over the counted targets
  std::int64_t targets = 0;  // how many counted

  LossSum& operator+=(const LossSum& other) {
    sum += other.sum;
    targets += other.targets;
    return *this;
  }
};

// The gradients of parameters [begin, end) of this rank's table are final for this micro-batch.
using GradientsReady = std::function<void(std::size_t begin, std::size_t end)>;

// What a model tells whoever moves its parameters (parallel::LayerShards), by the index of any one of those that it
// computes with next: of the embeddings, a layer or the head.
struct ParameterHooks {
  // The weights are about to be read, and those of `next` after them (LayerShards::kNone: nobody's).
  std::function<void(std::size_t index, std::size_t next)> weights_needed;
  // Something is about to be added to the gradients.
  std::function<void(std::size_t index)> gradients_needed;
};

struct ModelSize {
  std::int64_t batch = 0;     // B: sequences a micro-batch at most
  std::int64_t sequence = 0;  // T at most
  bool training = true;       // false saves no activations for backward
  // Micro-batches whose activations are kept at one time (parallel::activation_sets), a chunk.
  std::vector<int> sets = {1};
  Recompute recompute = Recompute::kNone;  // of what backward reads of the blocks
};

class Model {
 public:
  // This rank's part of a model: its chunks in model order, over one table of all their parameters. Every rank of the
  // TP group makes the same calls.
  Model(device::Stream& stream, const Config& config, Parameters& parameters, const std::vector<Shard>& chunks,
        const ModelSize& size);
  // A part that is one chunk.
  Model(device::Stream& stream, const Config& config, Parameters& parameters, const Shard& shard,
        const ModelSize& size);
  // The whole model. `batch` = B sequences a micro-batch, `sequence` = T at most. `training` false saves no activations
  // for backward.
  Model(device::Stream& stream, const Config& config, Parameters& parameters, std::int64_t batch, std::int64_t sequence,
        bool training);
  ~Model();

  // Before the first pass, where parameters are shared between replicas.
  void set_hooks(ParameterHooks hooks);
  // Reads the weights into the form the products want; call after every change of the weights, before the next forward.
  // Weights that come and go (ZeRO 3) are packed whenever they have come.
  void pack(device::Stream& stream);

  // Backward where there is one stage, from the loss on, after forward(stream, batch, 0) of the same batch: adds the
  // gradients of (gradient_scale x the sum of token losses) to parameters.gradient(). `ready` may be empty; it is
  // called for every index once, from the head over the last block down to the embeddings, the token embedding last and
  // alone.
  LossSum backward(device::Stream& stream, const Batch& batch, float gradient_scale, const GradientsReady& ready = {});
  // Forward alone where there is one stage. Leaves everything that training uses as it was.
  LossSum evaluate(device::Stream& stream, const Batch& batch);
  // Logits of one position (row `row` of the B T rows): fp32, V of them. On one rank.
  void logits(device::Stream& stream, const Batch& batch, std::int64_t row, tensor::MutableView out);

  // One chunk of a pipeline stage (which has one, number 0, without virtual stages), over one set of activations a
  // micro-batch in flight. The model's first chunk reads the batch's tokens, the others input(set); what leaves a chunk
  // but the last is output(set). All are given the whole batch, for its shape, positions and (in the last) targets.
  void forward(device::Stream& stream, const Batch& batch, int set, int chunk = 0);
  // The gradient of the chunk's input, from output_gradient() or, in the last chunk, from the loss, which it returns
  // (the classifier's and final norm's gradients are added here: logits are not kept). backward_weight() of the same
  // set must follow before the chunk's next backward_input(). Where blocks recompute, their weights get their gradients
  // here too, as long as what was made again is there: `ready` is told of them, and backward_weight() tells of the
  // rest.
  LossSum backward_input(device::Stream& stream, const Batch& batch, int set, float gradient_scale, int chunk = 0,
                         const GradientsReady& ready = {});
  void backward_weight(device::Stream& stream, const Batch& batch, int set, const GradientsReady& ready, int chunk = 0);
  // The loss of the last chunk after forward(), where nothing will be trained.
  LossSum loss(device::Stream& stream, const Batch& batch, int set, int chunk = 0);
  bool has_loss(int chunk) const;  // it is the model's last
  // [R, C] of the micro-batch `batch`: its B T rows, or this rank's own of them. input(): until the set's
  // backward_weight(); output(): until the chunk's next forward() or backward_input(); output_gradient(): may be
  // written as soon as the last backward_input() is done; input_gradient(): until the next backward_input().
  tensor::MutableView input(const Batch& batch, int set, int chunk = 0);
  tensor::View output(const Batch& batch, int set, int chunk = 0);
  tensor::MutableView output_gradient(const Batch& batch, int chunk = 0);
  tensor::View input_gradient(const Batch& batch, int chunk = 0);

  std::size_t activation_bytes() const;
  std::size_t packed_bytes() const;

 private:
  struct Network;
  Network& whole();  // of a model of one stage

  ParameterHooks hooks_;
  std::vector<std::unique_ptr<Network>> networks_;  // a chunk
};

}  // namespace convoy::model

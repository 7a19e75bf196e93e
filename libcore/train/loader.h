// SPDX-License-Identifier: Apache-2.0
// Turns windows of the token stream into micro-batches: inputs, targets one further on, and the rules that say which
// targets count and where documents start.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libcore/data/blend.h"
#include "libcore/data/indexed_dataset.h"
#include "libcore/model/model.h"
#include "libcore/tensor/tensor.h"

namespace convoy::train {

struct SampleRules {
  std::int64_t vocabulary = 0;               // V: every id is checked against it
  bool document_positions = false;           // positions restart with every document, and attention stays inside it
  std::optional<std::int32_t> ignore_after;  // the target after this input token does not count
};

// The tensors of B samples of T tokens. Rows that were never filled, or cleared, count nothing.
class MicroBatch {
 public:
  MicroBatch(std::int64_t batch, std::int64_t sequence, bool with_positions);

  // Reads tokens [first, first + T] of the stream into row `row`. DataError if an id is beyond the vocabulary.
  void load(std::int64_t row, const data::IndexedDataset& dataset, std::int64_t first, const SampleRules& rules);
  // The same of a window of T + 1 tokens that are of no data set. A token whose target does not count ends a document.
  void fill(std::int64_t row, std::span<const std::int32_t> window, const SampleRules& rules);
  void clear(std::int64_t row);

  model::Batch batch() const;
  std::int64_t rows() const { return tokens_.shape()[0]; }
  std::int64_t targets() const;  // how many count

 private:
  void set(std::int64_t row, std::span<const std::int32_t> window, const SampleRules& rules);

  tensor::Tensor tokens_;              // [B, T] i32
  tensor::Tensor targets_;             // [B, T] i32
  tensor::Tensor positions_;           // [B, T] i32, if asked for
  std::vector<std::int32_t> window_;   // T + 1
  std::vector<std::int64_t> counted_;  // a row
};

// All micro-batches of one replica's part of a global batch, in the order of their samples: micro-batch i holds slots
// [iB, (i + 1)B) of the part.
class GlobalBatch {
 public:
  GlobalBatch(std::int64_t micro_batches, std::int64_t batch, std::int64_t sequence, const SampleRules& rules);

  // From now on it has the first `micro_batches` alone, at most as many as it was made with.
  void use(std::int64_t micro_batches);

  // Fills it with global samples [first, first + samples()).
  void load(std::span<const data::IndexedDataset> sets, const data::BlendedSampler& sampler, std::int64_t first);

  // Fills it with samples() windows of T + 1 tokens, one behind the other.
  void fill(std::span<const std::int32_t> tokens);

  // What masks of dropout are drawn from for the samples at hand; draw.first_slot is the first one's.
  void draw(const model::DropoutDraw& draw) { draw_ = draw; }

  std::int64_t samples() const;
  model::Batch batch(std::int64_t micro_batch) const;

  std::span<const MicroBatch> micro_batches() const { return std::span(micro_batches_).first(used_); }
  std::int64_t targets() const;

 private:
  std::span<MicroBatch> used() { return std::span(micro_batches_).first(used_); }

  SampleRules rules_;
  std::vector<MicroBatch> micro_batches_;
  std::size_t used_ = 0;
  std::optional<model::DropoutDraw> draw_;
};

// The position of each of the tokens [first, first + out.size()) in its own document; the first of them starts at 0.
void document_positions(const data::IndexedDataset& dataset, std::int64_t first, std::span<std::int32_t> out);

}  // namespace convoy::train

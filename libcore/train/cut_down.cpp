// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/cut_down.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/error.h"

namespace convoy::train {
namespace {

constexpr std::int64_t kHeadSize = 8;
constexpr std::int64_t kHeads = 32;           // at most, unless there are more ranks
constexpr std::int64_t kVocabulary = 131;     // prime: no group of ranks divides it
constexpr std::int64_t kSequenceLength = 16;  // at most
constexpr std::int64_t kMicroBatch = 2;       // sequences at most
// Standard deviation of a product's weights, times the root of the width: activations of about that size, so that
// attention is not flat and every gradient stands out from rounding.
constexpr double kActivation = 0.6;

struct Heads {
  std::int64_t key_value = 0, group = 0;  // query heads that share one
};

// Two key/value heads a rank where the model has so many, and its group, unless that makes the model wide: then one,
// and a smaller group. Where ranks share a head, as many as in the model.
Heads heads_of(const model::Config& model, int tensor) {
  Heads heads{.key_value = std::min<std::int64_t>(tensor, model.key_value_heads),
              .group = model.heads / model.key_value_heads};
  if (model.key_value_heads >= 2 * tensor && 2 * tensor * heads.group <= kHeads) heads.key_value = 2 * tensor;
  const std::int64_t sharing = std::max<std::int64_t>(1, tensor / heads.key_value);  // ranks: each has queries
  const std::int64_t most = std::max<std::int64_t>(2, kHeads / heads.key_value);
  if (heads.group > most) heads.group = std::max<std::int64_t>(1, most / sharing) * sharing;
  return heads;
}

// Two layers in each chunk whose share of the model is above the smallest one, and in all if all are alike; one else.
std::vector<std::int64_t> layers_a_chunk(const parallel::Layout& layout, std::int64_t layers) {
  std::vector<std::int64_t> counts;
  for (int chunk = 0; chunk < layout.chunks(); ++chunk) {
    counts.push_back(parallel::layers_of(layout, layers, chunk).size());
  }
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  const std::int64_t smallest = *least;
  const bool alike = smallest == *most;
  for (std::int64_t& count : counts) count = count > smallest || (alike && count > 1) ? 2 : 1;
  return counts;
}

}  // namespace

SmallRun cut_down(const model::Config& model, const parallel::Layout& layout, std::int64_t sequence_length,
                  std::int64_t micro_batch, std::int64_t micro_batches) {
  check(layout.chunks() <= model.layers && model.heads % layout.tensor == 0, "a layout is legal for its model");
  SmallRun run{.model = model, .layout = layout};
  const std::vector<std::int64_t> split = layers_a_chunk(layout, model.layers);
  run.layout.pipeline_split = split;
  run.model.layers = 0;
  for (const std::int64_t count : split) run.model.layers += count;

  const Heads heads = heads_of(model, layout.tensor);
  run.model.key_value_heads = heads.key_value;
  run.model.heads = heads.key_value * heads.group;
  run.model.head_size = kHeadSize;
  run.model.width = run.model.heads * kHeadSize;
  run.model.ffn_width = 2 * run.model.width + 5;
  run.model.vocabulary = std::max<std::int64_t>(kVocabulary, 2 * layout.tensor + 1);
  run.model.initializer_range = kActivation / std::sqrt(static_cast<double>(run.model.width));
  run.model.bos_id = run.model.eos_id = std::nullopt;

  run.sequence_length = std::min(sequence_length, kSequenceLength);
  run.model.positions = std::max(run.sequence_length, std::min(model.positions, 2 * kSequenceLength));
  run.micro_batch = std::min(micro_batch, kMicroBatch);
  // Fewer micro-batches than stages stay fewer; else a few more than stages show what 1F1B does when all are busy.
  run.micro_batches = std::min<std::int64_t>(micro_batches, layout.pipeline + 2);
  return run;
}

}  // namespace convoy::train

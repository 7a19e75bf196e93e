// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "libcore/base/error.h"
#include "libcore/ops/classifier.h"

namespace convoy::train {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

void check_ids(std::span<const std::int32_t> window, const data::IndexedDataset& dataset, std::int64_t first,
               std::int64_t vocabulary) {
  const auto beyond = std::find_if(window.begin(), window.end(), [&](std::int32_t id) { return id >= vocabulary; });
  if (beyond == window.end()) return;
  throw DataError(
      fmt::format("{}.bin: token {} is id {}, beyond the model's vocabulary of {}: the data was made for another "
                  "model, or the file was damaged",
                  dataset.prefix().string(), first + (beyond - window.begin()), *beyond, vocabulary));
}

// The first document that ends after `token`.
std::int64_t document_of(const data::IndexedDataset& dataset, std::int64_t token) {
  std::int64_t low = 0, high = dataset.documents() - 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (dataset.document(middle).second > token) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

void document_positions(const data::IndexedDataset& dataset, std::int64_t first, std::span<std::int32_t> out) {
  std::int64_t document = document_of(dataset, first);
  std::int64_t end = dataset.document(document).second;
  std::int32_t position = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t token = first + static_cast<std::int64_t>(i);
    if (token == end) position = 0;
    while (token == end && document + 1 < dataset.documents()) end = dataset.document(++document).second;
    out[i] = position++;
  }
}

MicroBatch::MicroBatch(std::int64_t batch, std::int64_t sequence, bool with_positions)
    : tokens_(Shape{batch, sequence}, DType::kI32),
      targets_(Shape{batch, sequence}, DType::kI32),
      window_(static_cast<std::size_t>(sequence + 1)),
      counted_(static_cast<std::size_t>(batch), 0) {
  if (with_positions) positions_ = Tensor(Shape{batch, sequence}, DType::kI32);
  for (std::int64_t row = 0; row < batch; ++row) clear(row);
}

void MicroBatch::load(std::int64_t row, const data::IndexedDataset& dataset, std::int64_t first,
                      const SampleRules& rules) {
  dataset.read(first, window_);
  check_ids(window_, dataset, first, rules.vocabulary);
  set(row, window_, rules);
  if (!rules.document_positions) return;
  const std::int64_t length = tokens_.shape()[1];
  const std::span positions(positions_.as<std::int32_t>() + row * length, static_cast<std::size_t>(length));
  document_positions(dataset, first, positions);
}

void MicroBatch::fill(std::int64_t row, std::span<const std::int32_t> window, const SampleRules& rules) {
  check(window.size() == window_.size(), "a sample has T + 1 tokens");
  set(row, window, rules);
  if (!rules.document_positions) return;
  const std::int64_t length = tokens_.shape()[1];
  std::int32_t* positions = positions_.as<std::int32_t>() + row * length;
  std::int32_t position = 0;
  for (std::int64_t t = 0; t < length; ++t) {
    positions[t] = position++;
    if (rules.ignore_after && window[static_cast<std::size_t>(t)] == *rules.ignore_after) position = 0;
  }
}

void MicroBatch::set(std::int64_t row, std::span<const std::int32_t> window, const SampleRules& rules) {
  const std::int64_t length = tokens_.shape()[1];
  std::copy_n(window.begin(), length, tokens_.as<std::int32_t>() + row * length);
  std::int32_t* targets = targets_.as<std::int32_t>() + row * length;
  std::int64_t counted = 0;
  for (std::int64_t t = 0; t < length; ++t) {
    const std::size_t i = static_cast<std::size_t>(t);
    const bool counts = !rules.ignore_after || window[i] != *rules.ignore_after;
    targets[t] = counts ? window[i + 1] : ops::kIgnoredTarget;
    counted += counts;
  }
  counted_[static_cast<std::size_t>(row)] = counted;
}

void MicroBatch::clear(std::int64_t row) {
  const std::int64_t length = tokens_.shape()[1];
  std::fill_n(tokens_.as<std::int32_t>() + row * length, length, 0);
  std::fill_n(targets_.as<std::int32_t>() + row * length, length, ops::kIgnoredTarget);
  counted_[static_cast<std::size_t>(row)] = 0;
  if (positions_.shape().rank() == 0) return;
  std::int32_t* positions = positions_.as<std::int32_t>() + row * length;
  std::iota(positions, positions + length, 0);
}

model::Batch MicroBatch::batch() const {
  model::Batch batch{tokens_.view(), targets_.view(), {}};
  if (positions_.shape().rank() != 0) batch.positions = positions_.view();
  return batch;
}

std::int64_t MicroBatch::targets() const { return std::accumulate(counted_.begin(), counted_.end(), std::int64_t{0}); }

GlobalBatch::GlobalBatch(std::int64_t micro_batches, std::int64_t batch, std::int64_t sequence,
                         const SampleRules& rules)
    : rules_(rules) {
  for (std::int64_t i = 0; i < micro_batches; ++i)
    micro_batches_.emplace_back(batch, sequence, rules.document_positions);
  use(micro_batches);
}

void GlobalBatch::use(std::int64_t micro_batches) {
  check(micro_batches >= 1 && micro_batches <= static_cast<std::int64_t>(micro_batches_.size()),
        "a global batch is no larger than what was allocated for it");
  used_ = static_cast<std::size_t>(micro_batches);
}

void GlobalBatch::load(std::span<const data::IndexedDataset> sets, const data::BlendedSampler& sampler,
                       std::int64_t first) {
  std::int64_t sample = first;
  for (MicroBatch& micro_batch : used()) {
    for (std::int64_t row = 0; row < micro_batch.rows(); ++row, ++sample) {
      const data::BlendedSampler::Window window = sampler.window(sample);
      micro_batch.load(row, sets[window.set], window.first_token, rules_);
    }
  }
}

void GlobalBatch::fill(std::span<const std::int32_t> tokens) {
  check(tokens.size() % static_cast<std::size_t>(samples()) == 0, "samples are equally long");
  const std::size_t window = tokens.size() / static_cast<std::size_t>(samples());
  std::size_t sample = 0;
  for (MicroBatch& micro_batch : used()) {
    for (std::int64_t row = 0; row < micro_batch.rows(); ++row, ++sample) {
      micro_batch.fill(row, tokens.subspan(sample * window, window), rules_);
    }
  }
}

model::Batch GlobalBatch::batch(std::int64_t micro_batch) const {
  check(micro_batch >= 0 && micro_batch < static_cast<std::int64_t>(used_), "a step has this micro-batch");
  const MicroBatch& chosen = micro_batches_[static_cast<std::size_t>(micro_batch)];
  model::Batch batch = chosen.batch();
  batch.dropout = draw_;
  if (draw_) batch.dropout->first_slot += micro_batch * chosen.rows();
  return batch;
}

std::int64_t GlobalBatch::samples() const { return static_cast<std::int64_t>(used_) * micro_batches_.front().rows(); }

std::int64_t GlobalBatch::targets() const {
  std::int64_t total = 0;
  for (const MicroBatch& micro_batch : micro_batches()) total += micro_batch.targets();
  return total;
}

}  // namespace convoy::train

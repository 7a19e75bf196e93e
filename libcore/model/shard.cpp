// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/shard.h"

#include <fmt/format.h>

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/parallel/mesh.h"

namespace convoy::model {
namespace {

using parallel::Range;

Range part_of(std::int64_t count, const Shard& shard) {
  return parallel::partition(count, shard.tensor_size, shard.tensor_rank);
}

// How many ranks hold the same key/value head.
int key_value_copies(const Config& config, const Shard& shard) {
  return std::max(1, shard.tensor_size / static_cast<int>(config.key_value_heads));
}

// How many units the parameter's split dimension has, of the whole model.
std::int64_t unit_count(const Config& config, SplitUnit unit) {
  switch (unit) {
    case SplitUnit::kNone:
      return 1;
    case SplitUnit::kHead:
      return config.heads;
    case SplitUnit::kKeyValueHead:
      return config.key_value_heads;
    case SplitUnit::kFfn:
      return config.ffn_width;
    case SplitUnit::kVocabulary:
      return config.vocabulary;
  }
  throw InternalError("unknown unit of a split");
}

tensor::Box box_of(const Parameter& parameter, const Config& config, const Shard& shard) {
  tensor::Box box = tensor::whole(parameter.shape);
  if (parameter.split == Split::kReplicated) return box;
  const int dimension = parameter.split == Split::kRows ? 0 : 1;
  const std::int64_t units = unit_count(config, parameter.unit), size = parameter.shape[dimension] / units;
  check(size * units == parameter.shape[dimension], fmt::format("{} is split into whole units", parameter.name));
  const Range mine =
      parameter.unit == SplitUnit::kKeyValueHead ? key_value_heads_of(config, shard) : part_of(units, shard);
  box.offset = box.offset.with(dimension, mine.begin * size);
  box.extent = box.extent.with(dimension, mine.size() * size);
  return box;
}

bool is_token_embedding(const Parameter& parameter) {
  return parameter.layer < 0 && parameter.unit == SplitUnit::kVocabulary;
}

bool holds(const Shard& shard, const Parameter& parameter, const Config& config) {
  if (parameter.layer < 0) {
    return shard.first || (shard.last && config.tied_embeddings && is_token_embedding(parameter));
  }
  if (parameter.layer >= config.layers) return shard.last;
  return parameter.layer >= shard.layers.begin && parameter.layer < shard.layers.end;
}

}  // namespace

Shard whole_model(const Config& config) { return {.layers = {0, config.layers}}; }

std::vector<Shard> shards_at(const Config& config, const parallel::Layout& layout, const parallel::Coordinates& at) {
  std::vector<Shard> chunks;
  for (int i = 0; i < layout.virtual_stages; ++i) {
    const int chunk = parallel::chunk_of_model(layout, at.pipeline, i);
    chunks.push_back({.tensor_rank = at.tensor,
                      .tensor_size = layout.tensor,
                      .layers = parallel::layers_of(layout, config.layers, chunk),
                      .first = chunk == 0,
                      .last = chunk == layout.chunks() - 1,
                      .sequence_parallel = layout.sequence_parallel});
  }
  return chunks;
}

std::vector<Shard> shards_of(const Config& config, const parallel::Groups& groups) {
  std::vector<Shard> chunks = shards_at(config, groups.layout, groups.at);
  for (Shard& chunk : chunks) chunk.tensor_group = groups.tensor.get();
  return chunks;
}

Range heads_of(const Config& config, const Shard& shard) { return part_of(config.heads, shard); }
Range key_value_heads_of(const Config& config, const Shard& shard) {
  const int copies = key_value_copies(config, shard);
  if (copies == 1) return part_of(config.key_value_heads, shard);
  const int head = shard.tensor_rank / copies;
  return {head, head + 1};
}
Range ffn_of(const Config& config, const Shard& shard) { return part_of(config.ffn_width, shard); }
Range vocabulary_of(const Config& config, const Shard& shard) { return part_of(config.vocabulary, shard); }

Config local_config(const Config& config, const Shard& shard) {
  Config local = config;
  local.heads = heads_of(config, shard).size();
  local.key_value_heads = key_value_heads_of(config, shard).size();
  local.ffn_width = ffn_of(config, shard).size();
  local.vocabulary = vocabulary_of(config, shard).size();
  return local;
}

std::vector<LocalParameter> local_parameters(const Config& config, const Shard& shard) {
  return local_parameters(config, std::span(&shard, 1));
}

std::vector<LocalParameter> local_parameters(const Config& config, std::span<const Shard> chunks) {
  check(!chunks.empty(), "a rank has a chunk of the model");
  const Shard& shard = chunks.front();  // all have the same share of a matrix
  const bool first = std::any_of(chunks.begin(), chunks.end(), [](const Shard& chunk) { return chunk.first; });
  const bool last = std::any_of(chunks.begin(), chunks.end(), [](const Shard& chunk) { return chunk.last; });
  std::vector<LocalParameter> local;
  for (const Parameter& parameter : parameter_table(config)) {
    if (std::none_of(chunks.begin(), chunks.end(),
                     [&](const Shard& chunk) { return holds(chunk, parameter, config); })) {
      continue;
    }
    LocalParameter mine{parameter, box_of(parameter, config, shard)};
    mine.tied_end = config.tied_embeddings && is_token_embedding(parameter) && first != last;
    const bool is_copy = mine.tied_end && last;
    // Ranks [0, copies), [copies, 2 copies), .. hold the same.
    int copies = 1;
    if (parameter.split == Split::kReplicated) copies = shard.tensor_size;
    if (parameter.unit == SplitUnit::kKeyValueHead) copies = key_value_copies(config, shard);
    mine.primary = !is_copy && shard.tensor_rank % copies == 0;
    const bool of_own_rows = parameter.partial && shard.sequence_parallel;
    mine.partial = copies > 1 && (of_own_rows || parameter.unit == SplitUnit::kKeyValueHead);
    mine.part = shard.tensor_rank / copies;
    mine.parts = shard.tensor_size / copies;
    local.push_back(std::move(mine));
  }
  return local;
}

std::vector<parallel::PartialGradient> partial_gradients(const Parameters& parameters) {
  std::vector<parallel::PartialGradient> partial;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const LocalParameter& parameter = parameters.table()[i];
    if (parameter.partial) partial.push_back({i, parameters.gradient(i), parameter.part, parameter.parts});
  }
  return partial;
}

}  // namespace convoy::model

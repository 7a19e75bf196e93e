// SPDX-License-Identifier: Apache-2.0
#include "tests/equivalence/factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libcore/config/validate.h"

namespace convoy::equivalence {
namespace {

constexpr std::int64_t kLayers = 4, kHeads = 4, kHeadSize = 16, kLength = 64, kVocabulary = 257;
// Standard deviation of a product's weights, times the root of the width: activations of about that size, so that
// attention is not flat and every gradient stands out from rounding.
constexpr double kActivation = 0.6;
constexpr double kWidth = kHeads * kHeadSize;

Factor mesh_factor(const std::string& name, std::vector<int> sizes, std::function<void(Row&, int)> apply) {
  Factor factor{name, {}};
  for (const int size : sizes) {
    factor.values.push_back({fmt::format("{} {}", name, size), [size, apply](Row& row) { apply(row, size); }});
  }
  return factor;
}

template <class Member>
Factor text_factor(const std::string& name, std::vector<std::string> texts, Member member) {
  Factor factor{name, {}};
  for (const std::string& text : texts)
    factor.values.push_back({fmt::format("{} {}", name, text), [text, member](Row& row) { member(row) = text; }});
  return factor;
}

template <class Member>
Factor switch_factor(const std::string& name, Member member) {
  Factor factor{name, {}};
  for (const bool on : {false, true})
    factor.values.push_back(
        {fmt::format("{} {}", name, on ? "yes" : "no"), [on, member](Row& row) { member(row) = on; }});
  return factor;
}

Factor schedule_factor() {
  Factor factor{"schedule", {}};
  for (const std::string schedule : {"1f1b", "gpipe", "interleaved"}) {
    factor.values.push_back({schedule, [schedule](Row& row) {
                               row.options.layout.schedule = schedule;
                               row.options.layout.virtual_stages = schedule == "interleaved" ? 2 : 1;
                             }});
  }
  return factor;
}

Row usual_row() {
  Row row;
  config::RunOptions& options = row.options;
  options.model.model = "made-up";
  options.model.sequence_length = kLength;
  options.model.tie_embeddings = "yes";
  options.data.data = {"made-up"};
  options.batch.global_batch = kGlobalBatch;
  options.batch.micro_batch = 2;
  options.batch.steps = 20;
  options.device.precision = "fp32";
  options.device.threads = 1;
  options.output.out = "nowhere";
  return row;
}

config::Facts facts_of(const Row& row) {
  const model::Config model = model_of(row);
  config::Facts facts;
  facts.model.emplace();
  facts.model->name = "made-up";
  facts.model->vocabulary = model.vocabulary;
  facts.model->positions = model.positions;
  facts.model->layers = model.layers;
  facts.model->heads = model.heads;
  facts.model->key_value_heads = model.key_value_heads;
  facts.model->ffn_width = model.ffn_width;
  facts.train = {
      {.name = "", .prefix = "made-up", .tokens = 1'000'000, .vocabulary = {}, .largest_id = {}, .eos_id = {}}};
  facts.machine.world = row.ranks();
  facts.machine.cores = row.ranks();
  facts.machine.ranks_sharing = row.ranks();
  return facts;
}

// Of a batch that divides into the replicas and their micro-batches.
Row mesh_row(int data, int tensor, int pipeline) {
  Row row = usual_row();
  row.data = data;
  row.options.layout.tensor_parallel = tensor;
  row.options.layout.pipeline_parallel = pipeline;
  row.options.batch.micro_batch = kGlobalBatch % (2 * data) == 0 ? 2 : 1;
  const std::int64_t unit = data * *row.options.batch.micro_batch;
  row.options.batch.global_batch = (kGlobalBatch + unit - 1) / unit * unit;
  return row;
}

std::vector<Row> rows_of(const std::vector<Assignment>& assignments) {
  const std::vector<Factor> all = factors();
  std::vector<Row> rows;
  for (const Assignment& assignment : assignments) rows.push_back(row_of(all, assignment));
  return rows;
}

Legal legal_rule() {
  return [all = factors()](const Assignment& assignment) { return is_legal(row_of(all, assignment)); };
}

}  // namespace

std::vector<Factor> factors() {
  return {
      mesh_factor("dp", {1, 2, 4, 8}, [](Row& row, int size) { row.data = size; }),
      mesh_factor("tp", {1, 2, 4}, [](Row& row, int size) { row.options.layout.tensor_parallel = size; }),
      mesh_factor("pp", {1, 2, 4}, [](Row& row, int size) { row.options.layout.pipeline_parallel = size; }),
      schedule_factor(),
      mesh_factor("zero", {0, 1, 2, 3}, [](Row& row, int stage) { row.options.layout.zero = stage; }),
      switch_factor("sequence parallel", [](Row& row) -> bool& { return row.options.layout.sequence_parallel; }),
      text_factor("recompute", {"none", "selective", "full"},
                  [](Row& row) -> std::string& { return row.options.layout.recompute; }),
      mesh_factor("micro-batch", {1, 2, 4}, [](Row& row, int size) { row.options.batch.micro_batch = size; }),
      text_factor("precision", {"fp32", "bf16", "fp16"},
                  [](Row& row) -> std::string& { return row.options.device.precision; }),
      switch_factor("overlap", [](Row& row) -> bool& { return row.options.layout.overlap; }),
      text_factor("reduction", {"bucket", "tree"},
                  [](Row& row) -> std::string& { return row.options.layout.reduction; }),
      text_factor("order", {"tp,pp,dp", "dp,pp,tp"},
                  [](Row& row) -> std::string& { return row.options.layout.rank_order; }),
      switch_factor("documents", [](Row& row) -> bool& { return row.options.model.attention_reset_at_document; }),
      text_factor("tied", {"yes", "no"}, [](Row& row) -> std::string& { return row.options.model.tie_embeddings; }),
      switch_factor("llama", [](Row& row) -> bool& { return row.llama; }),
      Factor{"dropout",
             {{"dropout 0", [](Row& row) { row.options.model.dropout = 0.0; }},
              {"dropout 0.1", [](Row& row) { row.options.model.dropout = 0.1; }}}},
  };
}

std::vector<std::size_t> sizes_of(const std::vector<Factor>& factors) {
  std::vector<std::size_t> sizes;
  for (const Factor& factor : factors) sizes.push_back(factor.values.size());
  return sizes;
}

Row row_of(const std::vector<Factor>& factors, const Assignment& assignment) {
  Row row = usual_row();
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i].values[assignment[i]].apply(row);
  return row;
}

std::string text_of(const Row& row) {
  const config::LayoutOptions& layout = row.options.layout;
  std::string text = fmt::format("dp {} tp {} pp {}", row.data, layout.tensor_parallel, layout.pipeline_parallel);
  if (layout.pipeline_parallel > 1) text += fmt::format(" {}", layout.schedule);
  if (layout.zero > 0) text += fmt::format(" zero {}", layout.zero);
  if (layout.sequence_parallel) text += " sp";
  text += fmt::format(" mb {}", *row.options.batch.micro_batch);
  if (layout.recompute != "none") text += fmt::format(" {}", layout.recompute);
  if (!layout.overlap) text += " no-overlap";
  if (layout.reduction != "bucket") text += fmt::format(" {}", layout.reduction);
  if (layout.rank_order != "tp,pp,dp") text += fmt::format(" {}", layout.rank_order);
  text += fmt::format(" | {} {}", row.llama ? "llama" : "gpt2", row.options.device.precision);
  if (row.options.model.tie_embeddings == "no") text += " untied";
  if (row.options.model.attention_reset_at_document) text += " documents";
  if (row.options.model.dropout.value_or(0.0) > 0.0) text += fmt::format(" dropout {}", *row.options.model.dropout);
  return text;
}

model::Config model_of(const Row& row) {
  const config::LayoutOptions& layout = row.options.layout;
  model::Config model;
  model.architecture = row.llama ? model::Architecture::kLlama : model::Architecture::kGpt2;
  model.vocabulary = kVocabulary;
  model.layers = std::max(kLayers, layout.pipeline_parallel);
  const std::int64_t tensor = layout.tensor_parallel;
  model.heads = kHeads % tensor == 0 ? kHeads : (kHeads + tensor - 1) / tensor * tensor;
  model.key_value_heads = row.llama ? model.heads / 2 : model.heads;
  model.head_size = kHeadSize;
  model.width = model.heads * kHeadSize;
  model.ffn_width = row.llama ? 171 : 4 * model.width;
  model.positions = kLength;
  model.tied_embeddings = row.options.model.tie_embeddings == "yes";
  model.initializer_range = kActivation / std::sqrt(kWidth);
  model::set_dropout(model, row.options.model.dropout.value_or(0.0));
  return model;
}

std::vector<std::string> problems_of(const Row& row) {
  config::Problems problems;
  config::validate(row.options, facts_of(row), problems);
  std::vector<std::string> all = problems.usage;
  all.insert(all.end(), problems.data.begin(), problems.data.end());
  return all;
}

bool is_legal(const Row& row) { return row.ranks() <= kMostRanks && problems_of(row).empty(); }

train::SmallRun run_of(const Row& row) {
  const config::Resolved resolved = config::resolve(row.options, facts_of(row));
  return {.model = model_of(row),
          .layout = resolved.layout,
          .sequence_length = resolved.sequence_length,
          .micro_batch = resolved.micro_batch,
          .micro_batches = resolved.micro_batches,
          .recompute = model::parse_recompute(row.options.layout.recompute)};
}

std::vector<Row> all_meshes() {
  std::vector<Row> rows;
  for (int data = 1; data <= kMostRanks; ++data) {
    for (int tensor = 1; data * tensor <= kMostRanks; ++tensor) {
      for (int pipeline = 1; data * tensor * pipeline <= kMostRanks; ++pipeline)
        rows.push_back(mesh_row(data, tensor, pipeline));
    }
  }
  return rows;
}

std::vector<Row> covering_rows(std::uint64_t seed) {
  return rows_of(covering_array(sizes_of(factors()), legal_rule(), seed));
}

std::vector<Row> full_rows(std::int64_t most) {
  const std::vector<Assignment> all = full_product(sizes_of(factors()), legal_rule());
  const std::int64_t count = static_cast<std::int64_t>(all.size()), taken = std::min(count, most);
  std::vector<Assignment> chosen;
  for (std::int64_t i = 0; i < taken; ++i) chosen.push_back(all[static_cast<std::size_t>(i * count / taken)]);
  return rows_of(chosen);
}

}  // namespace convoy::equivalence

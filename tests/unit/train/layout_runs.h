// SPDX-License-Identifier: Apache-2.0
// Tiny runs on several ranks, which are threads: the layouts that the tests vary, and what their runs say.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/unit/train/tiny_run.h"

namespace convoy::train {

struct TinyLayout {
  std::string name;
  int tensor = 1, pipeline = 1, data = 1, zero = 0;
  std::string schedule = "1f1b";
  int virtual_stages = 1;
  std::string rank_order = "tp,pp,dp";
  bool sequence_parallel = false;
  int ranks() const { return tensor * pipeline * data; }
};

inline std::vector<TinyLayout> tiny_layouts() {
  return {{"tp2", 2, 1, 1},
          {"tp4", 4, 1, 1},  // Llama's ranks share its two key/value heads
          {"pp2", 1, 2, 1},
          {"pp2_gpipe", 1, 2, 1, 0, "gpipe"},
          {"dp2", 1, 1, 2},
          {"dp2_zero1", 1, 1, 2, 1},
          {"tp2_dp2", 2, 1, 2},
          {"tp2_dp2_zero1", 2, 1, 2, 1},
          {"pp2_dp2", 1, 2, 2},
          {"pp2_dp2_zero1", 1, 2, 2, 1},
          {"tp2_pp2_dp2_zero1", 2, 2, 2, 1},
          {"tp4_dp2_zero1", 4, 1, 2, 1},
          {"pp2_v2", 1, 2, 1, 0, "interleaved", 2},
          {"tp2_pp2_v2_dp2_zero1", 2, 2, 2, 1, "interleaved", 2},
          {"dp2_pp2_tp2_zero1", 2, 2, 2, 1, "1f1b", 1, "dp,pp,tp"},
          {"tp4_sp", 4, 1, 1, 0, "1f1b", 1, "tp,pp,dp", true},
          {"tp2_sp_pp2_dp2_zero1", 2, 2, 2, 1, "1f1b", 1, "tp,pp,dp", true},
          {"dp2_zero2", 1, 1, 2, 2},
          {"dp4_zero2", 1, 1, 4, 2},
          {"tp2_dp2_zero2", 2, 1, 2, 2},
          {"pp2_v2_dp2_zero2", 1, 2, 2, 2, "interleaved", 2},
          {"dp2_zero3", 1, 1, 2, 3},
          {"dp4_zero3", 1, 1, 4, 3},
          {"pp2_gpipe_dp2_zero3", 1, 2, 2, 3, "gpipe"},
          {"tp2_pp2_v2_dp2_zero3", 2, 2, 2, 3, "interleaved", 2},
          {"tp4_sp_dp2_zero3", 4, 1, 2, 3, "1f1b", 1, "tp,pp,dp", true}};
}

inline config::RunOptions with_layout(config::RunOptions options, const TinyLayout& layout) {
  options.layout.tensor_parallel = layout.tensor;
  options.layout.pipeline_parallel = layout.pipeline;
  options.layout.zero = layout.zero;
  options.layout.schedule = layout.schedule;
  options.layout.virtual_stages = layout.virtual_stages;
  options.layout.rank_order = layout.rank_order;
  options.layout.sequence_parallel = layout.sequence_parallel;
  options.batch.micro_batch = 2;  // of 8 sequences: two or four micro-batches a replica
  return options;
}

inline std::vector<nlohmann::json> rows_of(const Path& run, const std::string& kind) {
  std::vector<nlohmann::json> rows;
  for (const std::string& line : lines_of(run / "metrics.jsonl")) {
    const auto row = nlohmann::json::parse(line);
    if (row["kind"] == kind) rows.push_back(row);
  }
  return rows;
}

inline nlohmann::json status_of(const Path& run) {
  return nlohmann::json::parse(support::content_of(run / "status.json"));
}

// Models and layouts of virtual stages have four layers, for four chunks; the others two.
inline std::string for_layout(std::string model, const TinyLayout& layout) {
  if (layout.virtual_stages == 1) return model;
  for (const std::string key : {"\"num_hidden_layers\":", "\"n_layer\":"}) {
    if (const std::size_t at = model.find(key); at != std::string::npos) model.replace(at + key.size(), 1, "4");
  }
  return model;
}

inline std::string tiny_tied_llama() {
  std::string text = tiny_llama();
  const std::string untied = "\"tie_word_embeddings\":false";
  return text.replace(text.find(untied), untied.size(), "\"tie_word_embeddings\":true");
}

inline std::string tiny_gpt2() {
  return R"({"architectures":["GPT2LMHeadModel"],"model_type":"gpt2","vocab_size":37,"n_embd":16,"n_layer":2,"n_head":4,
    "n_positions":16,"attn_pdrop":0.0,"embd_pdrop":0.0,"resid_pdrop":0.0})";
}

}  // namespace convoy::train

// SPDX-License-Identifier: Apache-2.0
// What the parity matrix varies, as options of a run: which of the combinations can be is for the product's own
// validation to say.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libcore/config/run_options.h"
#include "libcore/model/config.h"
#include "libcore/train/check_layout.h"
#include "tests/equivalence/covering.h"

namespace convoy::equivalence {

constexpr int kMostRanks = 8;
constexpr std::int64_t kGlobalBatch = 8;

// A run of the matrix: what a user would type, on so many ranks.
struct Row {
  config::RunOptions options;
  bool llama = false;
  int data = 1;  // replicas
  int ranks() const {
    return data * static_cast<int>(options.layout.tensor_parallel * options.layout.pipeline_parallel);
  }
};

struct Value {
  std::string name;
  std::function<void(Row&)> apply;
};
struct Factor {
  std::string name;
  std::vector<Value> values;
};

// Sizes of the mesh, schedule, ZeRO, and all else that must not change what is trained but for rounding; and the kinds
// of model and data under which that is tried.
std::vector<Factor> factors();
std::vector<std::size_t> sizes_of(const std::vector<Factor>& factors);

Row row_of(const std::vector<Factor>& factors, const Assignment& assignment);
// "dp 2, tp 2, pp 1, 1f1b, zero 1, .., bf16"; what is as usual is left out.
std::string text_of(const Row& row);

// Four layers of width 64 and 4 heads (2 key/value heads of a Llama), vocabulary 257, T 64; for a layout that more of
// them are needed for, a head a tensor-parallel rank and a layer a stage.
model::Config model_of(const Row& row);

// Every reason why a run of the row's options would be refused on its ranks.
std::vector<std::string> problems_of(const Row& row);
// Also on how many ranks the matrix runs.
bool is_legal(const Row& row);

// Requires that the row is legal.
train::SmallRun run_of(const Row& row);

// All 38 meshes (dp, tp, pp) with a product of at most 8, in fp32 and otherwise as usual.
std::vector<Row> all_meshes();

// Every legal pair of values at least once.
std::vector<Row> covering_rows(std::uint64_t seed = 7);
// The legal combinations: all of them, or `most` that lie evenly among them.
std::vector<Row> full_rows(std::int64_t most);

}  // namespace convoy::equivalence

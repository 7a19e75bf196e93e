// SPDX-License-Identifier: Apache-2.0
// Twenty steps in one piece against ten, a stop and ten more: to the byte on the same layout, whichever it is; on
// another one to rounding, with the states that the first one left.
#include <fmt/format.h>

#include <set>

#include "libcore/checkpoint/step_directory.h"
#include "libcore/model/config.h"
#include "tests/equivalence/factors.h"
#include "tests/unit/train/resume_runs.h"

namespace convoy::equivalence {
namespace {

using support::content_of;
using support::TmpDir;
using train::rows_of;
using train::train_tiny;

constexpr int kSteps = 20, kStop = 10;
// Relative. As between layouts that never stopped (matrix.h), and AdamW's own epsilon of 1e-8 on top, which makes of
// rounding in small gradients more than the matrix' large one does.
constexpr double kRounding = 1e-4;

// The matrix' model, but half as wide and with a short vocabulary, on samples of 16 tokens from documents of 1 to 40.
config::RunOptions options_of(const Row& row, const TmpDir& folder, const std::string& run) {
  config::RunOptions options = train::tiny_options(folder, run);
  model::Config model = model_of(row);
  model.head_size = 8;
  model.width = model.heads * model.head_size;
  model.ffn_width = 51;
  model.vocabulary = train::kTinyVocabulary;
  model.positions = 16;
  if (model.architecture == model::Architecture::kGpt2) model.ffn_width = 4 * model.width;
  folder.write("config.json", model::to_json(model, "float32"));
  std::vector<std::int32_t> lengths;
  std::int32_t left = 2001;
  for (std::int32_t next = 1; left > 0; next = next * 7 % 41) {
    lengths.push_back(std::min(next, left));
    left -= lengths.back();
  }
  train::write_pair(folder / "train", train::random_tokens(2001), lengths);
  options.model.sequence_length = 16;
  options.model.tie_embeddings = row.options.model.tie_embeddings;
  options.model.attention_reset_at_document = row.options.model.attention_reset_at_document;
  options.model.dropout = row.options.model.dropout;
  options.batch.global_batch = row.options.batch.global_batch;
  options.batch.micro_batch = row.options.batch.micro_batch;
  options.batch.steps = kSteps;
  options.optimizer.warmup_steps = 3;
  options.device.precision = row.options.device.precision;
  options.layout = row.options.layout;
  options.output.eval_every = 11;  // not at the stop: a run looks for one after an evaluation too
  options.output.eval_steps = 1;
  return options;
}

Path step_of(const Path& run, int step) { return run / "checkpoints" / checkpoint::step_directory_name(step); }

void train_to_the_stop(const config::RunOptions& options, int ranks) {
  train::StopAt stop(ranks - 1, kStop);
  ASSERT_EQ(train_tiny(options, ranks, [&](int rank) { return stop(rank); }), ExitCode::kRequeue);
}

void expect_exact_resume(const Row& row) {
  SCOPED_TRACE(text_of(row));
  const TmpDir folder;
  config::RunOptions options = options_of(row, folder, "whole");
  ASSERT_EQ(train_tiny(options, row.ranks()), ExitCode::kDone);
  options.output.out = (folder / "parts").string();
  train_to_the_stop(options, row.ranks());
  EXPECT_EQ(rows_of(folder / "parts", "step").size(), std::size_t{kStop});
  ASSERT_EQ(train_tiny(options, row.ranks()), ExitCode::kDone);
  EXPECT_EQ(content_of(folder / "whole/metrics.jsonl"), content_of(folder / "parts/metrics.jsonl"));
  EXPECT_EQ(train::digest_of(step_of(folder / "whole", kSteps)), train::digest_of(step_of(folder / "parts", kSteps)));
}

// Covering arrays of as many seeds as give so many different rows; each has every pair of values.
std::vector<Row> layouts(std::size_t least) {
  std::vector<Row> rows;
  std::set<std::string> names;
  for (std::uint64_t seed = 1; rows.size() < least; ++seed) {
    for (const Row& row : covering_rows(seed)) {
      if (names.insert(text_of(row)).second) rows.push_back(row);
    }
  }
  return rows;
}

TEST(ExactResume, OfEveryPairOfValuesIsToTheByte) {
  for (const Row& row : layouts(CONVOY_RESUMED_LAYOUTS)) expect_exact_resume(row);
}

Row mesh(int data, int tensor, int pipeline, int zero) {
  for (Row row : all_meshes()) {
    if (row.data != data || row.options.layout.tensor_parallel != tensor ||
        row.options.layout.pipeline_parallel != pipeline)
      continue;
    row.options.layout.zero = zero;
    return row;
  }
  throw std::out_of_range("no such mesh");
}

// Three replicas and a vocabulary of 37: no tensor is cut evenly.
TEST(ExactResume, OfUnevenSharesIsToTheByte) {
  for (const int zero : {0, 1, 2, 3}) {
    Row row = mesh(3, 1, 1, zero);
    for (const std::string precision : {"fp32", "bf16"}) {
      row.options.device.precision = precision;
      ASSERT_TRUE(is_legal(row)) << text_of(row);
      expect_exact_resume(row);
    }
  }
}

struct Move {
  std::string name;
  Row from, to;
};

std::vector<Move> moves() {
  return {{"dp4_to_dp2", mesh(4, 1, 1, 0), mesh(2, 1, 1, 0)},
          {"dp4_zero1_to_tp2", mesh(4, 1, 1, 1), mesh(1, 2, 1, 0)},
          {"tp2_to_pp2", mesh(1, 2, 1, 0), mesh(1, 1, 2, 0)},
          {"pp4_to_one", mesh(1, 1, 4, 0), mesh(1, 1, 1, 0)},
          {"zero0_to_zero1", mesh(2, 1, 2, 0), mesh(2, 1, 2, 1)},
          {"zero1_to_zero3", mesh(4, 1, 1, 1), mesh(4, 1, 1, 3)},
          {"zero3_to_zero2_dp2", mesh(4, 1, 1, 3), mesh(2, 1, 1, 2)}};
}

class AnotherLayout : public testing::TestWithParam<Move> {
 protected:
  config::RunOptions options(const Row& row, const std::string& run) const {
    config::RunOptions options = options_of(row, folder_, run);
    options.rehearsal.log_samples = true;
    return options;
  }
  std::vector<std::string> samples(const std::string& run) const {
    std::vector<std::string> rows;
    for (const std::string& line : train::lines_of(folder_ / run / "events.jsonl")) {
      if (nlohmann::json::parse(line)["kind"] == "samples") rows.push_back(line);
    }
    return rows;
  }

  TmpDir folder_;
};

TEST_P(AnotherLayout, GoesOnToRoundingWithTheSameSamples) {
  const auto& [name, from, to] = GetParam();
  ASSERT_EQ(train_tiny(options(from, "whole"), from.ranks()), ExitCode::kDone);
  train_to_the_stop(options(from, "parts"), from.ranks());
  ASSERT_EQ(train_tiny(options(to, "parts"), to.ranks()), ExitCode::kDone);
  EXPECT_EQ(samples("parts"), samples("whole"));
  const auto want = rows_of(folder_ / "whole", "step"), got = rows_of(folder_ / "parts", "step");
  ASSERT_EQ(got.size(), std::size_t{kSteps});
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double loss = want[i]["loss"];
    EXPECT_NEAR(got[i]["loss"].get<double>(), loss, i < kStop ? 0.0 : kRounding * loss) << "step " << i + 1;
    EXPECT_EQ(got[i]["lr"], want[i]["lr"]);
    EXPECT_EQ(got[i]["consumed_samples"], want[i]["consumed_samples"]);
  }
}

// The first step after the stop is skipped, so that what is saved then is what was read.
TEST_P(AnotherLayout, HoldsTheWeightsAndMomentsToTheBit) {
  const auto& [name, from, to] = GetParam();
  train_to_the_stop(options(from, "run"), from.ranks());
  config::RunOptions next = options(to, "run");
  next.rehearsal.faults = {fmt::format("nan-gradient:step={},rank=0", kStop + 1)};
  next.output.checkpoint_every = "1";
  ASSERT_EQ(train_tiny(next, to.ranks()), ExitCode::kDone);
  const checkpoint::Checkpoint before(step_of(folder_ / "run", kStop)), after(step_of(folder_ / "run", kStop + 1));
  ASSERT_EQ(before.manifest().tensors.size(), after.manifest().tensors.size());
  std::set<std::string> states;
  for (const checkpoint::StoredTensor& stored : before.manifest().tensors) {
    states.insert(stored.state);
    ASSERT_TRUE(after.find(stored.name, stored.state)) << stored.name;
    EXPECT_EQ(after.find(stored.name, stored.state)->digest, stored.digest) << stored.name;
  }
  EXPECT_EQ(states.size(), 3u) << "weights and both moments";
}

INSTANTIATE_TEST_SUITE_P(Moves, AnotherLayout, testing::ValuesIn(moves()),
                         [](const testing::TestParamInfo<Move>& move) { return move.param.name; });

}  // namespace
}  // namespace convoy::equivalence

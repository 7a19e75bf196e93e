// SPDX-License-Identifier: Apache-2.0
// Each fault turns rows of the matrix red, and what is named is where it was made.
#include "tests/equivalence/seeded_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/equivalence/matrix.h"

namespace convoy::equivalence {
namespace {

using train::Compared;

struct Mesh {
  int data = 1, tensor = 1, pipeline = 1;
  bool sequence_parallel = false;
  int zero = 0;
};

Row row_of(const Mesh& mesh, bool llama = false) {
  for (Row& row : all_meshes()) {
    if (row.data != mesh.data || row.options.layout.tensor_parallel != mesh.tensor ||
        row.options.layout.pipeline_parallel != mesh.pipeline)
      continue;
    Row chosen = row;
    chosen.llama = llama;
    chosen.options.layout.sequence_parallel = mesh.sequence_parallel;
    chosen.options.layout.zero = mesh.zero;
    return chosen;
  }
  throw std::out_of_range("no such mesh");
}

train::LayoutReport report_of(const Row& row, const std::string& fault, int steps = 1) {
  train::CheckSettings settings = settings_of(row, steps);
  if (!fault.empty()) seed_fault(fault, settings);
  return Matrix(steps).run(row, settings).report;
}

void expect_first(const Row& row, const std::string& fault, Compared what, const std::string& name) {
  SCOPED_TRACE(text_of(row));
  EXPECT_TRUE(report_of(row, "").equal());
  const train::LayoutReport report = report_of(row, fault);
  ASSERT_FALSE(report.equal());
  EXPECT_EQ(report.first->step, 1);
  EXPECT_EQ(report.first->what, what);
  EXPECT_EQ(report.first->name, name);
}

TEST(SeededFaults, ADroppedTiedSumIsTheEmbeddings) {
  expect_first(row_of({.pipeline = 2}), "drop-tied-sum", Compared::kGradient, "transformer.wte.weight");
  expect_first(row_of({.data = 2, .pipeline = 2, .zero = 1}), "drop-tied-sum", Compared::kGradient,
               "transformer.wte.weight");
  expect_first(row_of({.tensor = 2, .pipeline = 4}, true), "drop-tied-sum", Compared::kGradient,
               "model.embed_tokens.weight");
}

// Of the gradients in the order of a backward pass the final norm's is the first that every rank has whole.
TEST(SeededFaults, ADoublyCountedGradientIsTheFinalNorms) {
  expect_first(row_of({.tensor = 2}), "double-count-replicated", Compared::kGradient, "transformer.ln_f.bias");
  expect_first(row_of({.data = 2, .tensor = 4}, true), "double-count-replicated", Compared::kGradient,
               "model.norm.weight");
}

// Rows that are shared make terms of the norms' gradients, a shared key/value head (2 on 4 ranks) of its own.
TEST(SeededFaults, ASkippedPartialSumIsThatOfTheTensorWithTerms) {
  expect_first(row_of({.tensor = 2, .sequence_parallel = true}), "skip-partial-sums", Compared::kGradient,
               "transformer.ln_f.bias");
  expect_first(row_of({.tensor = 4}, true), "skip-partial-sums", Compared::kGradient,
               "model.layers.3.self_attn.v_proj.weight");
}

// Every gradient is wrong, the last parameter's is the first that a backward pass makes.
TEST(SeededFaults, AnAverageOfAveragesIsSeenInTheLastParameter) {
  expect_first(row_of({.data = 4}), "average-of-averages", Compared::kGradient, "transformer.ln_f.bias");
  expect_first(row_of({.data = 4, .pipeline = 2, .zero = 1}), "average-of-averages", Compared::kGradient,
               "transformer.ln_f.bias");
}

TEST(SeededFaults, AShiftedLearningRateIsTheRate) {
  expect_first(row_of({.data = 2}), "shift-learning-rate", Compared::kRate, "learning rate");
  expect_first(row_of({.tensor = 2, .pipeline = 2}), "shift-learning-rate", Compared::kRate, "learning rate");
}

// What a fault does not touch stays equal: one that is seen everywhere would say nothing.
TEST(SeededFaults, LeaveOtherLayoutsAlone) {
  EXPECT_TRUE(report_of(row_of({.data = 2}), "drop-tied-sum").equal());
  EXPECT_TRUE(report_of(row_of({.data = 2}), "double-count-replicated").equal());
  EXPECT_TRUE(report_of(row_of({.tensor = 2}), "skip-partial-sums").equal());
  EXPECT_TRUE(report_of(row_of({.tensor = 2}), "average-of-averages").equal());
}

TEST(SeededFaults, HaveNames) {
  EXPECT_THAT(fault_names(), testing::ElementsAre("average-of-averages", "double-count-replicated", "drop-tied-sum",
                                                  "shift-learning-rate", "skip-partial-sums"));
}

}  // namespace
}  // namespace convoy::equivalence

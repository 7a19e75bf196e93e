// SPDX-License-Identifier: Apache-2.0
// What replicas share of the parameters, against what they would do if they shared less.
#include <numeric>

#include "tests/unit/train/layout_runs.h"

namespace convoy::train {
namespace {

constexpr std::int64_t kSteps = 4;
// Relative. Under ZeRO 2 and 3 the gradients of a micro-batch are summed over the replicas before they are added to
// those of the one before; fp32 sums in another order, carried on by four updates of AdamW.
constexpr double kRounding = 2e-5;

struct Zero : testing::Test {
  config::RunOptions options_for(const TinyLayout& layout, const std::string& run, const std::string& precision) {
    config::RunOptions options = with_layout(tiny_options(folder_, run), layout);
    folder_.write("config.json", for_layout(tiny_tied_llama(), layout));
    options.model.model = (folder_ / "config.json").string();
    options.device.precision = precision;
    options.batch.steps = kSteps;
    options.batch.global_batch = 24;
    options.optimizer.clip_norm = 0.1;  // always in force, so that a wrong norm shows in the weights
    options.output.eval_every = 2;      // 12 windows: unlike numbers of micro-batches a replica
    options.output.eval_steps = 0;
    return options;
  }

  std::string train(TinyLayout layout, int zero, bool overlap, const std::string& precision = "fp32",
                    std::int64_t micro_batch = 2) {
    layout.zero = zero;
    const std::string run = layout.name + "-" + std::to_string(zero) + "-" + std::to_string(overlap) + "-" + precision +
                            "-" + std::to_string(micro_batch);
    config::RunOptions options = options_for(layout, run, precision);
    options.layout.overlap = overlap;
    options.batch.micro_batch = micro_batch;
    EXPECT_EQ(train_tiny(options, layout.ranks()), ExitCode::kDone);
    return run;
  }

  std::string metrics(const std::string& run) const { return support::content_of(folder_ / run / "metrics.jsonl"); }
  std::string digest(const std::string& run) const { return digest_of(folder_ / run / "checkpoints/step_000000004"); }
  void expect_same_bits(const std::string& a, const std::string& b) {
    EXPECT_EQ(metrics(a), metrics(b)) << a << " and " << b;
    EXPECT_EQ(digest(a), digest(b)) << a << " and " << b;
  }
  void expect_near(const std::string& a, const std::string& b) {
    for (const char* kind : {"step", "eval"}) {
      const auto rows = rows_of(folder_ / a, kind), others = rows_of(folder_ / b, kind);
      ASSERT_EQ(rows.size(), others.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i]["tokens"], others[i]["tokens"]);
        for (const char* key : {"loss", "grad_norm"}) {
          if (!rows[i].contains(key)) continue;
          const double want = rows[i][key].get<double>();
          EXPECT_NEAR(others[i][key].get<double>(), want, kRounding * want)
              << b << " " << kind << " " << i << " " << key;
        }
      }
    }
  }

  TmpDir folder_;
};

std::vector<TinyLayout> replicated() {
  return {{"dp2", 1, 1, 2},
          {"dp3", 1, 1, 3},
          {"dp4", 1, 1, 4},
          {"tp2_dp2", 2, 1, 2},
          {"tp2_sp_dp3", 2, 1, 3, 0, "1f1b", 1, "tp,pp,dp", true},
          {"pp2_dp2", 1, 2, 2},
          {"pp2_gpipe_dp2", 1, 2, 2, 0, "gpipe"},
          {"tp2_pp2_v2_dp2", 2, 2, 2, 0, "interleaved", 2}};
}

TEST_F(Zero, TwoAndThreeHaveTheSameBitsOverlappedOrNotAndTheOthersToRounding) {
  for (const TinyLayout& layout : replicated()) {
    SCOPED_TRACE(layout.name);
    const std::string two = train(layout, 2, true), none = train(layout, 0, true);
    expect_same_bits(two, train(layout, 2, false));
    expect_same_bits(two, train(layout, 3, true));
    expect_same_bits(two, train(layout, 3, false));
    expect_same_bits(none, train(layout, 1, true));
    expect_near(none, two);
  }
}

TEST_F(Zero, TwoAndThreeHaveTheSameBitsInHalfPrecision) {
  for (const char* precision : {"bf16", "fp16"}) {
    const TinyLayout layout{"tp2_pp2_v2_dp2", 2, 2, 2, 0, "interleaved", 2};
    SCOPED_TRACE(precision);
    expect_same_bits(train(layout, 2, true, precision), train(layout, 3, true, precision));
  }
}

// One micro-batch a step: there is one order to sum in.
TEST_F(Zero, AllStagesHaveTheSameBitsWhereAStepIsOneMicroBatch) {
  const TinyLayout layout{"dp3", 1, 1, 3};
  const std::string none = train(layout, 0, true, "fp32", 8);
  for (int zero = 1; zero <= 3; ++zero) expect_same_bits(none, train(layout, zero, true, "fp32", 8));
}

TEST_F(Zero, AllStagesHaveTheSameBitsWhereTheSumsAreATrees) {
  const auto in_tree = [&](TinyLayout layout, int zero) {
    layout.zero = zero;
    const std::string run = "tree-" + layout.name + "-" + std::to_string(zero);
    config::RunOptions options = options_for(layout, run, "bf16");
    options.layout.reduction = "tree";
    EXPECT_EQ(train_tiny(options, layout.ranks()), ExitCode::kDone);
    return run;
  };
  for (const TinyLayout& layout : {TinyLayout{"dp4", 1, 1, 4}, TinyLayout{"pp2_dp2", 1, 2, 2}}) {
    const std::string none = in_tree(layout, 0);
    for (int zero = 1; zero <= 3; ++zero) expect_same_bits(none, in_tree(layout, zero));
  }
}

TEST_F(Zero, EveryStageIsNoneOnOneReplica) {
  for (const TinyLayout& layout : {TinyLayout{"one"}, TinyLayout{"tp2_pp2", 2, 2, 1}}) {
    const std::string none = train(layout, 0, true);
    for (int zero = 1; zero <= 3; ++zero) expect_same_bits(none, train(layout, zero, true));
  }
}

// To the byte what a run under ZeRO 3 that began under ZeRO 1 has at its first step is what ZeRO 1 left; afterwards the
// two sum in another order.
TEST_F(Zero, ThreeGoesOnFromOneAndBack) {
  TinyLayout layout{"pp2_dp2", 1, 2, 2, 1};
  const std::string straight = train(layout, 1, true);
  for (const int next : {3, 2}) {
    config::RunOptions options = options_for(layout, "to-" + std::to_string(next), "fp32");
    options.batch.steps = 2;
    options.optimizer.decay_steps = kSteps;
    ASSERT_EQ(train_tiny(options, layout.ranks()), ExitCode::kDone);
    options.batch.steps = kSteps;
    options.layout.zero = next;
    ASSERT_EQ(train_tiny(options, layout.ranks()), ExitCode::kDone);
    expect_near(straight, "to-" + std::to_string(next));
    const auto own = rows_of(folder_ / straight, "step"),
               other = rows_of(folder_ / ("to-" + std::to_string(next)), "step");
    EXPECT_EQ(own[2]["loss"], other[2]["loss"]);
  }
}

TEST_F(Zero, ASpoiledGradientSkipsTheStepOnAllRanks) {
  for (const int zero : {2, 3}) {
    for (const TinyLayout& base : {TinyLayout{"dp3", 1, 1, 3}, TinyLayout{"tp2_pp2_dp2", 2, 2, 2}}) {
      TinyLayout layout = base;
      layout.zero = zero;
      config::RunOptions options = options_for(layout, layout.name + std::to_string(zero), "fp32");
      options.rehearsal.faults = {"nan-gradient:step=2,rank=" + std::to_string(layout.ranks() - 1)};
      EXPECT_EQ(train_tiny(options, layout.ranks()), ExitCode::kDone);
      const auto steps = rows_of(folder_ / (layout.name + std::to_string(zero)), "step");
      ASSERT_EQ(steps.size(), 4u);
      EXPECT_EQ(steps[1]["loss"], nullptr);
      EXPECT_EQ(steps[1]["update"], 1);
      EXPECT_TRUE(steps[2]["loss"].is_number());
      EXPECT_EQ(steps[3]["update"], 3);
    }
  }
}

TEST_F(Zero, WeightsFromElsewhereReachTheSharesOfAll) {
  write_tiny_folder(folder_ / "hf");
  const auto train_from = [&](int zero) {
    TinyLayout layout{"dp3", 1, 1, 3, zero};
    config::RunOptions options = options_for(layout, "from-" + std::to_string(zero), "bf16");
    options.model.model.clear();
    options.model.init_from = (folder_ / "hf").string();
    options.batch.micro_batch = 8;
    EXPECT_EQ(train_tiny(options, 3), ExitCode::kDone);
    return "from-" + std::to_string(zero);
  };
  expect_same_bits(train_from(0), train_from(3));
}

}  // namespace
}  // namespace convoy::train

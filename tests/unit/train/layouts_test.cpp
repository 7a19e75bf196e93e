// SPDX-License-Identifier: Apache-2.0
// The same model, seed and data on every layout: what one rank says, to rounding.
#include <fmt/format.h>

#include <cmath>

#include "libcore/checkpoint/safetensors.h"
#include "tests/unit/train/layout_runs.h"

namespace convoy::train {
namespace {

// Relative. fp32 sums of a batch of 64 tokens and width 16 in another order differ in the last bits; three updates of
// AdamW, which divides by the root of small second moments, carry that on.
constexpr double kRounding = 2e-5;
constexpr std::int64_t kSteps = 3;

struct Models : testing::TestWithParam<TinyLayout> {
  config::RunOptions options_for(const std::string& model, const std::string& run) {
    config::RunOptions options = tiny_options(folder_, run);
    folder_.write("config.json", for_layout(model, GetParam()));
    options.batch.steps = kSteps;
    options.batch.micro_batch = 2;
    options.optimizer.clip_norm = 0.1;  // always in force, so that a wrong norm shows in the weights
    options.output.eval_steps = 0;
    options.output.dump_gradients = 1;
    return options;
  }

  void expect_same_run(const std::string& model, double dropout = 0.0) {
    const auto options = [&](const std::string& run) {
      config::RunOptions made = options_for(model, run);
      made.model.dropout = dropout;
      return made;
    };
    train_tiny(options("one"));
    EXPECT_EQ(train_tiny(with_layout(options("many"), GetParam()), GetParam().ranks()), ExitCode::kDone);
    for (const char* kind : {"step", "eval"}) {
      const auto one = rows_of(folder_ / "one", kind), many = rows_of(folder_ / "many", kind);
      ASSERT_EQ(one.size(), many.size());
      for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_EQ(one[i]["tokens"], many[i]["tokens"]);
        for (const char* key : {"loss", "grad_norm"}) {
          if (!one[i].contains(key)) continue;
          const double want = one[i][key].get<double>();
          EXPECT_NEAR(many[i][key].get<double>(), want, kRounding * want) << kind << " row " << i << " " << key;
        }
      }
    }
    expect_same_gradients();
  }

  void expect_same_gradients() {
    const checkpoint::SafetensorsFile one(folder_ / "one/debug/gradients-1.safetensors");
    const checkpoint::SafetensorsFile many(folder_ / "many/debug/gradients-1.safetensors");
    ASSERT_EQ(one.tensors().size(), many.tensors().size());
    for (std::size_t t = 0; t < one.tensors().size(); ++t) {
      const auto &a = one.tensors()[t], &b = many.tensors()[t];
      ASSERT_EQ(a.name, b.name);
      ASSERT_EQ(a.view.shape, b.view.shape);
      double squares = 0.0, distance = 0.0;
      for (std::int64_t i = 0; i < a.view.count(); ++i) {
        const double x = a.view.as<float>()[i], y = b.view.as<float>()[i];
        squares += x * x;
        distance += (x - y) * (x - y);
      }
      EXPECT_GT(squares, 0.0) << a.name;
      EXPECT_LE(std::sqrt(distance), kRounding * std::sqrt(squares)) << a.name;
    }
  }

  TmpDir folder_;
};

TEST_P(Models, LlamaTrainsAsOnOneRank) { expect_same_run(tiny_llama()); }
TEST_P(Models, TiedLlamaTrainsAsOnOneRank) { expect_same_run(tiny_tied_llama()); }
TEST_P(Models, Gpt2TrainsAsOnOneRank) { expect_same_run(tiny_gpt2()); }

TEST_P(Models, Gpt2WithDropoutTrainsAsOnOneRank) { expect_same_run(tiny_gpt2(), 0.2); }
TEST_P(Models, LlamaWithDropoutTrainsAsOnOneRank) { expect_same_run(tiny_llama(), 0.2); }

INSTANTIATE_TEST_SUITE_P(Layouts, Models, testing::ValuesIn(tiny_layouts()),
                         [](const testing::TestParamInfo<TinyLayout>& layout) { return layout.param.name; });

// Of a blend of two sets, and whether or not the run was stopped on the way.
TEST(Layouts, TheSamplesOfAStepDoNotDependOnTheReplicas) {
  const TmpDir folder;
  const auto samples = [&](const TinyLayout& layout, std::int64_t stop = 6) {
    config::RunOptions options = with_layout(tiny_options(folder, layout.name), layout);
    write_pair(folder / "second", random_tokens(501), {501});
    options.data.data.push_back((folder / "second").string());
    options.data.weights = {3.0, 1.0};
    options.rehearsal.log_samples = true;
    options.optimizer.decay_steps = 6;
    for (const std::int64_t steps : {stop, std::int64_t{6}}) {
      options.batch.steps = steps;
      train_tiny(options, layout.ranks());
    }
    std::vector<std::string> rows;
    for (const std::string& line : lines_of(folder / layout.name / "events.jsonl")) {
      if (nlohmann::json::parse(line)["kind"] == "samples") rows.push_back(line);
    }
    return rows;
  };
  const std::vector<std::string> one = samples({"one"});
  EXPECT_EQ(one.size(), 6u);
  EXPECT_EQ(samples({"dp2", 1, 1, 2}), one);
  EXPECT_EQ(samples({"dp4", 1, 1, 4}), one);
  EXPECT_EQ(samples({"stopped", 1, 1, 2}, 3), one);
  // Of eight samples two are of the second set, as in each eight of a period's.
  for (const std::string& row : one) EXPECT_EQ(nlohmann::json::parse(row)["sets"].dump(), "[0,0,1,0,0,0,1,0]") << row;
}

TEST(Layouts, EvaluationOnReplicasLeavesTrainingAsItIs) {
  const TmpDir folder;
  const TinyLayout layout{"pp2_dp2_zero1", 1, 2, 2, 1};
  config::RunOptions options = with_layout(tiny_options(folder, "often"), layout);
  options.output.eval_every = 1;
  options.output.eval_steps = 0;  // 12 windows: three micro-batches a replica
  train_tiny(options, layout.ranks());
  options.output.out = (folder / "never").string();
  options.output.eval_every = 0;
  options.data.valid_data.clear();
  train_tiny(options, layout.ranks());
  EXPECT_EQ(rows_of(folder / "often", "step"), rows_of(folder / "never", "step"));
  EXPECT_EQ(rows_of(folder / "often", "eval").size(), 6u);
}

// A sequence's masks are those of its slot in the global batch, whoever has it and in whichever micro-batch.
TEST(Layouts, MasksOfDropoutDoNotDependOnReplicasAndMicroBatches) {
  const TmpDir folder;
  const auto losses = [&](int replicas, std::int64_t micro_batch) {
    config::RunOptions options = tiny_options(folder, fmt::format("{} {}", replicas, micro_batch));
    folder.write("config.json", tiny_gpt2());
    options.model.dropout = 0.2;
    options.batch.steps = 5;
    options.batch.micro_batch = micro_batch;
    EXPECT_EQ(train_tiny(options, replicas), ExitCode::kDone);
    std::vector<double> found;
    for (const auto& row : rows_of(folder / fmt::format("{} {}", replicas, micro_batch), "step"))
      found.push_back(row["loss"].get<double>());
    return found;
  };
  const std::vector<double> one = losses(1, 8);
  ASSERT_EQ(one.size(), 5u);
  for (const auto& [replicas, micro_batch] : {std::pair{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 4}, {4, 2}, {4, 1}}) {
    const std::vector<double> got = losses(replicas, micro_batch);
    for (std::size_t step = 0; step < one.size(); ++step)
      EXPECT_NEAR(got[step], one[step], kRounding * one[step]) << replicas << " " << micro_batch << " " << step;
  }
}

TEST(Layouts, RecomputationLeavesTheRunAsItIsToTheByte) {
  for (const TinyLayout& layout : {TinyLayout{"one"}, TinyLayout{"tp2_sp_pp2", 2, 2, 1, 0, "1f1b", 1, "tp,pp,dp", true},
                                   TinyLayout{"pp2_v2_dp2_zero1", 1, 2, 2, 1, "interleaved", 2}}) {
    const TmpDir folder;
    const auto trained = [&](const std::string& recompute) {
      config::RunOptions options = with_layout(tiny_options(folder, recompute), layout);
      folder.write("config.json", for_layout(tiny_gpt2(), layout));
      options.device.precision = "bf16";
      options.output.eval_every = 2;
      options.layout.recompute = recompute;
      options.model.dropout = 0.1;
      EXPECT_EQ(train_tiny(options, layout.ranks()), ExitCode::kDone);
      return support::content_of(folder / recompute / "metrics.jsonl") +
             digest_of(folder / recompute / "checkpoints/step_000000006");
    };
    const std::string kept = trained("none");
    EXPECT_EQ(trained("selective"), kept) << layout.name;
    EXPECT_EQ(trained("full"), kept) << layout.name;
  }
}

TEST(Layouts, AnImpossibleOneIsRefusedOnEveryRankAlike) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder);
  options.layout.tensor_parallel = 3;  // of 2 key/value heads
  try {
    train_tiny(options, 3);
    FAIL() << "two heads were given to three ranks";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("2 key/value heads"));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("rank 0 on")));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

TEST(Layouts, OneSpoiledGradientSkipsTheStepOnAllRanks) {
  for (const TinyLayout& layout : {TinyLayout{"tp2_dp2", 2, 1, 2}, TinyLayout{"pp2_dp2_zero1", 1, 2, 2, 1}}) {
    const TmpDir folder;
    config::RunOptions options = with_layout(tiny_options(folder), layout);
    options.rehearsal.faults = {"nan-gradient:step=3,rank=3"};
    EXPECT_EQ(train_tiny(options, layout.ranks()), ExitCode::kDone);
    const auto steps = rows_of(folder / "run", "step");
    ASSERT_EQ(steps.size(), 6u);
    EXPECT_EQ(steps[2]["loss"], nullptr);
    EXPECT_EQ(steps[2]["update"], 2);
    EXPECT_EQ(steps[5]["update"], 5);
    EXPECT_EQ(steps[5]["skipped"], 1);
    EXPECT_TRUE(steps[3]["loss"].is_number());
  }
}

TEST(Layouts, TooManySkippedStepsEndTheRunOnAllRanksWithCodeFour) {
  const TmpDir folder;
  const TinyLayout layout{"dp2", 1, 1, 2};
  config::RunOptions options = with_layout(tiny_options(folder), layout);
  options.rehearsal.faults = {"nan-gradient:step=2,rank=1", "nan-gradient:step=3,rank=0"};
  options.optimizer.max_skipped_steps = 2;
  EXPECT_THROW(train_tiny(options, layout.ranks()), NumericsError);
  EXPECT_EQ(status_of(folder / "run")["exit_code"], 4);
  EXPECT_FALSE(std::filesystem::exists(folder / "run/checkpoints"));
}

}  // namespace
}  // namespace convoy::train

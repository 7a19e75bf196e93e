// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/check_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/model/parameters.h"
#include "tests/support/passing_communicator.h"

namespace convoy::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Grouped key/value heads where Llama, tied embeddings where GPT-2: both presets are cut down to thousands of
// parameters.
SmallRun gpt2(const parallel::Layout& layout, std::int64_t micro_batches = 3) {
  model::Config config = model::preset("gpt2-124m");
  config.dropout = {};
  return cut_down(config, layout, 16, 2, micro_batches);
}

SmallRun llama(const parallel::Layout& layout, std::int64_t micro_batches = 3) {
  model::Config config = model::preset("llama-15m");
  config.key_value_heads = 2;
  config.heads = 4;
  return cut_down(config, layout, 16, 2, micro_batches);
}

void expect_equal(const SmallRun& run, const CheckSettings& settings = {}) {
  const LayoutReport report = check_layout(run, settings);
  EXPECT_TRUE(report.equal()) << text_of(*report.first);
  for (std::size_t i = 0; i < kComparisons; ++i) {
    const Comparison& comparison = report.comparisons[i];
    // Ranks of a pipeline alone, or of ZeRO 3, share no weight.
    if (static_cast<Compared>(i) != Compared::kCopy || (run.layout.data > 1 && run.layout.zero < 3)) {
      EXPECT_GT(comparison.compared, 0);
    }
    EXPECT_EQ(comparison.different, 0);
    EXPECT_LE(comparison.largest, comparison.tolerance);
  }
}

std::vector<parallel::Layout> layouts() {
  using parallel::ScheduleKind;
  return {{.tensor = 2},
          {.pipeline = 2},
          {.data = 2},
          {.data = 3, .zero = 1},
          {.pipeline = 3, .schedule = ScheduleKind::kGpipe},
          {.tensor = 2, .pipeline = 2, .data = 2, .zero = 1},
          {.tensor = 2, .pipeline = 2, .data = 2, .pipeline_split = {1, 2}},
          {.tensor = 2, .pipeline = 3, .data = 2, .zero = 1, .rank_order = parallel::rank_order_of("pp,dp,tp")},
          {.tensor = 2, .sequence_parallel = true},
          {.tensor = 4, .pipeline = 2, .sequence_parallel = true},
          {.tensor = 2, .pipeline = 3, .data = 2, .zero = 1, .sequence_parallel = true},
          {.data = 2, .zero = 2},
          {.data = 4, .zero = 2},
          {.data = 2, .zero = 3},
          {.data = 3, .zero = 3},
          {.pipeline = 3, .data = 2, .zero = 2, .schedule = ScheduleKind::kGpipe},
          {.tensor = 2, .pipeline = 2, .data = 2, .zero = 2, .sequence_parallel = true},
          {.tensor = 2, .pipeline = 2, .data = 2, .zero = 3},
          {.tensor = 4, .data = 2, .zero = 3, .sequence_parallel = true},
          {.pipeline = 2, .data = 3, .zero = 3, .rank_order = parallel::rank_order_of("dp,pp,tp")}};
}

std::string text(const parallel::Layout& layout) {
  return "tp " + std::to_string(layout.tensor) + ", pp " + std::to_string(layout.pipeline) + ", dp " +
         std::to_string(layout.data) + ", zero " + std::to_string(layout.zero);
}

TEST(CheckLayout, OneRankIsEqualToItselfToTheBit) {
  const LayoutReport report = check_layout(gpt2({}));
  EXPECT_TRUE(report.equal());
  for (const Comparison& comparison : report.comparisons) EXPECT_EQ(comparison.largest, 0.0);
}

TEST(CheckLayout, Gpt2TrainsAlikeInEveryLayout) {
  for (const parallel::Layout& layout : layouts()) {
    SCOPED_TRACE(text(layout));
    model::Config config = model::preset("gpt2-124m");
    config.layers = 3;
    parallel::Layout cut = layout;
    expect_equal(cut_down(config, cut, 16, 2, 3));
  }
}

TEST(CheckLayout, LlamaTrainsAlikeInEveryLayout) {
  for (const parallel::Layout& layout : layouts()) {
    SCOPED_TRACE(text(layout));
    model::Config config = model::preset("llama-15m");
    config.layers = 3;
    config.heads = 4;
    config.key_value_heads = 2;
    expect_equal(cut_down(config, layout, 16, 2, 3));
  }
}

// Of one head each rank has queries of its own, so that the sum of its gradient is made over two or four of them.
TEST(CheckLayout, RanksThatShareAKeyValueHeadTrainAlike) {
  model::Config config = model::preset("llama-15m");
  config.heads = 8;
  config.key_value_heads = 2;
  for (const parallel::Layout& layout : {parallel::Layout{.tensor = 4}, parallel::Layout{.tensor = 8},
                                         parallel::Layout{.tensor = 4, .pipeline = 2, .data = 2, .zero = 1}}) {
    SCOPED_TRACE(text(layout));
    const SmallRun run = cut_down(config, layout, 16, 2, 3);
    EXPECT_EQ(run.model.key_value_heads, 2);
    expect_equal(run);
  }
}

// The sums over tensor ranks and the pipeline's ends come after those over the replicas, and of shares.
TEST(CheckLayout, EveryLayoutTrainsAlikeUnderReductionTree) {
  CheckSettings settings;
  settings.tree = true;
  for (const parallel::Layout& layout : layouts()) {
    SCOPED_TRACE(text(layout));
    model::Config config = model::preset("gpt2-124m");
    config.layers = 3;
    expect_equal(cut_down(config, layout, 16, 2, 3), settings);
  }
  model::Config config = model::preset("llama-15m");
  config.heads = 8;
  config.key_value_heads = 2;
  expect_equal(cut_down(config, {.tensor = 4, .pipeline = 2, .data = 2, .zero = 1}, 16, 2, 3), settings);
}

TEST(CheckLayout, InterleavedChunksTrainAlikeForAnyNumberOfMicroBatches) {
  parallel::Layout layout{.pipeline = 4, .schedule = parallel::ScheduleKind::kInterleaved, .virtual_stages = 2};
  for (const int micro_batches : {1, 2, 3, 4, 5, 7}) {
    SCOPED_TRACE(micro_batches);
    SmallRun run = gpt2(layout, micro_batches);
    run.micro_batches = micro_batches;
    EXPECT_EQ(run.layout.pipeline_split.size(), 8u);
    expect_equal(run);
  }
  layout = {.tensor = 2, .pipeline = 2, .data = 2, .zero = 1, .schedule = layout.schedule, .virtual_stages = 3};
  expect_equal(llama(layout));
  layout.pipeline_split = {1, 1, 2, 1, 2, 1};
  model::Config config = model::preset("gpt2-124m");
  config.layers = 8;
  expect_equal(cut_down(config, layout, 16, 2, 3));
}

// Of seven layers on two, three or four stages none is lost: every weight of the model is compared, the tied embedding
// at both ends.
TEST(CheckLayout, SevenLayersTrainAlikeOnStagesThatHaveUnlikeNumbersOfThem) {
  using Split = std::vector<std::int64_t>;
  for (const Split& split : {Split{4, 3}, Split{3, 2, 2}, Split{2, 2, 2, 1}, Split{1, 5, 1}}) {
    SmallRun run = gpt2({}, 4);
    run.model.layers = 7;
    run.layout.pipeline = static_cast<int>(split.size());
    run.layout.pipeline_split.clear();  // so that the layout cuts them, but for the last one
    if (split.front() == 1) run.layout.pipeline_split = split;
    SCOPED_TRACE(run.layout.pipeline);
    for (std::size_t stage = 0; stage < split.size(); ++stage)
      EXPECT_EQ(parallel::layers_of(run.layout, 7, static_cast<int>(stage)).size(), split[stage]);
    const LayoutReport report = check_layout(run);
    EXPECT_TRUE(report.equal()) << text_of(*report.first);
    const std::int64_t embedding = run.model.vocabulary * run.model.width;
    const std::int64_t weights = model::parameter_count(model::parameter_table(run.model)) + embedding;
    EXPECT_EQ(report.comparisons[static_cast<std::size_t>(Compared::kWeight)].compared, 4 * weights);
  }
}

TEST(CheckLayout, DocumentsOfASampleTrainAlike) {
  CheckSettings settings;
  settings.documents = true;
  for (const parallel::Layout& layout : layouts()) {
    SCOPED_TRACE(text(layout));
    expect_equal(llama(layout), settings);
  }
  const SmallRun run = llama({.data = 2});
  EXPECT_FALSE(check_layout(run, settings, train_on_one_rank(run, 2, {})).equal()) << "documents change the loss";
}

// The samples of a micro-batch are those of as many micro-batches of one.
TEST(CheckLayout, OneReferenceServesEveryMicroBatchSize) {
  SmallRun run = gpt2({.pipeline = 2, .data = 2}, 4);
  run.micro_batch = 1;
  const Reference reference = train_on_one_rank(run, 1, {});
  for (const std::int64_t micro_batch : {1, 2, 4}) {
    run.micro_batch = micro_batch;
    run.micro_batches = 4 / micro_batch;
    EXPECT_TRUE(check_layout(run, {}, reference).equal()) << micro_batch;
  }
}

// Of a rate that begins a step later the name is the rate's, not that of what follows from it.
TEST(CheckLayout, NamesALearningRateThatIsAnothers) {
  CheckSettings settings;
  settings.schedule = {.kind = optim::ScheduleKind::kConstant, .peak = 1e-2, .warmup_steps = 4};
  settings.rate = [&](int update) { return settings.schedule.rate(update); };
  const LayoutReport report = check_layout(gpt2({.data = 2}), settings);
  ASSERT_FALSE(report.equal());
  EXPECT_EQ(report.first->step, 1);
  EXPECT_EQ(report.first->what, Compared::kRate);
  EXPECT_DOUBLE_EQ(report.first->expected, 0.0025);
  EXPECT_DOUBLE_EQ(report.first->found, 0.005);
}

// The masks of a sequence, a head and a layer are those that one rank draws.
TEST(CheckLayout, DropoutTrainsAlikeInEveryLayout) {
  for (const parallel::Layout& layout : layouts()) {
    SCOPED_TRACE(text(layout));
    for (SmallRun run : {gpt2(layout), llama(layout)}) {
      model::set_dropout(run.model, 0.2);
      expect_equal(run);
    }
  }
  SmallRun run = gpt2({.data = 2});
  const Reference without = train_on_one_rank(run, 2, {});
  model::set_dropout(run.model, 0.2);
  EXPECT_FALSE(check_layout(run, {}, without).equal());
}

TEST(CheckLayout, TakesTheRatesOfTheModelOrOfTheFlag) {
  config::RunOptions options;
  options.model.model = "gpt2-124m";
  EXPECT_EQ(small_run(options).model.dropout.attention, 0.1);
  options.model.dropout = 0.0;
  EXPECT_EQ(small_run(options).model.dropout.largest(), 0.0);
}

TEST(CheckLayout, RecomputationTrainsAsOneRankThatKeepsEverything) {
  for (const model::Recompute recompute : {model::Recompute::kSelective, model::Recompute::kFull}) {
    SmallRun run = gpt2({.tensor = 2, .pipeline = 2, .sequence_parallel = true});
    run.recompute = recompute;
    expect_equal(run);
  }
  config::RunOptions options;
  options.model.model = "gpt2-124m";
  options.layout.recompute = "full";
  EXPECT_EQ(small_run(options).recompute, model::Recompute::kFull);
}

// More layers than rooms: those of a rank take turns, across the chunks of a stage too.
TEST(CheckLayout, ReplicasThatShareLayersTrainAlikeWhoeverTakesTurns) {
  model::Config config = model::preset("gpt2-124m");
  config.layers = 8;
  using model::Recompute;
  for (const int zero : {2, 3}) {
    for (const auto& [overlap, recompute] :
         {std::pair{true, Recompute::kNone}, std::pair{false, Recompute::kNone}, std::pair{true, Recompute::kFull}}) {
      SCOPED_TRACE(std::to_string(zero) + (overlap ? ", overlapped, " : ", in turn, ") +
                   std::string(model::name_of(recompute)));
      SmallRun deep = cut_down(config, {.data = 2, .zero = zero}, 16, 2, 3);
      deep.model.layers = 5;
      deep.layout.pipeline_split = {5};
      deep.recompute = recompute;
      expect_equal(deep, {.overlap = overlap});
      parallel::Layout layout{.pipeline = 2,
                              .data = 2,
                              .zero = zero,
                              .schedule = parallel::ScheduleKind::kInterleaved,
                              .pipeline_split = {1, 3, 3, 1},
                              .virtual_stages = 2};
      SmallRun chunks = cut_down(config, layout, 16, 2, 5);
      chunks.model.layers = 8;
      chunks.layout.pipeline_split = layout.pipeline_split;
      chunks.recompute = recompute;
      expect_equal(chunks, {.overlap = overlap});
    }
  }
}

TEST(CheckLayout, FewerMicroBatchesThanStagesTrainAlike) {
  expect_equal(gpt2({.pipeline = 3}, 1));
  expect_equal(llama({.pipeline = 3}, 2));
}

// Passes everything on but the calls of one kind that it is told to leave out.
class Broken final : public support::PassingCommunicator {
 public:
  enum class Call { kAllReduce, kReduceScatter, kAllGather };
  // Leaves out calls `first`, `first` + 1, .. (from 0) of this kind.
  Broken(std::unique_ptr<comm::Communicator> inner, Call call, int first, int count = 1000000)
      : PassingCommunicator(std::move(inner)), call_(call), first_(first), count_(count) {}

 private:
  bool leaves_out(Call call) {
    if (call != call_) return false;
    const int number = seen_++;
    return number >= first_ && number < first_ + count_;
  }
  void do_all_reduce(device::Stream& stream, const tensor::MutableView& data, comm::Reduction reduction) override {
    if (!leaves_out(Call::kAllReduce)) inner().all_reduce(stream, data, reduction);
  }
  void do_reduce_scatter(device::Stream& stream, const tensor::View& whole, const tensor::MutableView& mine,
                         std::span<const std::int64_t> counts, comm::Reduction reduction) override {
    if (!leaves_out(Call::kReduceScatter)) inner().reduce_scatter(stream, whole, mine, counts, reduction);
  }
  void do_all_gather(device::Stream& stream, const tensor::View& mine, const tensor::MutableView& whole,
                     std::span<const std::int64_t> counts) override {
    if (!leaves_out(Call::kAllGather)) inner().all_gather(stream, mine, whole, counts);
  }

  Call call_;
  int first_, count_, seen_ = 0;
};

using Group = std::unique_ptr<comm::Communicator> parallel::Groups::*;

LayoutReport check_broken(const SmallRun& run, Group group, Broken::Call call, int first, int count = 1000000,
                          int steps = 3) {
  CheckSettings settings;
  settings.steps = steps;
  settings.interfere = [=](parallel::Groups& groups) {
    if (groups.*group) groups.*group = std::make_unique<Broken>(std::move(groups.*group), call, first, count);
  };
  return check_layout(run, settings);
}

// The two copies of a tied embedding keep their own parts of its gradient.
TEST(CheckLayout, NamesTheTiedEmbeddingWhoseEndsAreNotSummed) {
  const LayoutReport report =
      check_broken(gpt2({.pipeline = 2}), &parallel::Groups::pipeline_ends, Broken::Call::kAllReduce, 0);
  ASSERT_FALSE(report.equal());
  EXPECT_EQ(report.first->step, 1);
  EXPECT_EQ(report.first->what, Compared::kGradient);
  EXPECT_EQ(report.first->name, "transformer.wte.weight");
  // It alone, in both stages, until its update has spread.
  const LayoutReport one_step =
      check_broken(gpt2({.pipeline = 2}), &parallel::Groups::pipeline_ends, Broken::Call::kAllReduce, 0, 1000000, 1);
  EXPECT_EQ(one_step.comparisons[static_cast<std::size_t>(Compared::kLoss)].different, 0);
  EXPECT_EQ(one_step.comparisons[static_cast<std::size_t>(Compared::kGradient)].different, 2);
}

// Call 0 of the data group counts the targets; the buckets follow from the end of the table, each tensor of this size
// one.
TEST(CheckLayout, NamesTheTensorWhoseBucketIsNotSummedOverTheReplicas) {
  const SmallRun run = llama({.data = 2});
  const LayoutReport report = check_broken(run, &parallel::Groups::data, Broken::Call::kAllReduce, 1, 1);
  ASSERT_FALSE(report.equal());
  EXPECT_EQ(report.first->step, 1);
  EXPECT_EQ(report.first->what, Compared::kGradient);
  EXPECT_EQ(report.first->name, model::parameter_table(run.model).back().name);
}

TEST(CheckLayout, NamesTheWeightsThatAreNotGathered) {
  const LayoutReport report =
      check_broken(llama({.data = 2, .zero = 1}), &parallel::Groups::data, Broken::Call::kAllGather, 0);
  ASSERT_FALSE(report.equal());
  EXPECT_EQ(report.first->step, 0);
  EXPECT_EQ(report.first->what, Compared::kWeight);
  EXPECT_THAT(text_of(*report.first), StartsWith("initial weights: model.embed_tokens.weight: rank "));
}

// One micro-batch of two layers: whichever sum is left out, the check sees it. In a forward pass it shows in the loss;
// in a backward pass in the first norm that the sum was made for, from the last one to the first.
TEST(CheckLayout, SeesEverySumOverTheTensorRanksThatIsLeftOut) {
  std::vector<std::string> names;
  int losses = 0;
  for (int call = 0;; ++call) {
    ASSERT_LT(call, 100);
    const LayoutReport report =
        check_broken(gpt2({.tensor = 2}, 1), &parallel::Groups::tensor, Broken::Call::kAllReduce, call, 1, 1);
    if (report.equal()) break;  // there are no more calls
    EXPECT_EQ(report.first->step, 1);
    if (report.first->what == Compared::kLoss) {
      EXPECT_EQ(report.first->name, "micro-batch 0 of replica 0");
      EXPECT_TRUE(names.empty()) << "a forward pass comes before its backward pass";
      ++losses;
    } else {
      EXPECT_EQ(report.first->what, Compared::kGradient);
      names.push_back(report.first->name);
    }
  }
  EXPECT_GE(losses, 6);  // embedding, attention and ffn of two layers, classifier
  EXPECT_THAT(names, ElementsAre("transformer.ln_f.bias", "transformer.h.1.ln_2.bias", "transformer.h.1.ln_1.bias",
                                 "transformer.h.0.ln_2.bias", "transformer.h.0.ln_1.bias"));
}

// The last call of a step over the tensor ranks adds up the shared key/value head of the first layer.
TEST(CheckLayout, NamesTheKeyValueHeadWhoseTermsAreNotSummed) {
  model::Config config = model::preset("llama-15m");
  config.heads = 4;
  config.key_value_heads = 1;
  std::vector<std::string> names;
  for (int call = 0;; ++call) {
    ASSERT_LT(call, 100);
    const LayoutReport report = check_broken(cut_down(config, {.tensor = 2}, 16, 2, 1), &parallel::Groups::tensor,
                                             Broken::Call::kAllReduce, call, 1, 1);
    if (report.equal()) break;  // there are no more calls
    if (report.first->what == Compared::kGradient) names.push_back(report.first->name);
  }
  ASSERT_FALSE(names.empty());
  EXPECT_THAT(names, testing::Contains("model.layers.1.self_attn.v_proj.weight"));
  EXPECT_EQ(names.back(), "model.layers.0.self_attn.v_proj.weight");
}

// Where rows are split, the ranks exchange maxima and sums of the classifier, and then add up the norms' gradients,
// from the last to the first.
TEST(CheckLayout, NamesTheNormWhoseTermsAreNotSummed) {
  std::vector<std::string> names;
  for (int call = 0;; ++call) {
    ASSERT_LT(call, 100);
    const LayoutReport report = check_broken(gpt2({.tensor = 2, .sequence_parallel = true}, 1),
                                             &parallel::Groups::tensor, Broken::Call::kAllReduce, call, 1, 1);
    if (report.equal()) break;  // there are no more calls
    if (report.first->what == Compared::kGradient) names.push_back(report.first->name);
  }
  EXPECT_THAT(names, ElementsAre("transformer.ln_f.bias", "transformer.h.1.ln_2.bias", "transformer.h.0.ln_2.bias"));
}

// Rows that are not gathered, or sums that are not scattered, show as well.
TEST(CheckLayout, SeesEveryExchangeOfRowsThatIsLeftOut) {
  for (const Broken::Call kind : {Broken::Call::kAllGather, Broken::Call::kReduceScatter}) {
    for (int call = 0;; ++call) {
      ASSERT_LT(call, 100);
      const LayoutReport report =
          check_broken(llama({.tensor = 2, .sequence_parallel = true}, 1), &parallel::Groups::tensor, kind, call, 1, 1);
      if (!report.equal()) continue;
      // Forward 5 and backward 9 gathers, of two halves of two layers and the ends; as many sums as forward, twice.
      EXPECT_EQ(call, kind == Broken::Call::kAllGather ? 5 + 4 * 3 + 1 : 2 * 5);
      break;
    }
  }
}

// Sums the gradients a last bit wider on the second replica.
class Nudged final : public support::PassingCommunicator {
 public:
  using PassingCommunicator::PassingCommunicator;

 private:
  void do_all_reduce(device::Stream& stream, const tensor::MutableView& data, comm::Reduction reduction) override {
    PassingCommunicator::do_all_reduce(stream, data, reduction);
    if (data.dtype != tensor::DType::kF32 || rank() == 0) return;
    for (std::int64_t i = 0; i < data.count(); ++i) data.as<float>()[i] = std::nextafter(data.as<float>()[i], 1e9f);
  }
};

// Far too little for a comparison of values.
TEST(CheckLayout, SeesCopiesOfAWeightThatDifferInABit) {
  CheckSettings settings;
  settings.interfere = [](parallel::Groups& groups) { groups.data = std::make_unique<Nudged>(std::move(groups.data)); };
  const LayoutReport report = check_layout(gpt2({.data = 2}), settings);
  ASSERT_FALSE(report.equal());
  EXPECT_EQ(report.first->what, Compared::kCopy);
  EXPECT_EQ(report.first->step, 1);
  EXPECT_THAT(text_of(*report.first), HasSubstr("rank 1 (dp 1, pp 0, tp 0) has other bits than rank 0"));
  EXPECT_EQ(report.comparisons[static_cast<std::size_t>(Compared::kWeight)].different, 0);
}

// Two replicas hold both ends of a tied embedding: four copies of it, and two of every other weight, after the start
// and three updates.
TEST(CheckLayout, CountsTheCopiesOfAWeight) {
  const SmallRun run = gpt2({.pipeline = 2, .data = 2, .zero = 1});
  const LayoutReport report = check_layout(run);
  EXPECT_TRUE(report.equal());
  const auto tensors = static_cast<std::int64_t>(model::parameter_table(run.model).size());
  EXPECT_EQ(report.comparisons[static_cast<std::size_t>(Compared::kCopy)].compared, 4 * (3 + (tensors - 1)));
}

TEST(CheckLayout, NamesTheTensorWhoseShareIsNotReduced) {
  const SmallRun run = gpt2({.data = 2, .zero = 1});
  const LayoutReport report = check_broken(run, &parallel::Groups::data, Broken::Call::kReduceScatter, 0, 1, 1);
  ASSERT_FALSE(report.equal());
  EXPECT_EQ(report.first->what, Compared::kGradient);
  EXPECT_EQ(report.first->name, "transformer.ln_f.bias");
}

// The shares of every micro-batch: the head's bucket is the first.
TEST(CheckLayout, NamesTheTensorWhoseMicroBatchIsNotReduced) {
  const SmallRun run = gpt2({.data = 2, .zero = 2});
  const LayoutReport report = check_broken(run, &parallel::Groups::data, Broken::Call::kReduceScatter, 0, 1, 1);
  ASSERT_FALSE(report.equal());
  EXPECT_EQ(report.first->what, Compared::kGradient);
  EXPECT_EQ(report.first->name, "transformer.ln_f.bias");
}

// Nobody has them whole to be compared: it shows in the first loss.
TEST(CheckLayout, SeesALayerThatIsNotGathered) {
  const SmallRun run = gpt2({.data = 2, .zero = 3});
  for (int call = 0; call < 4; ++call) {
    const LayoutReport report = check_broken(run, &parallel::Groups::data, Broken::Call::kAllGather, call, 1, 1);
    ASSERT_FALSE(report.equal()) << call;
    EXPECT_EQ(report.first->what, Compared::kLoss) << call;
  }
}

config::RunOptions options() {
  config::RunOptions options;
  options.model.model = "gpt2-124m";
  return options;
}

TEST(CheckLayout, TakesTheLayoutOfARunOnTwoReplicasIfTheBatchDividesIntoThem) {
  config::RunOptions run = options();
  run.layout.tensor_parallel = 2;
  run.layout.pipeline_parallel = 3;
  run.layout.schedule = "gpipe";
  run.layout.zero = 1;
  const SmallRun two = small_run(run);
  EXPECT_EQ(two.layout.tensor, 2);
  EXPECT_EQ(two.layout.pipeline, 3);
  EXPECT_EQ(two.layout.data, 2);
  EXPECT_EQ(two.layout.zero, 1);
  EXPECT_EQ(two.layout.schedule, parallel::ScheduleKind::kGpipe);
  run.batch.global_batch = 3;
  EXPECT_EQ(small_run(run).layout.data, 1);
  run.layout.expect_world = 18;
  EXPECT_EQ(small_run(run).layout.data, 3);
}

TEST(CheckLayout, RefusesWhatARunRefuses) {
  const auto problems = [](const config::RunOptions& run) {
    try {
      small_run(run);
    } catch (const ConfigError& error) {
      return error.problems();
    }
    return std::vector<std::string>{};
  };
  config::RunOptions run = options();
  run.layout.tensor_parallel = 5;
  EXPECT_THAT(problems(run), ElementsAre("--tensor-parallel 5: 12 heads are not divisible by it; nearest legal values: "
                                         "4, 6"));
  run.layout.tensor_parallel = 1000000;
  EXPECT_THAT(problems(run), ElementsAre(HasSubstr("2000000 ranks")));
  run.model.model = "";
  EXPECT_THAT(problems(run), ElementsAre(HasSubstr("--model")));
}

TEST(CheckLayout, SaysWhereAndByHowMuch) {
  Difference difference;
  difference.step = 2;
  difference.what = Compared::kGradient;
  difference.name = "model.norm.weight";
  difference.place = "[7]";
  difference.rank = 5;
  difference.at = {.tensor = 1, .pipeline = 0, .data = 1};
  difference.found = 0.25;
  difference.expected = 0.5;
  difference.allowed = 1e-5;
  EXPECT_EQ(
      text_of(difference),
      "step 2, gradients after their reduction: model.norm.weight: rank 5 (dp 1, pp 0, tp 1) has 0.25 at [7] where "
      "one rank has 0.5; allowed is 1e-05");
}

}  // namespace
}  // namespace convoy::train

// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/evaluate.h"

#include "libcore/ops/backend.h"
#include "libcore/train/weights.h"
#include "tests/unit/train/tiny_run.h"

namespace convoy::train {
namespace {

constexpr double kSummationOrder = 1e-5;  // relative; fp32 rows, summed in another order

class Evaluate : public testing::Test {
 protected:
  Evaluate()
      : stream_(ops::cpu_backend(), 1),
        config_(model::parse_config(tiny_llama(), "tiny")),
        parameters_(model::parameter_table(config_), tensor::DType::kF32, true),
        optimizer_(parameters_, {}),
        model_(stream_, config_, parameters_, 4, 8, true) {
    write_pair(folder_ / "pair", random_tokens(101), {101});
    dataset_.emplace(folder_ / "pair", true);
    initialise(stream_, parameters_, 1, optimizer_);
    model_.pack(stream_);
  }

  EvalMetrics run(std::int64_t samples, std::int64_t rows) {
    const EvaluationSet set{"v", &*dataset_, data::Sampler(dataset_->tokens(), 8, data::DataOrder::kSequential, 0),
                            samples};
    MicroBatch scratch(rows, 8, false);
    return evaluate(stream_, model_, groups_, set,
                    {.vocabulary = kTinyVocabulary, .document_positions = false, .ignore_after = std::nullopt},
                    scratch);
  }

  TmpDir folder_;
  std::unique_ptr<comm::Communicator> world_ = comm::make_self();
  parallel::Groups groups_ = parallel::make_groups(*world_, {});
  std::optional<data::IndexedDataset> dataset_;
  device::Stream stream_;
  model::Config config_;
  model::Parameters parameters_;
  optim::AdamW optimizer_;
  model::Model model_;
};

// 5 samples in batches of 4: three rows of the second batch are empty and must add nothing.
TEST_F(Evaluate, RowsThatNoSampleFillsDoNotCount) {
  const EvalMetrics whole = run(5, 4);
  const EvalMetrics single = run(5, 1);
  EXPECT_EQ(whole.tokens, 40);
  EXPECT_EQ(single.tokens, 40);
  EXPECT_NEAR(whole.loss, single.loss, kSummationOrder * single.loss);
}

TEST_F(Evaluate, LeavesWeightsAndGradientsAsTheyWere) {
  const auto copy = [&] {
    std::vector<float> values;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      for (const tensor::MutableView& view : {parameters_.weight(i), parameters_.gradient(i)}) {
        values.insert(values.end(), view.as<float>(), view.as<float>() + view.count());
      }
    }
    return values;
  };
  parameters_.gradient(0).as<float>()[0] = 0.5f;
  const std::vector<float> before = copy();
  run(12, 4);
  EXPECT_EQ(copy(), before);
}

}  // namespace
}  // namespace convoy::train

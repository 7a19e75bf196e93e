// SPDX-License-Identifier: Apache-2.0
// Whole runs of a tiny model: what they leave behind, and that they can be repeated to the byte.
#include "libcore/train/run.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "libcore/base/error.h"
#include "tests/unit/train/tiny_run.h"

namespace convoy::train {
namespace {

using nlohmann::json;
using support::content_of;

std::vector<std::string> step_rows(const Path& metrics) {
  std::vector<std::string> rows;
  for (const std::string& line : lines_of(metrics)) {
    if (json::parse(line)["kind"] == "step") rows.push_back(line);
  }
  return rows;
}

json status_of(const TmpDir& folder, const std::string& run) {
  return json::parse(content_of(folder / run / "status.json"));
}

TEST(Run, LeavesACompleteRunDirectory) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder);
  options.output.checkpoint_every = "4";
  options.output.dump_gradients = 2;
  train_tiny(options);
  EXPECT_EQ(status_of(folder, "run")["state"], "finished");
  EXPECT_EQ(status_of(folder, "run")["step"], 6);
  EXPECT_EQ(status_of(folder, "run")["last_checkpoint"], "checkpoints/step_000000006");
  EXPECT_EQ(step_rows(folder / "run" / "metrics.jsonl").size(), 6u);
  for (const char* file : {"checkpoints/step_000000004/COMMIT", "checkpoints/step_000000006/manifest.json",
                           "config.toml", "debug/gradients-2.safetensors", "events.jsonl"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / "run" / file)) << file;
  }
  const json record = json::parse(content_of(folder / "run" / "run.json"));
  EXPECT_EQ(record["resolved"]["steps"], 6);
  EXPECT_EQ(record["model"]["hidden_size"], 16);
  EXPECT_EQ(record["libraries"]["fmt"], "9");
  EXPECT_EQ(record["layout"]["world"], 1);
  EXPECT_EQ(record["attempts"].size(), 1u);
}

TEST(Run, TheSameSeedAndThreadsGiveTheSameMetricsToTheByte) {
  for (const std::int64_t threads : {1, 2}) {
    const TmpDir folder;
    config::RunOptions options = tiny_options(folder, "a");
    options.device.threads = threads;
    options.device.precision = "bf16";
    train_tiny(options);
    options.output.out = (folder / "b").string();
    train_tiny(options);
    EXPECT_EQ(content_of(folder / "a" / "metrics.jsonl"), content_of(folder / "b" / "metrics.jsonl"))
        << threads << " threads";
    EXPECT_EQ(digest_of(folder / "a/checkpoints/step_000000006"), digest_of(folder / "b/checkpoints/step_000000006"));
  }
}

TEST(Run, AnotherSeedGivesOtherMetrics) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder, "a");
  train_tiny(options);
  options.output.out = (folder / "b").string();
  options.data.seed = 2;
  train_tiny(options);
  EXPECT_NE(content_of(folder / "a" / "metrics.jsonl"), content_of(folder / "b" / "metrics.jsonl"));
}

TEST(Run, EvaluationDoesNotPerturbTraining) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder, "often");
  options.output.eval_every = 1;
  train_tiny(options);
  options.data.valid_data.clear();
  options.output.eval_every = 0;
  options.output.out = (folder / "never").string();
  train_tiny(options);
  EXPECT_EQ(step_rows(folder / "often" / "metrics.jsonl"), step_rows(folder / "never" / "metrics.jsonl"));
  EXPECT_EQ(lines_of(folder / "often" / "metrics.jsonl").size(), 12u);
}

TEST(Run, TheMicroBatchChangesTheLossByRoundingOnly) {
  constexpr double kRounding = 2e-5;  // relative; fp32 sums in another order, over 6 steps
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder, "one");
  options.batch.micro_batch = 8;
  train_tiny(options);
  options.batch.micro_batch = 1;
  options.output.out = (folder / "eight").string();
  train_tiny(options);
  const double one = json::parse(step_rows(folder / "one" / "metrics.jsonl").back())["loss"];
  const double eight = json::parse(step_rows(folder / "eight" / "metrics.jsonl").back())["loss"];
  EXPECT_NEAR(one, eight, kRounding * one);
}

TEST(Run, InitialisesFromACheckpointItWroteItself) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder, "first");
  options.output.eval_steps = 0;
  train_tiny(options);
  const double trained = json::parse(lines_of(folder / "first" / "metrics.jsonl").back())["loss"];
  options.model.init_from = (folder / "first/checkpoints/step_000000006").string();
  options.output.out = (folder / "second").string();
  options.batch.steps = 1;
  options.optimizer.lr = 0.0;
  train_tiny(options);
  const double loaded = json::parse(lines_of(folder / "second" / "metrics.jsonl").back())["loss"];
  EXPECT_EQ(trained, loaded);
}

TEST(Run, RefusesWeightsThatAreNotFinite) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder);
  write_tiny_folder(folder / "hf", "model.norm.weight", 15, std::numeric_limits<float>::infinity());
  options.model.init_from = (folder / "hf").string();
  try {
    train_tiny(options);
    FAIL() << "an infinite weight was accepted";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("model.norm.weight[15]"));
  }
  EXPECT_EQ(status_of(folder, "run")["state"], "failed");
}

// A rate of 1e30 destroys the weights with the first update; every step after it is skipped.
TEST(Run, EndsWithCodeFourAfterTooManyNonFiniteStepsAndWritesNoCheckpoint) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder);
  options.optimizer.lr = 1e30;
  options.optimizer.schedule = "constant";
  options.optimizer.max_skipped_steps = 3;
  options.output.checkpoint_every = "6";
  EXPECT_THROW(train_tiny(options), NumericsError);
  const std::vector<std::string> rows = step_rows(folder / "run" / "metrics.jsonl");
  ASSERT_EQ(rows.size(), 4u);
  const json last = json::parse(rows.back());
  EXPECT_EQ(last["loss"], nullptr);
  EXPECT_EQ(last["update"], 1);
  EXPECT_EQ(last["skipped"], 3);
  EXPECT_EQ(last["consumed_samples"], 32);
  EXPECT_EQ(status_of(folder, "run")["state"], "failed");
  EXPECT_EQ(status_of(folder, "run")["step"], 4);
  EXPECT_EQ(status_of(folder, "run")["exit_code"], 4);
  EXPECT_FALSE(std::filesystem::exists(folder / "run" / "checkpoints"));
}

TEST(Run, AFinishedRunIsLeftAsItIs) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder);
  train_tiny(options);
  const std::string before = content_of(folder / "run" / "metrics.jsonl");
  EXPECT_EQ(train_tiny(options), ExitCode::kDone);
  options.resume.mode = "never";
  EXPECT_THROW(train_tiny(options), EnvironmentError);
  EXPECT_EQ(content_of(folder / "run" / "metrics.jsonl"), before);
  EXPECT_EQ(status_of(folder, "run")["state"], "finished");
}

// A folder that cannot be created stands for every refusal of the file system on the way.
TEST(Run, AFailedSaveLeavesTheEarlierCheckpointAndSaysFailed) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder);
  options.output.checkpoint_every = "2";
  std::filesystem::create_directories(folder / "run");
  folder.write("run/debug", "a file where the gradients' folder should be");
  options.output.dump_gradients = 4;
  EXPECT_THROW(train_tiny(options), EnvironmentError);
  EXPECT_TRUE(std::filesystem::exists(folder / "run/checkpoints/step_000000002/COMMIT"));
  EXPECT_EQ(status_of(folder, "run")["state"], "failed");
  EXPECT_EQ(status_of(folder, "run")["exit_code"], 7);
  EXPECT_EQ(status_of(folder, "run")["last_checkpoint"], "checkpoints/step_000000002");
}

TEST(Run, DocumentsAndMasksChangeTheLoss) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder, "plain");
  write_pair(folder / "train", random_tokens(1001), std::vector<std::int32_t>(143, 7));
  train_tiny(options);
  options.model.attention_reset_at_document = true;
  options.output.out = (folder / "documents").string();
  train_tiny(options);
  options.model.attention_reset_at_document = false;
  options.data.mask_loss_after_eos = true;
  options.data.eos_id = 0;
  options.output.out = (folder / "masked").string();
  train_tiny(options);
  const auto first = [&](const char* run) { return step_rows(folder / run / "metrics.jsonl").back(); };
  EXPECT_NE(first("plain"), first("documents"));
  EXPECT_NE(first("plain"), first("masked"));
  EXPECT_LT(json::parse(first("masked"))["tokens"].get<int>(), 64);
}

}  // namespace
}  // namespace convoy::train

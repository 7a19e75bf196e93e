// SPDX-License-Identifier: Apache-2.0
// Runs that go on: to the byte on the same layout, to rounding on another, and not at all where they must not.
#include "libcore/train/resume.h"

#include "tests/unit/train/resume_runs.h"

namespace convoy::train {
namespace {

using support::content_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Resume, OnOneRankGoesOnToTheByte) {
  expect_exact_resume({"one"}, "fp32");
  expect_exact_resume({"one"}, "bf16");
}

TEST(Resume, WithTensorAndDataParallelismGoesOnToTheByte) {
  expect_exact_resume({"tp2_dp2_zero1", 2, 1, 2, 1}, "bf16");
}

TEST(Resume, WithAPipelineGoesOnToTheByte) { expect_exact_resume({"pp2_dp2", 1, 2, 2}, "fp32"); }

class Resumed : public testing::Test {
 protected:
  Resumed() : options_(tiny_options(folder_)) {
    options_.batch.micro_batch = 2;
    options_.output.checkpoint_every = "2";
  }

  // Leaves a run that was stopped at its `look`-th look for a signal: it looks once a step, and after every second
  // step, whose save it has just done, once more.
  void stop_after(int look, const TinyLayout& layout = {"one"}) {
    StopAt stop(0, look);
    ASSERT_EQ(train_tiny(with_layout(options_, layout), layout.ranks(), [&](int rank) { return stop(rank); }),
              ExitCode::kRequeue);
  }

  std::string refusal() {
    try {
      train_tiny(options_);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "not refused";
  }

  TmpDir folder_;
  config::RunOptions options_;
};

TEST_F(Resumed, AnyLayoutGoesOnFromAnyOther) {
  constexpr double kRounding = 2e-5;  // as in layouts_test.cpp
  config::RunOptions whole = options_;
  whole.output.out = (folder_ / "whole").string();
  train_tiny(whole);
  const std::vector<TinyLayout> path = {{"tp2_dp2_zero1", 2, 1, 2, 1}, {"pp2", 1, 2, 1}, {"dp2_zero1", 1, 1, 2, 1}};
  stop_after(1, path[0]);
  stop_after(1, path[1]);
  ASSERT_EQ(train_tiny(with_layout(options_, path[2]), 2), ExitCode::kDone);
  const auto want = rows_of(folder_ / "whole", "step"), got = rows_of(folder_ / "run", "step");
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i]["lr"], want[i]["lr"]);
    EXPECT_EQ(got[i]["consumed_samples"], want[i]["consumed_samples"]);
    EXPECT_NEAR(got[i]["loss"].get<double>(), want[i]["loss"].get<double>(), kRounding * want[i]["loss"].get<double>());
  }
}

// The states of a checkpoint are those of the run, whoever holds them: a layout that trains no step saves what it read.
TEST_F(Resumed, AnotherLayoutReadsTheSameStates) {
  stop_after(2);
  const std::string before = digest_of(folder_ / "run/checkpoints/step_000000002");
  config::RunOptions other = with_layout(options_, {"tp2_pp2", 2, 2, 1});
  other.resume.from = (folder_ / "run/checkpoints/step_000000002").string();
  other.output.out = (folder_ / "other").string();
  other.batch.steps = 3;
  other.optimizer.lr = 0.0;
  other.optimizer.weight_decay = 0.0;
  other.resume.allow_change = {"lr", "min-lr", "weight-decay"};
  train_tiny(other, 4);
  const checkpoint::Checkpoint one(folder_ / "run/checkpoints/step_000000002");
  const checkpoint::Checkpoint many(folder_ / "other/checkpoints/step_000000003");
  for (const checkpoint::StoredTensor& stored : one.manifest().tensors) {
    if (stored.state != checkpoint::kWeight) continue;
    EXPECT_EQ(many.find(stored.name, stored.state)->digest, stored.digest) << stored.name;
  }
  EXPECT_EQ(before, one.digest());
}

TEST_F(Resumed, RowsOfStepsThatWereLostAreDiscardedAndAStepOccursOnce) {
  stop_after(4);  // in step 3
  std::filesystem::remove_all(folder_ / "run/checkpoints/step_000000003");
  {
    std::ofstream torn(folder_ / "run/metrics.jsonl", std::ios::app);
    torn << R"({"kind":"step","st)";
  }
  ASSERT_EQ(train_tiny(options_), ExitCode::kDone);
  const auto steps = rows_of(folder_ / "run", "step");
  ASSERT_EQ(steps.size(), 6u);
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i]["step"], static_cast<int>(i) + 1);
  EXPECT_THAT(lines_of(folder_ / "run/metrics.discarded.jsonl"), testing::ElementsAre(HasSubstr("\"step\":3")));
}

TEST_F(Resumed, ABrokenNewestCheckpointIsPassedOver) {
  stop_after(4);  // in step 3
  std::filesystem::remove(folder_ / "run/checkpoints/step_000000003/COMMIT");
  ASSERT_EQ(train_tiny(options_), ExitCode::kDone);
  EXPECT_EQ(rows_of(folder_ / "run", "step").size(), 6u);
}

TEST_F(Resumed, ARenamedCheckpointIsNotTheStepOfItsName) {
  stop_after(4);  // in step 3
  std::filesystem::rename(folder_ / "run/checkpoints/step_000000003", folder_ / "run/checkpoints/step_000000006");
  ASSERT_EQ(train_tiny(options_), ExitCode::kDone);  // by its name the run would be finished
  EXPECT_EQ(rows_of(folder_ / "run", "step").size(), 6u);
}

// Flips a bit of the last tensor in a rank's file.
void damage(const Path& step, const char* shard) {
  std::uint64_t last = 0;
  const checkpoint::Manifest manifest = checkpoint::Checkpoint(step).manifest();
  for (const checkpoint::StoredFragment& fragment : manifest.fragments) {
    if (manifest.files[fragment.file].name == shard) last = std::max(last, fragment.offset);
  }
  std::string bytes = content_of(step / shard);
  bytes[last] = static_cast<char>(bytes[last] ^ 1);
  write_file_atomically(step / shard, bytes);
}

TEST_F(Resumed, WhereReadingFindsDamageTheRunGoesBackToTheNewestThatIsWhole) {
  config::RunOptions whole = options_;
  whole.output.out = (folder_ / "whole").string();
  train_tiny(whole);
  options_.output.checkpoint_every = "1";
  options_.output.keep_last = 0;
  stop_after(5);  // in step 3
  damage(folder_ / "run/checkpoints/step_000000003", "shard_tp000_pp000_dp00000.h5");
  damage(folder_ / "run/checkpoints/step_000000002", "shard_tp000_pp000_dp00000.h5");
  testing::internal::CaptureStderr();
  const ExitCode code = train_tiny(options_);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), AllOf(HasSubstr("step_000000003"), HasSubstr("step_000000002"), HasSubstr("CRC-32C"), HasSubstr("passed over")));
  EXPECT_EQ(code, ExitCode::kDone);
  EXPECT_EQ(rows_of(folder_ / "run", "step").size(), 6u);
  EXPECT_EQ(content_of(folder_ / "run/metrics.jsonl"), content_of(folder_ / "whole/metrics.jsonl"));
  EXPECT_EQ(digest_of(folder_ / "run/checkpoints/step_000000006"), digest_of(folder_ / "whole/checkpoints/step_000000006"));
  EXPECT_THAT(lines_of(folder_ / "run/metrics.discarded.jsonl"), testing::SizeIs(2));
  EXPECT_EQ(nlohmann::json::parse(content_of(folder_ / "run/run.json"))["attempts"].size(), 2u);
}

TEST_F(Resumed, DamageThatOneRankMeetsSendsAllRanksBack) {
  const TinyLayout two = {"dp2_zero1", 1, 1, 2, 1};
  stop_after(4, two);  // in step 3
  damage(folder_ / "run/checkpoints/step_000000003", "shard_tp000_pp000_dp00001.h5");
  EXPECT_EQ(train_tiny(with_layout(options_, two), 2), ExitCode::kDone);
  EXPECT_EQ(rows_of(folder_ / "run", "step").size(), 6u);
}

TEST_F(Resumed, WhereNoneIsWholeDamageEndsTheRunAndNothingIsStartedOver) {
  stop_after(2);
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "run/checkpoints")) damage(entry.path(), "shard_tp000_pp000_dp00000.h5");
  const std::string metrics = content_of(folder_ / "run/metrics.jsonl");
  try {
    train_tiny(options_);
    FAIL() << "a torn checkpoint was trained on";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("CRC-32C"), HasSubstr("no sound checkpoint before it")));
  }
  EXPECT_EQ(content_of(folder_ / "run/metrics.jsonl"), metrics);
}

TEST_F(Resumed, AKeyThatMayChangeAndIsNoneIsRefusedByANewRunToo) {
  options_.resume.allow_change = {"lr", "colour"};
  try {
    train_tiny(options_);
    FAIL() << "no key is called colour";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--allow-change colour: no such key"));
  }
  options_.resume.allow_change = {"lr", "dropout"};
  EXPECT_EQ(train_tiny(options_), ExitCode::kDone);
}

TEST_F(Resumed, ACheckpointsFolderThatCannotBeListedIsNotAnEmptyOne) {
  stop_after(2);
  std::filesystem::rename(folder_ / "run/checkpoints", folder_ / "aside");
  folder_.write("run/checkpoints", "in the way");
  const std::string metrics = content_of(folder_ / "run/metrics.jsonl");
  EXPECT_THROW(train_tiny(options_), EnvironmentError);
  EXPECT_EQ(content_of(folder_ / "run/metrics.jsonl"), metrics);
}

TEST_F(Resumed, RowsThatAreNoneOfOursStay) {
  stop_after(2);
  const std::string odd = R"({"step":"two"})";
  { std::ofstream(folder_ / "run/metrics.jsonl", std::ios::app) << odd << "\n"; }
  ASSERT_EQ(train_tiny(options_), ExitCode::kDone);
  EXPECT_THAT(lines_of(folder_ / "run/metrics.jsonl"), testing::Contains(odd));
}

TEST_F(Resumed, WhereNoCheckpointIsSoundNothingIsStartedOverThem) {
  stop_after(1);
  std::filesystem::remove(folder_ / "run/checkpoints/step_000000001/COMMIT");
  EXPECT_THROW(train_tiny(options_), DataError);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/checkpoints/step_000000001/manifest.json"));
}

TEST_F(Resumed, ARunWithoutACheckpointStartsAnew) {
  options_.rehearsal.faults = {"nan-gradient:step=1,rank=0", "nan-gradient:step=2,rank=0"};
  options_.optimizer.max_skipped_steps = 1;
  EXPECT_THROW(train_tiny(options_), NumericsError);
  options_.rehearsal.faults.clear();
  EXPECT_EQ(train_tiny(options_), ExitCode::kDone);
  EXPECT_EQ(rows_of(folder_ / "run", "step").size(), 6u);
  EXPECT_EQ(lines_of(folder_ / "run/metrics.discarded.jsonl").size(), 1u);
}

TEST_F(Resumed, RequireRefusesWhereThereIsNothingToResume) {
  options_.resume.mode = "require";
  EXPECT_THROW(train_tiny(options_), DataError);
}

TEST_F(Resumed, ADirectoryThatIsNoRunsIsLeftAlone) {
  folder_.write("run/config.toml", "[train]\n");
  EXPECT_THROW(train_tiny(options_), EnvironmentError);
  EXPECT_EQ(content_of(folder_ / "run/config.toml"), "[train]\n");
}

TEST_F(Resumed, EverySettingThatDiffersIsNamedWithBothValues) {
  stop_after(2);
  options_.data.seed = 2;
  options_.optimizer.beta2 = 0.99;
  options_.resume.allow_change = {"colour"};
  EXPECT_THAT(refusal(), AllOf(HasSubstr("seed: the checkpoint's run has 1, this one 2"),
                               HasSubstr("beta2: the checkpoint's run has 0.95, this one 0.99"),
                               HasSubstr("--allow-change colour: no such key")));
  options_.resume.allow_change = {"seed", "beta2"};
  EXPECT_EQ(train_tiny(options_), ExitCode::kDone);
}

// The same command comes again after a requeue, when nothing differs any more.
TEST_F(Resumed, ASettingThatNeitherRunHasMayBeAllowedToChange) {
  stop_after(2);
  options_.resume.allow_change = {"dropout", "loss-scale", "wsd-decay-share"};
  EXPECT_EQ(train_tiny(options_), ExitCode::kDone);
}

TEST_F(Resumed, OtherRatesOfDropoutAreRefusedUnlessAllowed) {
  options_.model.dropout = 0.1;
  stop_after(2);
  options_.model.dropout = 0.2;
  EXPECT_THAT(refusal(), HasSubstr("dropout: the checkpoint's run has attention 0.1, this one attention 0.2"));
  options_.model.dropout = 0.0;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("dropout: the checkpoint's run has attention 0.1, this one nothing"),
                               Not(HasSubstr("model:"))));
  options_.resume.allow_change = {"dropout"};
  EXPECT_EQ(train_tiny(options_), ExitCode::kDone);
}

TEST_F(Resumed, AnotherModelIsRefused) {
  stop_after(2);
  folder_.write("config.json", tiny_tied_llama());
  EXPECT_THAT(refusal(), HasSubstr("model: the checkpoint's run has"));
}

TEST_F(Resumed, AFinishedRunOfOtherSettingsIsNotCalledFinished) {
  train_tiny(options_);
  options_.data.seed = 3;
  EXPECT_THAT(refusal(), HasSubstr("seed"));
}

// The end of the decay was decided at the start; more steps do not move it.
TEST_F(Resumed, MoreStepsGoOnUnderTheSameSchedule) {
  train_tiny(options_);
  options_.batch.steps = 8;
  EXPECT_EQ(train_tiny(options_), ExitCode::kDone);
  const auto steps = rows_of(folder_ / "run", "step");
  ASSERT_EQ(steps.size(), 8u);
  EXPECT_DOUBLE_EQ(steps[7]["lr"].get<double>(), 1e-3);  // a tenth of the peak, from step 6 on
}

TEST_F(Resumed, AnotherRunsStateStartsAnEmptyDirectory) {
  train_tiny(options_);
  config::RunOptions branch = options_;
  branch.output.out = (folder_ / "branch").string();
  branch.resume.from = (folder_ / "run/checkpoints/step_000000004").string();
  EXPECT_EQ(train_tiny(branch), ExitCode::kDone);
  EXPECT_EQ(digest_of(folder_ / "branch/checkpoints/step_000000006"),
            digest_of(folder_ / "run/checkpoints/step_000000006"));
  const auto steps = rows_of(folder_ / "branch", "step");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0]["step"], 5);
  const auto record = nlohmann::json::parse(content_of(folder_ / "branch/run.json"));
  EXPECT_EQ(record["origin"]["kind"], "resume-from");
}

TEST_F(Resumed, AnotherRunsStateLeavesSomethingToTrain) {
  train_tiny(options_);
  options_.output.out = (folder_ / "branch").string();
  options_.resume.from = (folder_ / "run").string();
  for (const std::int64_t steps : {4, 6}) {
    options_.batch.steps = steps;
    EXPECT_THAT(refusal(), HasSubstr("step 6, which leaves nothing to train up to --steps"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "branch/run.json"));
}

TEST_F(Resumed, TheRecordListsEveryAttempt) {
  stop_after(2);
  train_tiny(options_);
  const auto record = nlohmann::json::parse(content_of(folder_ / "run/run.json"));
  ASSERT_EQ(record["attempts"].size(), 2u);
  EXPECT_EQ(record["attempts"][0]["resumed_from"], nullptr);
  EXPECT_THAT(record["attempts"][1]["resumed_from"].get<std::string>(), HasSubstr("step_000000002"));
  EXPECT_EQ(record["origin"]["kind"], "seed");
}

TEST_F(Resumed, OldCheckpointsGoAndThoseOfTheKeptStepsStay) {
  options_.output.checkpoint_every = "1";
  options_.output.keep_last = 2;
  options_.output.keep_every = 3;
  train_tiny(options_);
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "run/checkpoints"))
    left.push_back(entry.path().filename().string());
  EXPECT_THAT(left, testing::UnorderedElementsAre("step_000000003", "step_000000005", "step_000000006"));
}

TEST_F(Resumed, ABrokenStepBeyondTheEndDoesNotCountAsTheNewest) {
  stop_after(2);
  std::filesystem::create_directories(folder_ / "run/checkpoints/step_000000099");
  options_.output.keep_last = 1;
  ASSERT_EQ(train_tiny(options_), ExitCode::kDone);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/checkpoints/step_000000006/COMMIT"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/checkpoints/step_000000004"));
}

TEST_F(Resumed, SkippedStepsInARowAreCountedOn) {
  options_.rehearsal.faults = {"nan-gradient:step=2,rank=0", "nan-gradient:step=3,rank=0"};
  options_.optimizer.max_skipped_steps = 2;
  stop_after(2);
  EXPECT_THROW(train_tiny(options_), NumericsError);
  EXPECT_EQ(rows_of(folder_ / "run", "step").size(), 3u);
}

TEST_F(Resumed, AStopInTheLastStepIsTheEnd) {
  StopAt stop(0, 8);  // in step 6
  EXPECT_EQ(train_tiny(options_, 1, [&](int rank) { return stop(rank); }), ExitCode::kDone);
  EXPECT_EQ(status_of(folder_ / "run")["state"], "finished");
}

// The third look comes after the save of step 2, which is not done again.
TEST_F(Resumed, AStopDuringASaveIsHonouredThen) {
  stop_after(3);
  EXPECT_EQ(status_of(folder_ / "run")["step"], 2);
  EXPECT_EQ(status_of(folder_ / "run")["last_checkpoint"], "checkpoints/step_000000002");
}

// As the third look, which the evaluation after step 2 is followed by.
TEST_F(Resumed, AStopDuringAnEvaluationIsHonouredThenAndTheRunGoesOnToTheByte) {
  options_.output.checkpoint_every = "";
  options_.output.eval_every = 2;
  config::RunOptions whole = options_;
  whole.output.out = (folder_ / "whole").string();
  train_tiny(whole);
  stop_after(3);
  EXPECT_EQ(status_of(folder_ / "run")["step"], 2);
  EXPECT_EQ(status_of(folder_ / "run")["last_checkpoint"], "checkpoints/step_000000002");
  EXPECT_EQ(rows_of(folder_ / "run", "eval").size(), 1u);
  ASSERT_EQ(train_tiny(options_), ExitCode::kDone);
  EXPECT_EQ(content_of(folder_ / "run/metrics.jsonl"), content_of(folder_ / "whole/metrics.jsonl"));
}

TEST_F(Resumed, TimeStopsARunToo) {
  options_.stop.after = 1e-9;
  EXPECT_EQ(train_tiny(options_), ExitCode::kRequeue);
  EXPECT_THAT(status_of(folder_ / "run")["reason"].get<std::string>(), HasSubstr("--stop-after"));
  EXPECT_EQ(status_of(folder_ / "run")["step"], 1);
}

}  // namespace
}  // namespace convoy::train

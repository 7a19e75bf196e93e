// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/run_directory.h"

#include "libcore/base/error.h"
#include "tests/unit/train/tiny_run.h"

namespace convoy::train {
namespace {

using testing::HasSubstr;

TEST(RunDirectory, RefusesASecondOwnerNamingTheFirst) {
  const TmpDir folder;
  const RunDirectory first(folder / "run", {"node7", 4711, "99", "job 99, process 4711 on node7"});
  try {
    const RunDirectory second(folder / "run", {"node8", 1, "", "process 1 on node8"});
    FAIL() << "two runs own one directory";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("node7"));
    EXPECT_THAT(error.what(), HasSubstr("4711"));
    EXPECT_THAT(error.what(), HasSubstr("99"));
  }
}

TEST(RunDirectory, RefusesOneThatHoldsARun) {
  for (const char* trace : {"metrics.jsonl", "status.json", "config.toml", "run.json", "checkpoints"}) {
    const TmpDir folder;
    folder.write(std::string("run/") + trace, "");
    EXPECT_THROW(RunDirectory(folder / "run").refuse_occupied(), EnvironmentError) << trace;
  }
}

TEST(RunDirectory, TakesOneThatHoldsJobLogsAndALeftLock) {
  const TmpDir folder;
  std::filesystem::create_directories(folder / "run" / "logs");
  { const RunDirectory first(folder / "run", {"here", 1, "", ""}); }
  const RunDirectory second(folder / "run", {"here", 2, "", ""});
  EXPECT_EQ(second.occupied(), "");
}

TEST(RunDirectory, IsNotInsideACheckpointNorAFolderOfThem) {
  const TmpDir folder;
  folder.write("run/checkpoints/step_000000008/COMMIT", "");
  for (const char* place :
       {"run/checkpoints/step_000000008", "run/checkpoints/step_000000008/a/b", "run/checkpoints"}) {
    EXPECT_THROW(RunDirectory(folder / place, {"here", 1, "", ""}), ConfigError) << place;
    EXPECT_FALSE(std::filesystem::exists(folder / place / "LOCK")) << place;
  }
  const RunDirectory owner(folder / "run", {"here", 1, "", ""});
}

TEST(RunDirectory, NamesWhatLiesInIt) {
  const TmpDir folder;
  const RunDirectory directory(folder / "run", {"here", 1, "", ""});
  EXPECT_EQ(directory.checkpoint(8), folder / "run" / "checkpoints" / "step_000000008");
  EXPECT_EQ(directory.gradients(1), folder / "run" / "debug" / "gradients-1.safetensors");
}

TEST(RecordFailure, KeepsWhatTheStatusSaysBesides) {
  const TmpDir folder;
  Status status;
  status.step = 3;
  status.steps = 9;
  status.loss = 1.5;
  const Path path = folder.write("status.json", status_json(status));
  record_failure(path, "a lost peer", 5);
  EXPECT_EQ(support::content_of(path),
            R"({"state":"failed","step":3,"steps":9,"loss":1.5,"eta_seconds":null,"last_checkpoint":null,)"
            R"("reason":"a lost peer","exit_code":5})"
            "\n");
  record_failure(path, "another", 7);  // the first is the cause
  EXPECT_THAT(support::content_of(path), HasSubstr("a lost peer"));
}

TEST(RecordedTokenizer, IsReadFromTheRunThatAStepLiesIn) {
  const support::TmpDir folder;
  const Path step = folder / "run/checkpoints/step_000000001/";
  EXPECT_EQ(recorded_tokenizer(step), std::nullopt);
  folder.write("run/run.json", R"({"data":[{"tokenizer_sha256":null},{"tokenizer_sha256":"abc"}]})");
  EXPECT_EQ(recorded_tokenizer(folder / "run/checkpoints/step_000000001"), "abc");
  EXPECT_EQ(recorded_tokenizer(folder / "run"), std::nullopt);
  for (const char* none : {R"({"data":[{"tokenizer_sha256":null}]})", R"({"data":[1]})", "{", "[]"}) {
    folder.write("run/run.json", none);
    EXPECT_EQ(recorded_tokenizer(folder / "run/checkpoints/step_000000001"), std::nullopt) << none;
  }
}

TEST(StatusJson, WritesNullForWhatIsNotKnown) {
  EXPECT_EQ(status_json({}),
            R"({"state":"running","step":0,"steps":0,"loss":null,"eta_seconds":null,"last_checkpoint":null,)"
            R"("reason":null,"exit_code":null})");
}

TEST(StatusJson, WritesWhatIs) {
  const Status status{.state = RunState::kFailed,
                      .step = 3,
                      .steps = 9,
                      .loss = 1.5,
                      .eta_seconds = 2.0,
                      .last_checkpoint = "checkpoints/step_000000002",
                      .reason = "disk \"full\"",
                      .exit_code = 7};
  EXPECT_EQ(status_json(status),
            R"({"state":"failed","step":3,"steps":9,"loss":1.5,"eta_seconds":2,)"
            R"("last_checkpoint":"checkpoints/step_000000002","reason":"disk \"full\"","exit_code":7})");
}

}  // namespace
}  // namespace convoy::train

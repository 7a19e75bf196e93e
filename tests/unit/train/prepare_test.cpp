// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/prepare.h"

#include "libcore/base/error.h"
#include "tests/unit/train/tiny_run.h"

namespace convoy::train {
namespace {

using testing::HasSubstr;

template <class Expected>
std::string message_of(const config::RunOptions& options) {
  try {
    prepare(options, tiny_machine());
  } catch (const Expected& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

TEST(Prepare, OpensModelAndData) {
  const TmpDir folder;
  const PreparedRun run = prepare(tiny_options(folder), tiny_machine());
  EXPECT_EQ(run.model.vocabulary, kTinyVocabulary);
  EXPECT_EQ(run.data.at(0).tokens(), 1001);
  ASSERT_EQ(run.valid.size(), 1u);
  EXPECT_EQ(run.valid[0].name, "valid");
  EXPECT_EQ(run.resolved.micro_batches, 2);
}

TEST(Prepare, ReportsAMissingModelMissingDataAndAWrongFlagTogether) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder);
  options.model.model = (folder / "nowhere.json").string();
  options.data.data = {(folder / "nothing").string()};
  options.batch.micro_batch = 3;
  const std::string message = message_of<ConfigError>(options);
  EXPECT_THAT(message, HasSubstr("nowhere.json"));
  EXPECT_THAT(message, HasSubstr("nothing"));
  EXPECT_THAT(message, HasSubstr("--micro-batch-size 3"));
}

TEST(Prepare, RefusesAnUncommittedPairWithoutForeignData) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder);
  options.data.foreign = false;
  EXPECT_THAT(message_of<DataError>(options), HasSubstr("meta.json"));
}

TEST(Prepare, RefusesATokenBeyondTheVocabulary) {
  const TmpDir folder;
  const config::RunOptions options = tiny_options(folder);
  std::vector<std::int32_t> tokens = random_tokens(101);
  tokens[50] = 37;
  write_pair(folder / "valid", tokens, {101});
  EXPECT_THAT(message_of<DataError>(options), HasSubstr("token id 37"));
}

TEST(Prepare, RefusesAFolderThatLacksATensorBeforeAnythingIsAllocated) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder);
  options.model.init_from = (folder / "hf").string();
  const std::string header = R"({"model.norm.weight":{"dtype":"F32","shape":[16],"data_offsets":[0,64]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  folder.write("hf/model.safetensors", file + header + std::string(64, '\0'));
  folder.write("hf/config.json", tiny_llama());
  EXPECT_THAT(message_of<DataError>(options), HasSubstr("model.embed_tokens.weight"));
}

TEST(Prepare, RefusesInitialWeightsThatAreNoFolder) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder);
  for (const std::string& name : {(folder / "none").string(), (folder / "config.json").string(), std::string("llama-15m")}) {
    options.model.init_from = name;
    EXPECT_THAT(message_of<ConfigError>(options), HasSubstr("--init-from " + name + ": no such folder"));
  }
}

TEST(Prepare, TiesTheHeadWhenTold) {
  const TmpDir folder;
  config::RunOptions options = tiny_options(folder);
  options.model.tie_embeddings = "yes";
  EXPECT_TRUE(prepare(options, tiny_machine()).model.tied_embeddings);
}

}  // namespace
}  // namespace convoy::train

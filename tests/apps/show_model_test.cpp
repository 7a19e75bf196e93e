// SPDX-License-Identifier: Apache-2.0
// convoy-train show-model as a user calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/run_program.h"

namespace convoy::apps {
namespace {

using nlohmann::json;
using testing::HasSubstr;

support::ProgramResult show(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {std::string(CONVOY_BIN_DIR) + "/convoy-train", "show-model"});
  return support::run_program({.arguments = std::move(arguments)});
}

json described(const std::vector<std::string>& layout) {
  std::vector<std::string> arguments = {"--model", "gpt2-124m", "--json"};
  arguments.insert(arguments.end(), layout.begin(), layout.end());
  const support::ProgramResult result = show(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out);
}

const json& tensor(const json& model, const std::string& name) {
  for (const json& row : model["tensors"]) {
    if (row["name"] == name) return row;
  }
  ADD_FAILURE() << name << " is not in the table";
  return model["tensors"][0];
}

TEST(ShowModel, OneRankHoldsEveryParameterInOneStage) {
  const json model = described({});
  ASSERT_EQ(model["stages"].size(), 1u);
  EXPECT_EQ(model["stages"][0]["parameters_per_rank"], 124439808);  // of the published model
  EXPECT_EQ(model["stages"][0]["layers"], (json{0, 12}));
}

// By hand: C = 768, F = 3072, P = 1024; V = 50257, of which the first of two ranks has 25129. A layer holds
// 4 C + 4 C^2 + 4 C + 2 C F + F + C, of it 6 C whole and the rest by half.
TEST(ShowModel, SharesTheModelOverTheRanksOfALayout) {
  const json model = described({"--tensor-parallel", "2", "--pipeline-parallel", "2"});
  constexpr std::int64_t kC = 768, kF = 3072;
  constexpr std::int64_t kLayer = 6 * kC + (3 * kC + 4 * kC * kC + 2 * kC * kF + kF) / 2;
  ASSERT_EQ(model["stages"].size(), 2u);
  EXPECT_EQ(model["stages"][0]["parameters_per_rank"], 25129 * kC + 1024 * kC + 6 * kLayer);
  EXPECT_EQ(model["stages"][1]["parameters_per_rank"], 25129 * kC + 2 * kC + 6 * kLayer);
  EXPECT_EQ(tensor(model, "transformer.wte.weight")["stage"], 0);
  EXPECT_EQ(tensor(model, "transformer.wte.weight")["copy_in_stage"], 1);
  EXPECT_EQ(tensor(model, "transformer.h.5.ln_1.weight")["stage"], 0);
  EXPECT_EQ(tensor(model, "transformer.h.6.ln_1.weight")["stage"], 1);
  EXPECT_FALSE(tensor(model, "transformer.ln_f.weight").contains("copy_in_stage"));
}

TEST(ShowModel, PrintsTheStagesOfATable) {
  const support::ProgramResult result = show({"--model", "gpt2-124m", "--pipeline-parallel", "3"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("stage 1: layers 4 to 7, "));
}

TEST(ShowModel, RefusesLayoutsThatTheModelCannotHave) {
  const support::ProgramResult result =
      show({"--model", "gpt2-124m", "--tensor-parallel", "5", "--pipeline-parallel", "13"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr("--tensor-parallel 5"), HasSubstr("--pipeline-parallel 13")));
}

}  // namespace
}  // namespace convoy::apps

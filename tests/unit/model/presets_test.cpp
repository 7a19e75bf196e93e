// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "libcore/base/error.h"
#include "libcore/model/parameters.h"

namespace convoy::model {
namespace {

// The exact counts that the authors or the published weight files give.
TEST(Presets, HaveThePublishedNumbersOfParameters) {
  const std::map<std::string, std::int64_t> published = {
      {"gpt2-124m", 124439808},    {"gpt2-355m", 354823168},    {"gpt2-774m", 774030080},
      {"gpt2-1558m", 1557611200},  {"llama-1b", 1235814400},    {"llama-3b", 3212749824},
      {"llama-7b", 6738415616},    {"llama-13b", 13015864320},  {"llama2-7b", 6738415616},
      {"llama2-13b", 13015864320}, {"llama2-70b", 68976648192}, {"llama3-8b", 8030261248},
      {"llama3-70b", 70553706496}, {"llama3.1-8b", 8030261248}, {"llama3.1-405b", 405853388800},
      {"qwen2-0.5b", 494032768},   {"qwen2-1.5b", 1543714304},  {"qwen2-7b", 7615616512},
  };
  for (const auto& [name, count] : published) EXPECT_EQ(parameter_count(parameter_table(preset(name))), count) << name;
}

TEST(Presets, TheSmallLlamaHasTheShapeOfItsClass) {
  const Config c = preset("llama-15m");
  EXPECT_EQ(c.width, 288);
  EXPECT_EQ(c.layers, 6);
  EXPECT_EQ(c.heads, 6);
  EXPECT_EQ(c.ffn_width, 768);
  EXPECT_EQ(c.vocabulary, 32000);
  EXPECT_EQ(parameter_count(parameter_table(c)), 15191712);
}

TEST(Presets, AnUnknownNameIsRefused) { EXPECT_THROW(preset("gpt5"), ConfigError); }

}  // namespace
}  // namespace convoy::model

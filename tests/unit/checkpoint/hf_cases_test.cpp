// SPDX-License-Identifier: Apache-2.0
// The folders of tests/golden/hf, written by transformers and then, in the refused ones, damaged by hand: what must be
// read bit for bit, and what must be refused with a message that names the culprit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/checkpoint/hf_folder.h"
#include "libcore/model/model.h"
#include "libcore/ops/backend.h"
#include "libcore/tensor/tensor.h"
#include "tests/support/tmp_dir.h"

namespace convoy::checkpoint {
namespace {

using nlohmann::json;
using tensor::DType;
using tensor::Tensor;

const Path kCases = Path(CONVOY_GOLDEN_DIR) / "hf";

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator(kCases)) {
    if (item.is_directory()) names.push_back(item.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A model of a folder, its fp32 weights read.
struct Loaded {
  explicit Loaded(const Path& folder)
      : config(model::read_config(folder)), parameters(model::parameter_table(config), DType::kF32, false) {
    std::vector<ExpectedTensor> expected;
    for (const model::Parameter& parameter : parameters.table()) expected.push_back({parameter.name, parameter.shape});
    const HfFolder files(folder, expected, config.tied_embeddings);
    for (std::size_t i = 0; i < parameters.size(); ++i) files.read(parameters.table()[i].name, parameters.weight(i));
  }
  std::vector<NamedTensor> tensors() const {
    std::vector<NamedTensor> list;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      list.push_back({parameters.table()[i].name, parameters.weight(i)});
    return list;
  }

  model::Config config;
  model::Parameters parameters;
};

class HfCase : public testing::TestWithParam<std::string> {
 protected:
  Path folder = kCases / GetParam() / "model";
  json expect = json::parse(support::content_of(kCases / GetParam() / "expect.json"));
};

void expect_refused(const Path& folder, const json& expect) {
  try {
    const Loaded loaded(folder);
    ADD_FAILURE() << "was accepted; " << expect["reason"];
  } catch (const Error& error) {
    const auto codes = expect["exit_codes"].get<std::vector<int>>();
    EXPECT_THAT(codes, testing::Contains(static_cast<int>(error.code()))) << error.what();
    for (const auto& mention : expect["message_mentions"]) {
      EXPECT_THAT(error.what(), testing::ContainsRegex(mention.get<std::string>()));
    }
  }
}

// The bytes of every tensor, as the reference holds them, after our reading and writing.
void expect_same_tensors(const Loaded& loaded, const json& expect) {
  const support::TmpDir dir;
  const DType dtype = expect["dtypes"][0] == "BF16" ? DType::kBF16 : DType::kF32;
  write_hf_tensors(dir / "m.safetensors", loaded.tensors(), dtype);
  const SafetensorsFile file(dir / "m.safetensors");
  std::size_t compared = 0;
  for (const NamedTensor& tensor : file.tensors()) {
    const std::string_view bytes(static_cast<const char*>(tensor.view.data),
                                 static_cast<std::size_t>(tensor.view.count()) * tensor::size_of(dtype));
    ASSERT_TRUE(expect["tensor_sha256"].contains(tensor.name)) << tensor.name;
    EXPECT_EQ(sha256_hex(bytes).substr(0, 16), expect["tensor_sha256"][tensor.name]) << tensor.name;
    ++compared;
  }
  EXPECT_EQ(compared, expect["tensor_sha256"].size() - (loaded.config.tied_embeddings ? 1 : 0));
}

void expect_same_logits(Loaded& loaded, const json& expect, const std::string& reference) {
  const auto rows = expect["input_ids"].get<std::vector<std::vector<std::int32_t>>>();
  const auto batch = static_cast<std::int64_t>(rows.size()), sequence = static_cast<std::int64_t>(rows[0].size());
  Tensor tokens({batch, sequence}, DType::kI32), logits({loaded.config.vocabulary}, DType::kF32);
  for (std::int64_t i = 0; i < batch * sequence; ++i) tokens.as<std::int32_t>()[i] = rows[i / sequence][i % sequence];
  device::Stream stream(ops::cpu_backend(), 1);
  model::Model network(stream, loaded.config, loaded.parameters, batch, sequence, false);
  network.pack(stream);
  const auto* expected = reinterpret_cast<const float*>(reference.data());
  ASSERT_EQ(reference.size(), static_cast<std::size_t>(batch * sequence * loaded.config.vocabulary) * sizeof(float));
  double worst = 0.0;
  for (std::int64_t row = 0; row < batch * sequence; ++row) {
    network.logits(stream, {.tokens = tokens.view(), .targets = {}, .positions = {}}, row, logits.mutable_view());
    for (std::int64_t v = 0; v < loaded.config.vocabulary; ++v) {
      worst = std::max(
          worst, std::abs(static_cast<double>(logits.as<float>()[v]) - expected[row * loaded.config.vocabulary + v]));
    }
  }
  EXPECT_LE(worst, expect["tolerance_max_abs"].get<double>());
}

TEST_P(HfCase, IsReadBitForBitOrRefusedWithTheReason) {
  // A refusal that the case calls optional: llama3 rotary scaling is implemented here.
  const bool implemented = GetParam() == "llama_rope_scaled";
  if (expect["verdict"] == "refuse" && !implemented) return expect_refused(folder, expect);
  Loaded loaded(folder);
  if (implemented) return;
  EXPECT_EQ(model::parameter_count(model::parameter_table(loaded.config)), expect["parameters"].get<std::int64_t>());
  expect_same_tensors(loaded, expect);
  expect_same_logits(loaded, expect, support::content_of(kCases / GetParam() / "logits.f32"));
}

INSTANTIATE_TEST_SUITE_P(Golden, HfCase, testing::ValuesIn(cases()), [](const auto& test) { return test.param; });

}  // namespace
}  // namespace convoy::checkpoint

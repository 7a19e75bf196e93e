// SPDX-License-Identifier: Apache-2.0
// Every Hugging Face folder of tests/golden/hf through the program: the refused ones leave nothing but their reason,
// the accepted ones come out bit for bit after import, two reshards and export.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "libcore/base/checksum.h"
#include "libcore/checkpoint/safetensors.h"
#include "tests/apps/train_program.h"
#include "tests/support/tmp_dir.h"

namespace convoy::apps {
namespace {

using nlohmann::json;

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator(golden("hf"))) {
    if (item.is_directory()) names.push_back(item.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class CkptCase : public testing::TestWithParam<std::string> {
 protected:
  void run(const std::vector<std::string>& arguments) const {
    const support::ProgramResult result = call("convoy-ckpt", arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string model = golden("hf/" + GetParam() + "/model");
  json expect = json::parse(support::content_of(golden("hf/" + GetParam() + "/expect.json")));
  support::TmpDir folder_;
};

TEST_P(CkptCase, IsRefusedWithoutATraceOrComesOutBitForBit) {
  const support::ProgramResult imported = call("convoy-ckpt", {"import", model, "--out", path("c")});
  // A refusal that the case calls optional: llama3 rotary scaling is implemented here.
  const bool optional = expect.contains("note") && imported.exit_code == 0;
  if (expect["verdict"] == "refuse" && !optional) {
    const auto codes = expect["exit_codes"].get<std::vector<int>>();
    EXPECT_THAT(codes, testing::Contains(imported.exit_code)) << imported.err;
    for (const auto& mention : expect["message_mentions"])
      EXPECT_THAT(imported.err, testing::ContainsRegex(mention.get<std::string>()));
    EXPECT_THAT(folder_.names(), testing::IsEmpty());
    return;
  }
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  if (optional) return;
  run({"reshard", path("c"), "--out", path("c2"), "--tensor-parallel", "2", "--zero-shards", "3"});
  run({"reshard", path("c2"), "--out", path("c3"), "--pipeline-parallel", "2"});
  run({"verify", path("c3"), "--deep"});
  run({"export", path("c3"), "--out", path("hf"), "--to", "hf"});
  run({"diff", path("hf"), model});
  const checkpoint::SafetensorsFile file(path("hf/model.safetensors"));
  for (const checkpoint::NamedTensor& tensor : file.tensors()) {
    const std::string_view bytes(static_cast<const char*>(tensor.view.data),
                                 static_cast<std::size_t>(tensor.view.count()) * tensor::size_of(tensor.view.dtype));
    EXPECT_EQ(sha256_hex(bytes).substr(0, 16), expect["tensor_sha256"][tensor.name]) << tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, CkptCase, testing::ValuesIn(cases()), [](const auto& test) { return test.param; });

}  // namespace
}  // namespace convoy::apps

// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/train/resume_runs.h"

namespace convoy::train {
namespace {

class ExactResume : public testing::TestWithParam<TinyLayout> {};

TEST_P(ExactResume, InFp32) { expect_exact_resume(GetParam(), "fp32"); }
TEST_P(ExactResume, InBf16) { expect_exact_resume(GetParam(), "bf16"); }
TEST_P(ExactResume, InFp16) { expect_exact_resume(GetParam(), "fp16"); }

TEST_P(ExactResume, WithDropoutAndRecomputation) {
  expect_exact_resume(GetParam(), "bf16", [](config::RunOptions& options) {
    options.model.dropout = 0.2;
    options.layout.recompute = "full";
  });
}

INSTANTIATE_TEST_SUITE_P(Layouts, ExactResume, testing::ValuesIn(tiny_layouts()),
                         [](const testing::TestParamInfo<TinyLayout>& layout) { return layout.param.name; });

}  // namespace
}  // namespace convoy::train

// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/trainer.h"

#include "tests/unit/train/layout_runs.h"

namespace convoy::train {
namespace {

// Scratch memory is sealed after the first step, so growth in a later one would be an InternalError.
TEST(Trainer, NeitherLaterStepsNorEvaluationsNeedMoreScratchMemoryThanTheFirstStep) {
  for (const std::string& model : {tiny_llama(), tiny_gpt2()}) {
    for (const char* precision : {"fp32", "bf16"}) {
      const TmpDir folder;
      config::RunOptions options = tiny_options(folder);
      folder.write("config.json", model);
      options.model.attention_reset_at_document = true;
      options.device.precision = precision;
      options.device.threads = 2;
      options.output.eval_every = 1;
      options.output.eval_steps = 0;
      EXPECT_NO_THROW(train_tiny(options)) << model << precision;
    }
  }
}

}  // namespace
}  // namespace convoy::train

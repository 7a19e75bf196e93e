// SPDX-License-Identifier: Apache-2.0
// Reshard, merge and export stay within their memory, whatever the checkpoint's size.
#include <fmt/format.h>
#include <sys/resource.h>

#include "tests/apps/train_program.h"
#include "tests/support/made_checkpoint.h"
#include "tests/support/tmp_dir.h"

namespace convoy::apps {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
// What the kernel counts beyond what is asked for: the program's code and libraries, stacks, and what malloc keeps.
constexpr std::int64_t kSlack = 16 * kMiB;

// A tied Llama of 4 layers.
std::string config_of(std::int64_t width) {
  return fmt::format(
      R"({{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 32000, "hidden_size": {},
 "intermediate_size": {}, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 8,
 "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": true,
 "hidden_act": "silu"}})",
      width, width * 11 / 4);
}

std::int64_t folder_bytes(const std::filesystem::path& folder) {
  std::int64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    bytes += static_cast<std::int64_t>(entry.file_size());
  return bytes;
}

// The most memory that a program has had that this process has waited for, itself or through a shell.
std::int64_t peak_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return usage.ru_maxrss * 1024;
}

// The shell is between, because a process begins with the peak of the one that it was copied from.
void run(const std::string& line) {
  const support::ProgramResult result =
      support::run_program({.arguments = {"bash", "-c", line + "; exit $?", program("convoy-ckpt")}});
  ASSERT_EQ(result.exit_code, 0) << line << "\n" << result.err;
}

TEST(CkptMemory, StaysWithinTheLimitWhateverTheSize) {
  const support::TmpDir dir;
  support::make_checkpoint(dir / "made", config_of(CONVOY_CHECKPOINT_WIDTH));
  EXPECT_GT(folder_bytes(dir / "made"), CONVOY_CHECKPOINT_BYTES);
  const std::int64_t before = peak_of_children();
  const std::string base = dir.path().string();
  run("\"$0\" reshard " + base + "/made --out " + base +
      "/spread --tensor-parallel 2 --zero-shards 2 --threads 2 --max-memory 64MiB");
  const std::int64_t spread = peak_of_children();
  std::filesystem::remove_all(dir / "made");
  run("\"$0\" reshard " + base + "/spread --out " + base +
      "/stages --pipeline-parallel 2 --threads 2 --max-memory 64MiB");
  const std::int64_t stages = peak_of_children();
  std::filesystem::remove_all(dir / "spread");
  run("\"$0\" export " + base + "/stages --out " + base + "/hf --to hf");
  run("\"$0\" diff " + base + "/stages " + base + "/hf");
  const std::int64_t exported = peak_of_children();
  run("\"$0\" import " + base + "/hf --out " + base + "/back --tensor-parallel 2 --threads 2 --max-memory 64MiB");
  const std::int64_t imported = peak_of_children();
  fmt::print("peaks so far, MiB: tests {}, reshard to TP 2 x 2 shards {}, to PP 2 {}, export and diff {}, import {}\n",
             before / kMiB, spread / kMiB, stages / kMiB, exported / kMiB, imported / kMiB);
  EXPECT_LT(stages, 64 * kMiB + kSlack);
  EXPECT_LT(imported, 64 * kMiB + kSlack);
}

}  // namespace
}  // namespace convoy::apps

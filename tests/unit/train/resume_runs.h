// SPDX-License-Identifier: Apache-2.0
// A run that is stopped on the way and resumed, against one that is not.
#pragma once

#include <atomic>
#include <functional>

#include "tests/unit/train/layout_runs.h"

namespace convoy::train {

// Asks rank `rank` to stop when it looks for the `look`-th time.
class StopAt {
 public:
  StopAt(int rank, int look) : rank_(rank), left_(look) {}
  cluster::StopReason operator()(int rank) {
    if (rank != rank_) return cluster::StopReason::kNone;
    return --left_ <= 0 ? cluster::StopReason::kTerminate : cluster::StopReason::kNone;
  }

 private:
  int rank_;
  std::atomic<int> left_;
};

// Stops after steps 2 and 3 of 6, at other ranks, and then runs to the end; what is left must be to the byte what a run
// in one piece leaves.
inline void expect_exact_resume(const TinyLayout& layout, const std::string& precision,
                                const std::function<void(config::RunOptions&)>& change = {}) {
  const TmpDir folder;
  config::RunOptions options = with_layout(tiny_options(folder, "whole"), layout);
  folder.write("config.json", for_layout(tiny_llama(), layout));
  options.device.precision = precision;
  options.output.eval_every = 2;
  if (change) change(options);
  ASSERT_EQ(train_tiny(options, layout.ranks()), ExitCode::kDone);
  options.output.out = (folder / "parts").string();
  StopAt first(layout.ranks() - 1, 2), second(0, 1);
  ASSERT_EQ(train_tiny(options, layout.ranks(), [&](int rank) { return first(rank); }), ExitCode::kRequeue);
  EXPECT_EQ(status_of(folder / "parts")["state"], "stopped");
  EXPECT_EQ(status_of(folder / "parts")["last_checkpoint"], "checkpoints/step_000000002");
  ASSERT_EQ(train_tiny(options, layout.ranks(), [&](int rank) { return second(rank); }), ExitCode::kRequeue);
  ASSERT_EQ(train_tiny(options, layout.ranks()), ExitCode::kDone);
  EXPECT_EQ(support::content_of(folder / "whole/metrics.jsonl"), support::content_of(folder / "parts/metrics.jsonl"));
  EXPECT_EQ(digest_of(folder / "whole/checkpoints/step_000000006"),
            digest_of(folder / "parts/checkpoints/step_000000006"));
}

}  // namespace convoy::train

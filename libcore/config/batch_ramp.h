// SPDX-License-Identifier: Apache-2.0
// The global batch over a run: one size, or sizes that grow with the tokens that were read (--batch-ramp). Pure. What a
// step takes is a function of the samples consumed before it, so a run that resumes goes on exactly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace convoy::config {

// As the flag says it: from so many tokens on, so many sequences a step.
struct RampPoint {
  std::int64_t tokens = 0;
  std::int64_t batch = 0;
  friend bool operator==(const RampPoint&, const RampPoint&) = default;
};

// Reads "0:32,1B:64": from 0 on, tokens and batches rising; returns the problem as a clause, or an empty string.
std::string parse_ramp(const std::string& text, std::vector<RampPoint>& ramp);

class GlobalBatches {
 public:
  GlobalBatches() = default;
  explicit GlobalBatches(std::int64_t batch) : stages_{{0, batch}} {}
  // `ramp` as parse_ramp() makes it; T > 0 tokens a sample. A size holds from the first step on before which at least
  // its tokens were read.
  GlobalBatches(const std::vector<RampPoint>& ramp, std::int64_t sequence_length);

  std::int64_t at(std::int64_t consumed_samples) const;  // sequences of the step that begins there
  std::int64_t largest() const { return stages_.back().batch; }
  std::vector<std::int64_t> sizes() const;  // all that occur, rising
  // Samples consumed after `steps` steps from `consumed_samples` on.
  std::int64_t advance(std::int64_t consumed_samples, std::int64_t steps) const;
  // Steps from the start of a run until at least so many samples are consumed.
  std::int64_t steps_to(std::int64_t samples) const;

 private:
  struct Stage {
    std::int64_t first_sample = 0;
    std::int64_t batch = 1;
  };
  std::size_t stage_at(std::int64_t consumed_samples) const;
  // Steps of one size from `consumed_samples` on, until `end` is reached or the size changes.
  std::int64_t equal_steps(std::int64_t consumed_samples, std::int64_t end) const;

  std::vector<Stage> stages_ = {{}};
};

}  // namespace convoy::config

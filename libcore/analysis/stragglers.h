// SPDX-License-Identifier: Apache-2.0
// Who is slow. The excess of each rank's own work over its peers' (excess.h) is searched for the interval in which it
// is high (slow_interval.h). A rank is named for a phase where its own work exceeds its peers' by more than they differ
// among themselves, by more than chance gives, by enough to matter, and in most steps of an interval; else nobody is.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "libcore/analysis/excess.h"
#include "libcore/analysis/report.h"

namespace convoy::analysis {

// The least that is worth a name.
struct Floors {
  double excess = 0.03;             // of the phase
  double excess_of_few = 0.05;      // where fewer than four ranks can be compared
  double excess_of_itself = 0.15;   // without peers: a rank's own history is weaker evidence
  double affected_of_itself = 0.8;  // of the interval's steps, then; else half of them are enough
  double excess_of_checkpoint = 0.25;
  double step_share = 0.0025;  // of the training step
  double sigmas = 5.0;
  double sigmas_of_part = 7.0;  // for less than half of the steps
  // Where as many steps as below lie outside of the interval (of a rank without peers: as in it), for on shared
  // machines noise comes in spells.
  double affected_of_part = 0.9;        // of the interval's steps
  double seconds_of_part = 2.5;         // that the affected steps took
  double spread_per_step_noise = 0.25;  // healthy ranks differ by at least this share of the noise from step to step
  std::size_t steps = 10;               // affected
};

struct Judgement {
  std::vector<Straggler> stragglers;   // the most costly first; lost_percent of this comparison's training time
  std::vector<std::string> abstained;  // one sentence each
  bool judged = false;                 // there was enough to say that nobody is slow
};

Judgement find_stragglers(const Comparison& comparison, const Floors& floors = {});

}  // namespace convoy::analysis

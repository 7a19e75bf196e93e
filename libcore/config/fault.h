// SPDX-License-Identifier: Apache-2.0
// A fault that a run rehearses: what goes wrong, on which rank, at which step. For testing a cluster, its scripts and
// its alarms.
//
//   kill:step=7,rank=2              the rank kills itself in the middle of the step
//   hang:step=7,rank=2              it sleeps for ever there
//   nan-gradient:step=5,rank=1      one of its gradients is not a number
//   flip-bit:step=5,rank=1          a bit of a weight that others hold too is another one after the step
//   slow:rank=3,factor=1.5,phase=forward[,steps=10-20]   it sleeps (factor - 1) x the phase's own work
//   slow:rank=3,sleep=20ms,phase=data[,steps=10-20]
//   slow-write:bytes-per-second=50M[,rank=0]             checkpoints are written no faster
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/trace/format.h"

namespace convoy::config {

enum class FaultKind { kKill, kHang, kNanGradient, kFlipBit, kSlow, kSlowWrite };
using trace::Phase;

struct Fault {
  FaultKind kind = FaultKind::kKill;
  int rank = 0;                                                             // of the world; -1: every rank
  std::int64_t first = 1, last = std::numeric_limits<std::int64_t>::max();  // steps
  Phase phase = Phase::kForward;                                            // data, forward, backward or optimizer
  double factor = 1.0;
  double sleep_seconds = 0.0;
  double bytes_per_second = 0.0;

  bool strikes(int at_rank, std::int64_t step) const {
    return (rank < 0 || rank == at_rank) && step >= first && step <= last;
  }
};

// Reads one; returns the problem as a clause, or an empty string.
std::string parse_fault(std::string_view text, Fault& fault);

}  // namespace convoy::config

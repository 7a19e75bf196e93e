// SPDX-License-Identifier: Apache-2.0
// The faults that a run rehearses, as they strike one rank.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/config/fault.h"
#include "libcore/model/parameters.h"
#include "libcore/parallel/mesh.h"
#include "libcore/trace/recorder.h"

namespace convoy::train {

class Faults {
 public:
  Faults() = default;
  // `rank` of the world. A kill or a hang leaves a marker in `markers` and does not strike a second time, so that the
  // same command resumes.
  Faults(std::vector<config::Fault> faults, int rank, Path markers);

  void begin_step(std::int64_t step) { step_ = step; }
  // In the middle of the step: may end the process, or never return.
  void interrupt() const;
  // May put a value that is not a number into one of the rank's own gradients, before they are summed.
  void spoil(const model::Parameters& parameters) const;
  // After the step's update: may flip the lowest bit of one of the rank's own weights, of the first tensor that another
  // rank of `layout` holds as well.
  void flip(const model::Parameters& parameters, const parallel::Layout& layout) const;
  // Runs a part of `phase`, which is the recorder's present one, and sleeps as the faults want: the part's own work, as
  // the recorder measures it, times (factor - 1). Without a recorder a factor slows nothing down.
  template <class Work>
  void run(trace::Recorder* recorder, trace::Phase phase, Work&& work) const {
    const std::uint64_t before = own_ns(recorder, phase);
    std::forward<Work>(work)();
    sleep(recorder, phase, own_ns(recorder, phase) - before);
  }
  // The same, of all that the step has done of `phase` so far.
  void sleep_after(trace::Recorder* recorder, trace::Phase phase) const {
    sleep(recorder, phase, own_ns(recorder, phase));
  }
  // After `bytes` were written in `seconds`.
  void delay_write(double bytes, double seconds) const;

 private:
  bool slows(const config::Fault& fault, trace::Phase phase) const;
  // 0 where no fault asks for it.
  std::uint64_t own_ns(trace::Recorder* recorder, trace::Phase phase) const;
  void sleep(trace::Recorder* recorder, trace::Phase phase, std::uint64_t own_ns) const;

  std::vector<config::Fault> faults_;
  int rank_ = 0;
  Path markers_;
  std::int64_t step_ = 0;
  // Seconds that each fault has slept too much. Sleeps end late, by a good part of a short one: the next makes up for
  // it.
  mutable std::vector<double> ahead_;
};

}  // namespace convoy::train

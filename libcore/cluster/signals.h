// SPDX-License-Identifier: Apache-2.0
// Signals that ask a run to stop. The handlers only set flags, so a signal may come at any instant; who works looks
// when it suits. The flags belong to the process, as signals do: one StopSignals at a time.
#pragma once

#include <string_view>

namespace convoy::cluster {

enum class StopReason { kNone, kTerminate, kRequested, kInterrupt };

class StopSignals {
 public:
  // TERM, INT, and `requested` ("USR2"): one of USR1, USR2, HUP, ALRM, CONT. A second INT ends the process at once.
  // What the parent ignored stays ignored.
  explicit StopSignals(std::string_view requested);
  ~StopSignals();  // as it was before
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  StopReason seen() const;

 private:
  int requested_;
};

}  // namespace convoy::cluster

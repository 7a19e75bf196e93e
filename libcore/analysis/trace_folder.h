// SPDX-License-Identifier: Apache-2.0
// RUN/traces being filled with files that no training wrote: it appears as a whole, or not at all.
#pragma once

#include <optional>

#include "libcore/base/file.h"

namespace convoy::analysis {

class TraceFolder {
 public:
  // Creates `run` if it is not there. EnvironmentError if it has traces already.
  explicit TraceFolder(const Path& run);
  // Without commit(), removes what was created.
  ~TraceFolder();
  TraceFolder(const TraceFolder&) = delete;
  TraceFolder& operator=(const TraceFolder&) = delete;

  Path file_of(int rank) const;  // of the first attempt; to be written before commit()
  void commit();

 private:
  Path run_;
  bool created_run_;
  std::optional<AtomicDirectory> folder_;
};

}  // namespace convoy::analysis

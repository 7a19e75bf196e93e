// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/report.h"

namespace convoy::analysis {

const char* name_of(Cause cause) {
  switch (cause) {
    case Cause::kCompute:
      return "compute";
    case Cause::kData:
      return "data";
    case Cause::kHost:
      return "host";
    case Cause::kLink:
      return "link";
    case Cause::kCheckpoint:
      return "checkpoint";
    case Cause::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace convoy::analysis

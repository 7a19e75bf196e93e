// SPDX-License-Identifier: Apache-2.0
// The exit codes of all programs: a contract with the job scripts (docs/troubleshooting.md has the same table).
#pragma once

namespace convoy {

enum class ExitCode : int {
  kDone = 0,
  kInternal = 1,       // our bug
  kUsage = 2,          // usage or configuration
  kData = 3,           // data: corrupt, truncated, inconsistent
  kNumerics = 4,       // too many non-finite steps, replicas that differ
  kCommunication = 5,  // communication or a lost peer
  kAnswerIsNo = 6,     // the question was answered, with no
  kEnvironment = 7,    // disk full, I/O error, permission, run directory in use
  kRequeue = 75,       // stopped early with a committed checkpoint
};

}  // namespace convoy

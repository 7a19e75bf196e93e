// SPDX-License-Identifier: Apache-2.0
// Where calls are recorded, as a stream carries it.
#pragma once

namespace convoy::trace {

class Recorder;

// A stream that works beside the training thread has `overlapped` set: its calls are events, not phases.
struct Lane {
  Recorder* recorder = nullptr;  // null: nothing is recorded
  bool overlapped = false;
};

}  // namespace convoy::trace

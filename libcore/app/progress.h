// SPDX-License-Identifier: Apache-2.0
// Progress of anything longer than a second, on stderr: a bar with rate and ETA on a terminal, a line every few seconds
// elsewhere. Prints nothing in the first second and nothing at log levels above info.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace convoy::app {

class Progress {
 public:
  // `total` in units (0: unknown), shown as bytes or as counts of `unit` ("documents").
  Progress(std::string label, std::int64_t total, std::string unit);
  ~Progress();  // clears the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::int64_t done, const std::string& note = "");  // cheap: draws at most ten times a second
  void finish();

 private:
  void draw(bool last);

  using Clock = std::chrono::steady_clock;
  std::string label_, unit_, note_;
  std::int64_t total_, done_ = 0;
  Clock::time_point start_, next_;
  bool terminal_, drawn_ = false;
};

}  // namespace convoy::app

// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/faults.h"

#include <fmt/format.h>
#include <sys/types.h>

#include <csignal>
#include <ctime>
#include <limits>
#include <thread>
#include <utility>

#include "libcore/base/log.h"

namespace convoy::train {
namespace {

using config::Fault;
using config::FaultKind;

void sleep_for(double seconds) {
  if (seconds > 0.0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

double own_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Faults::Faults(std::vector<Fault> faults, int rank, Path markers)
    : faults_(std::move(faults)), rank_(rank), markers_(std::move(markers)) {}

void Faults::interrupt() const {
  for (const Fault& fault : faults_) {
    const bool kill = fault.kind == FaultKind::kKill;
    if ((!kill && fault.kind != FaultKind::kHang) || !fault.strikes(rank_, step_)) continue;
    const char* name = kill ? "kill" : "hang";
    const Path marker = markers_ / fmt::format("fault-{}-step-{}-rank-{}", name, step_, rank_);
    if (std::filesystem::exists(marker)) {
      log_error(fmt::format("--fault {}:step={},rank={} has struck before ({}): not again", name, step_, rank_,
                            marker.string()));
      continue;
    }
    ensure_directory(markers_);
    write_file_atomically(marker, "");
    log_error(fmt::format("--fault: rank {} {} in step {}", rank_, kill ? "kills itself" : "hangs", step_));
    if (kill) ::raise(SIGKILL);
    while (true) sleep_for(3600.0);
  }
}

void Faults::spoil(const model::Parameters& parameters) const {
  for (const Fault& fault : faults_) {
    if (fault.kind != FaultKind::kNanGradient || !fault.strikes(rank_, step_)) continue;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters.table()[i].primary || parameters.gradient(i).count() == 0) continue;
      parameters.gradient(i).as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
      log_error(
          fmt::format("--fault: rank {} spoils a gradient of {} in step {}", rank_, parameters.table()[i].name, step_));
      break;
    }
  }
}

void Faults::delay(config::Phase phase, double own) const {
  for (const Fault& fault : faults_) {
    if (fault.kind != FaultKind::kSlow || fault.phase != phase || !fault.strikes(rank_, step_)) continue;
    sleep_for((fault.factor - 1.0) * own + fault.sleep_seconds);
  }
}

void Faults::delay_write(double bytes, double seconds) const {
  for (const Fault& fault : faults_) {
    if (fault.kind == FaultKind::kSlowWrite && fault.strikes(rank_, step_)) {
      sleep_for(bytes / fault.bytes_per_second - seconds);
    }
  }
}

}  // namespace convoy::train

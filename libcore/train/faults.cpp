// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/faults.h"

#include <fmt/format.h>
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <csignal>
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

Faults::Faults(std::vector<Fault> faults, int rank, Path markers)
    : faults_(std::move(faults)), rank_(rank), markers_(std::move(markers)), ahead_(faults_.size(), 0.0) {}

bool Faults::slows(const Fault& fault, trace::Phase phase) const {
  return fault.kind == FaultKind::kSlow && fault.phase == phase && fault.strikes(rank_, step_);
}

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
      const tensor::MutableView gradient = parameters.kept_gradient(i);
      if (!parameters.table()[i].primary || gradient.count() == 0) continue;
      gradient.as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
      log_error(
          fmt::format("--fault: rank {} spoils a gradient of {} in step {}", rank_, parameters.table()[i].name, step_));
      break;
    }
  }
}

void Faults::flip(const model::Parameters& parameters, const parallel::Layout& layout) const {
  const auto is_held_twice = [&](const model::LocalParameter& parameter) {
    return (layout.data > 1 && layout.zero < 3) || parameter.parts < layout.tensor || parameter.tied_end;
  };
  for (const Fault& fault : faults_) {
    if (fault.kind != FaultKind::kFlipBit || !fault.strikes(rank_, step_)) continue;
    const auto found = std::ranges::find_if(parameters.table(), is_held_twice);
    const bool is_held = found != parameters.table().end();
    const auto index = static_cast<std::size_t>(found - parameters.table().begin());
    const tensor::MutableView weight = is_held ? parameters.kept_weight(index) : tensor::MutableView{};
    if (weight.data == nullptr || weight.count() == 0) {  // a share may be empty
      log_error(
          fmt::format("--fault: rank {} flips nothing after step {}: no other rank holds what it holds", rank_, step_));
      continue;
    }
    *weight.as<unsigned char>() ^= 1;
    log_error(fmt::format("--fault: rank {} flips a bit of a weight of {} after step {}", rank_, found->name, step_));
  }
}

std::uint64_t Faults::own_ns(trace::Recorder* recorder, trace::Phase phase) const {
  const bool strikes = std::ranges::any_of(faults_, [&](const Fault& fault) { return slows(fault, phase); });
  return strikes && recorder != nullptr ? recorder->own_ns(phase) : 0;
}

void Faults::sleep(trace::Recorder* recorder, trace::Phase phase, std::uint64_t own) const {
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (!slows(faults_[i], phase)) continue;
    const double owed =
        (faults_[i].factor - 1.0) * 1e-9 * static_cast<double>(own) + faults_[i].sleep_seconds - ahead_[i];
    const std::uint64_t before = own_ns(recorder, phase);
    sleep_for(owed);
    const auto slept = static_cast<double>(own_ns(recorder, phase) - before);
    ahead_[i] = recorder == nullptr ? 0.0 : 1e-9 * slept - owed;
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

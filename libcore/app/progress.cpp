// SPDX-License-Identifier: Apache-2.0
#include "libcore/app/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "libcore/base/log.h"
#include "libcore/base/units.h"

namespace convoy::app {
namespace {

constexpr std::chrono::milliseconds kSilence{1000};
constexpr std::chrono::milliseconds kTerminalInterval{100};
constexpr std::chrono::milliseconds kLogInterval{5000};
constexpr int kBarWidth = 24;
constexpr std::size_t kFallbackWidth = 80;

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kFallbackWidth;
}

std::string amount(double value, const std::string& unit) {
  return unit == "bytes" ? format_bytes(value) : fmt::format("{} {}", format_count(value), unit);
}

std::string bar(double share) {
  const int full = std::clamp(static_cast<int>(share * kBarWidth), 0, kBarWidth);
  return fmt::format("[{}{}]", std::string(static_cast<std::size_t>(full), '#'),
                     std::string(static_cast<std::size_t>(kBarWidth - full), '.'));
}

}  // namespace

Progress::Progress(std::string label, std::int64_t total, std::string unit)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      start_(Clock::now()),
      next_(start_ + kSilence),
      terminal_(::isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (terminal_ && drawn_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::update(std::int64_t done, const std::string& note) {
  done_ = done;
  if (Clock::now() < next_) return;
  note_ = note;
  draw(false);
}

void Progress::finish() {
  if (Clock::now() >= start_ + kSilence) draw(true);
}

void Progress::draw(bool last) {
  const Clock::time_point now = Clock::now();
  next_ = now + (terminal_ ? kTerminalInterval : kLogInterval);
  if (log_level() > LogLevel::kInfo) return;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double rate = elapsed > 0 ? static_cast<double>(done_) / elapsed : 0;
  std::string line = fmt::format("{}: {}", label_, amount(static_cast<double>(done_), unit_));
  if (total_ > 0) {
    const double share = static_cast<double>(done_) / static_cast<double>(total_);
    const std::string drawn = terminal_ && !last ? bar(share) + ' ' : "";
    line = fmt::format("{}: {}{:.0f} % of {}", label_, drawn, 100 * share, amount(static_cast<double>(total_), unit_));
  }
  line += fmt::format(", {}/s", amount(rate, unit_));
  if (last) {
    line += fmt::format(", took {}", format_seconds(elapsed));
  } else if (total_ > done_ && rate > 0) {
    line += fmt::format(", {} left", format_seconds(static_cast<double>(total_ - done_) / rate));
  }
  if (!note_.empty()) line += ", " + note_;
  if (!terminal_ || last) {
    log_info(line);
    drawn_ = false;
    return;
  }
  // A line longer than the terminal would wrap, and then could not be overwritten.
  fmt::print(stderr, "\r{}\x1b[K", line.substr(0, terminal_width() - 1));
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace convoy::app

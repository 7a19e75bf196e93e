// SPDX-License-Identifier: Apache-2.0
#include "apps/preprocess/interrupt.h"

#include <fmt/format.h>

#include <csignal>
#include <cstring>

#include "libcore/base/log.h"

namespace convoy::apps::preprocess {
namespace {

volatile std::sig_atomic_t signal_seen = 0;

struct Interrupted {};

extern "C" void remember_signal(int number) { signal_seen = number; }

}  // namespace

int run_interruptible(const std::function<int(const std::function<void()>& poll)>& work) {
  signal_seen = 0;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    // What was ignored stays ignored: nohup, or a job in the background of a script.
    if (std::signal(number, remember_signal) == SIG_IGN) std::signal(number, SIG_IGN);
  }
  try {
    return work([] {
      if (signal_seen != 0) throw Interrupted{};
    });
  } catch (const Interrupted&) {
    const int number = signal_seen;
    log_error(fmt::format("stopped by {}; nothing is written", ::strsignal(number)));
    std::signal(number, SIG_DFL);
    std::raise(number);
    return 128 + number;  // unreachable unless the signal is blocked
  }
}

}  // namespace convoy::apps::preprocess

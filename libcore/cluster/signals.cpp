// SPDX-License-Identifier: Apache-2.0
#include "libcore/cluster/signals.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string>
#include <utility>

#include "libcore/base/error.h"

namespace convoy::cluster {
namespace {

std::atomic<int> terminations{0}, requests{0}, interrupts{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may only touch what takes no lock");

extern "C" void count_termination(int) { terminations.fetch_add(1); }
extern "C" void count_request(int) { requests.fetch_add(1); }
extern "C" void count_interrupt(int) {
  if (interrupts.fetch_add(1) > 0) ::_exit(128 + SIGINT);
}

int number_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, int>, 5> kNames = {
      {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}, {"ALRM", SIGALRM}, {"CONT", SIGCONT}}};
  for (const auto& [known, number] : kNames) {
    if (known == name) return number;
  }
  throw InternalError("a stop signal is one of those that --stop-signal lists");
}

void install(int number, void (*handler)(int)) {
  struct sigaction before {};
  ::sigaction(number, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // reads and writes go on
  ::sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

void restore(int number) {
  struct sigaction now {};
  ::sigaction(number, nullptr, &now);
  if (now.sa_handler != SIG_IGN) std::signal(number, SIG_DFL);
}

}  // namespace

StopSignals::StopSignals(std::string_view requested) : requested_(number_of(requested)) {
  for (std::atomic<int>* count : {&terminations, &requests, &interrupts}) count->store(0);
  install(SIGTERM, count_termination);
  install(SIGINT, count_interrupt);
  install(requested_, count_request);
}

StopSignals::~StopSignals() {
  for (const int number : {SIGTERM, SIGINT, requested_}) restore(number);
}

StopReason StopSignals::seen() const {
  if (requests.load() > 0) return StopReason::kRequested;
  if (terminations.load() > 0) return StopReason::kTerminate;
  return interrupts.load() > 0 ? StopReason::kInterrupt : StopReason::kNone;
}

}  // namespace convoy::cluster

// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/mpi/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "libcore/base/error.h"

namespace convoy::comm {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr auto kPause = std::chrono::milliseconds(1);
constexpr Seconds kHeadStart{2.0};

std::string library_name() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view name(text.data(), static_cast<std::size_t>(length));
  return std::string(name.substr(0, name.find_first_of(",\n")));
}

// Returns whether this call initialised MPI.
bool initialise() {
  int before = 0, provided = MPI_THREAD_SINGLE;
  MPI_Initialized(&before);
  if (before != 0) {
    expect_success(MPI_Query_thread(&provided), "asking for its threads");
  } else {
    expect_success(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "starting");
  }
  if (provided >= MPI_THREAD_MULTIPLE) return before == 0;
  const std::string name = library_name();
  if (before == 0) MPI_Finalize();
  throw ClusterError(
      fmt::format("{} cannot be called by several threads at a time (MPI_THREAD_MULTIPLE), which convoy "
                  "needs; build it with threads, or build libconvoy_mpi.so for another MPI",
                  name));
}

std::vector<std::string> host_names(MPI_Comm world, int size) {
  using Name = std::array<char, MPI_MAX_PROCESSOR_NAME>;
  Name mine{};
  int length = 0;
  expect_success(MPI_Get_processor_name(mine.data(), &length), "asking for the host's name");
  std::vector<Name> all(static_cast<std::size_t>(size));
  expect_success(
      MPI_Allgather(mine.data(), MPI_MAX_PROCESSOR_NAME, MPI_BYTE, all.data(), MPI_MAX_PROCESSOR_NAME, MPI_BYTE, world),
      "gathering the hosts' names");
  std::vector<std::string> names;
  for (const Name& name : all) names.emplace_back(name.data());
  return names;
}

}  // namespace

void expect_success(int code, std::string_view what) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw ClusterError(fmt::format("MPI failed at {}: {}", what, text.data()));
}

Job::Job(const MpiOptions& options) : options_(options), initialised_here_(initialise()) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // duplicates inherit it
  expect_success(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "making the world");
  expect_success(MPI_Comm_dup(MPI_COMM_WORLD, &alarms_), "making the world");
  expect_success(MPI_Comm_rank(world_, &rank_), "asking for the rank");
  expect_success(MPI_Comm_size(world_, &size_), "asking for the number of ranks");
  hosts_ = host_names(world_, size_);
}

void Job::hear(std::unique_lock<std::mutex>&) {
  for (;;) {
    int there = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    expect_success(MPI_Improbe(MPI_ANY_SOURCE, 0, alarms_, &there, &message, MPI_STATUS_IGNORE), "listening");
    if (there == 0) return;
    Report report;
    expect_success(MPI_Mrecv(&report, sizeof report, MPI_BYTE, &message, MPI_STATUS_IGNORE), "listening");
    heard_.push_back(report);
  }
}

bool Job::hears_an_alarm() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;  // another thread of this rank listens
  hear(lock);
  return !heard_.empty();
}

std::vector<Report> Job::ask(const Report& mine) {
  broken_ = true;
  std::unique_lock lock(mutex_);
  told_.push_back(std::make_unique<Report>(mine));
  for (int other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    MPI_Request request = MPI_REQUEST_NULL;  // so short that it leaves at once; nobody waits for it
    if (MPI_Isend(told_.back().get(), sizeof mine, MPI_BYTE, other, 0, alarms_, &request) == MPI_SUCCESS)
      MPI_Request_free(&request);
  }
  const auto everybody = [this] {
    std::vector<int> ranks;
    for (const Report& report : heard_) ranks.push_back(report.rank);
    std::ranges::sort(ranks);
    const auto repeated = std::ranges::unique(ranks);
    return static_cast<int>(ranks.size() - repeated.size()) == size_ - 1;
  };
  const auto end = Clock::now() + Seconds(options_.listen_seconds);
  do {
    hear(lock);
    if (everybody()) break;
    std::this_thread::sleep_for(kPause);
  } while (Clock::now() < end);
  const std::vector<Report> heard = heard_;
  lock.unlock();
  // The first of those that wait tells the user and ends the job; the others follow if it does not.
  if (std::ranges::any_of(heard, [&mine](const Report& report) { return report.rank < mine.rank; }))
    std::this_thread::sleep_for(kHeadStart);
  return heard;
}

void Job::keep(std::vector<Outgoing> outgoing) {
  const std::scoped_lock lock(mutex_);
  for (Outgoing& one : outgoing) leftovers_.push_back(std::move(one));
}

bool Job::all_sent() {
  return std::ranges::all_of(leftovers_, [](Outgoing& one) {
    int done = 0;
    const int code =
        MPI_Testall(static_cast<int>(one.requests.size()), one.requests.data(), &done, MPI_STATUSES_IGNORE);
    return code != MPI_SUCCESS || done != 0;
  });
}

void Job::finish(double seconds) noexcept {
  const auto end = Clock::now() + Seconds(seconds);
  while (!all_sent()) {
    if (seconds > 0 && Clock::now() > end) return;
    std::this_thread::sleep_for(kPause);
  }
  if (initialised_here_) MPI_Finalize();
}

}  // namespace convoy::comm

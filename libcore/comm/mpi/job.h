// SPDX-License-Identifier: Apache-2.0
// What all groups of one MPI job share: its life, the names of its nodes, and the talk of ranks that have waited too
// long.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/comm/mpi/world.h"
#include "libcore/comm/watchdog.h"

namespace convoy::comm {

// Throws ClusterError with MPI's own words unless `code` is MPI_SUCCESS. `what`: what was tried.
void expect_success(int code, std::string_view what);

// A message on its way out: MPI reads the bytes until the requests are done.
struct Outgoing {
  std::unique_ptr<std::byte[]> bytes;
  std::size_t capacity = 0;
  std::vector<MPI_Request> requests;
};

class Job {
 public:
  explicit Job(const MpiOptions& options);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const MpiOptions& options() const { return options_; }
  MPI_Comm world() const { return world_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::vector<std::string>& hosts() const { return hosts_; }

  // Whether a rank that gave up has said so. Cheap enough for the sleeping part of a wait.
  bool hears_an_alarm();
  // Tells every rank `mine`, listens, and returns what the others said. Afterwards the job is broken.
  std::vector<Report> ask(const Report& mine);
  // A call failed: MPI is not finalised any more.
  void set_broken() { broken_ = true; }
  bool broken() const { return broken_; }

  // Messages of a group that has gone; they are on their way until finish().
  void keep(std::vector<Outgoing> outgoing);
  // After all ranks have met. Waits `seconds` at most for what is on its way (0: for ever).
  void finish(double seconds) noexcept;

 private:
  void hear(std::unique_lock<std::mutex>& lock);
  bool all_sent();

  MpiOptions options_;
  bool initialised_here_ = false;
  MPI_Comm world_ = MPI_COMM_NULL, alarms_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;
  std::atomic<bool> broken_ = false;
  std::mutex mutex_;
  std::vector<Report> heard_;
  std::vector<std::unique_ptr<Report>> told_;  // MPI reads them until the end
  std::vector<Outgoing> leftovers_;
};

}  // namespace convoy::comm

// SPDX-License-Identifier: Apache-2.0
// What one rank does under mpirun, by the name of the case. It prints what is wrong and says so by its exit code.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libcore/comm/communicator.h"

namespace convoy::dist {

// Counts what does not hold, and prints it with the rank.
class Verdict {
 public:
  explicit Verdict(int rank) : rank_(rank) {}
  void expect(bool holds, const std::string& what);
  int exit_code() const { return wrong_ == 0 ? 0 : 1; }

 private:
  int rank_;
  int wrong_ = 0;
};

// The bits of every collective are those of the thread world; also through messages cut into tiny pieces.
void compare_with_threads(comm::Communicator& world, Verdict& verdict);
void exchange_messages(comm::Communicator& world, Verdict& verdict);

// Each ends in its own way; see failures.cpp.
int hang(comm::Communicator& world);
int hang_elsewhere(comm::Communicator& world);
int wait_for_a_message(comm::Communicator& world);
int end_job(comm::Communicator& world);
int throw_alone(std::unique_ptr<comm::Communicator> world);
int die(comm::Communicator& world);

}  // namespace convoy::dist

// SPDX-License-Identifier: Apache-2.0
// Runs a program as a user would and keeps what it said.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace convoy::support {

struct ProgramResult {
  int exit_code = -1;  // 128 + signal if a signal ended it, as a shell says
  std::string out;
  std::string err;
};

struct ProgramCall {
  std::vector<std::string> arguments;         // the program first; looked up in PATH if it has no slash
  std::filesystem::path directory = {};       // where it runs; empty: here
  std::vector<std::string> environment = {};  // "NAME=value", added to ours
  std::string input = {};                     // its stdin
};

ProgramResult run_program(const ProgramCall& call);

}  // namespace convoy::support

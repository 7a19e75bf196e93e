// SPDX-License-Identifier: Apache-2.0
// A whole training run: directory, records, summary, loop, and the state that is left behind whatever happens.
#pragma once

#include <string>
#include <vector>

#include "libcore/train/prepare.h"
#include "libcore/train/run_directory.h"

namespace convoy::train {

// What the program knows and the library does not.
struct Invocation {
  std::vector<std::string> arguments;                          // the command line
  std::string resolved_config;                                 // TOML
  std::vector<std::pair<std::string, std::string>> libraries;  // name, version
};

// Trains. Throws as prepare() and Trainer do; status.json then says `failed`, with the reason and the exit code.
void run(const PreparedRun& prepared, const Identity& identity, const Invocation& invocation);

// run.json.
std::string run_record(const PreparedRun& prepared, const Identity& identity, const Invocation& invocation);

}  // namespace convoy::train

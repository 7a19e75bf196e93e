// SPDX-License-Identifier: Apache-2.0
// run.json: what ran where, over all attempts of a run.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libcore/train/prepare.h"
#include "libcore/train/resume.h"
#include "libcore/train/run_directory.h"

namespace convoy::train {

// What the program knows and the library does not.
struct Invocation {
  std::vector<std::string> arguments;                          // the command line
  std::string resolved_config;                                 // TOML
  std::vector<std::pair<std::string, std::string>> libraries;  // name, version
};

// `nodes`: of each rank. `before`: run.json of the earlier attempts, whose list this one joins; empty if there are
// none.
std::string run_record(const PreparedRun& run, const Identity& identity, const Invocation& invocation,
                       const std::vector<std::string>& nodes, const Start& start, const std::string& before);

// How many attempts this run.json lists; 0 where it is empty or cannot be read.
int attempts_in(const std::string& record);

// JSON text without its indentation: no string holds a line break as such.
std::string on_one_line(std::string_view json);

}  // namespace convoy::train

// SPDX-License-Identifier: Apache-2.0
// Configuration files: the keys of a program's TOML table are the names of its flags, the values go through the same
// setters.
#pragma once

#include <string>
#include <vector>

#include "libcore/app/options.h"
#include "libcore/base/file.h"

namespace convoy::app {

struct ConfigScope {
  std::string table;                         // "train": the keys of [train], then those of [train.COMMAND], count
  std::string command;                       // "run"
  std::vector<std::string> commands;         // all commands of the program
  std::vector<std::string> known_elsewhere;  // keys of the program's other commands, which are skipped
};

// Sets `options` from the file and returns all problems, each with its line. Throws ConfigError if there is no such
// file or it is no TOML. `given` gets the names of the options that were set.
std::vector<std::string> read_config(const Path& path, const ConfigScope& scope, const std::vector<Option>& options,
                                     std::vector<std::string>& given);

// One table of a file of several, each with keys of its own.
struct ConfigTable {
  std::string name;
  std::vector<Option> options;
  bool present = false;                 // the file has it
  std::vector<std::string> given = {};    // names of the options that the file set
  std::vector<std::string> refused = {};  // of those, the ones with a value that is among the problems
};

// Sets the options of all `tables` from a file that has no others, and fills in `present`, `given` and `refused`. Returns all
// problems, each with its line; throws like read_config. A table that is left out leaves its options as they were.
std::vector<std::string> read_tables(const Path& path, std::vector<ConfigTable>& tables);

// The present values as a TOML table that read_config reads back to the same values. Unset options stand as comments.
std::string write_config(const std::string& table, const std::vector<Option>& options);

std::string config_library();  // name and version, for --version

}  // namespace convoy::app

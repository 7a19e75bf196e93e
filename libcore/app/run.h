// SPDX-License-Identifier: Apache-2.0
// The one main of all programs: parses flags and --config, prints help and versions, runs the chosen command, and
// turns exceptions into the documented exit codes. Common to all commands: --help, --version, --log-level, --config,
// --print-config, and --json where `has_json`.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "libcore/app/options.h"

namespace convoy::app {

// What a command knows about its invocation.
struct Session {
  std::string program;                 // "convoy-train"
  std::string command;                 // "run"
  std::vector<std::string> arguments;  // the command line, for records
  bool json = false;                   // --json: stdout is one JSON document
  std::string resolved_config;         // what --print-config prints: valid TOML
};

struct Command {
  std::string name = {};                   // "encode"
  std::string purpose = {};                // one line
  std::string details = {};                // paragraphs for --help; may be empty
  std::vector<std::string> examples = {};  // lines that really run
  std::vector<Option> options = {};
  bool has_json = false;
  bool survives_closed_output = false;  // a reader that closes its pipe ends other commands, as it ends any filter
  std::function<int(const Session&)> run = {};  // returns the exit code, or throws
};

struct Program {
  std::string name = {};     // "convoy-train"
  std::string purpose = {};  // one line
  std::vector<std::string> examples = {};
  std::string config_table = {};  // its table in a configuration file: "train"
  std::vector<Command> commands = {};
  std::vector<std::pair<std::string, std::string>> libraries = {};  // name and version, for --version

  // Of several processes that run the same command line as one job, so that an error is told once: what one meets is told
  // by it behind its `place` ("rank 3 (node n02)"). All may meet it alike, so the other ranks tell theirs only if they
  // are still there when rank 0's has ended the job.
  int rank = 0;
  std::string place = {};
};

// Runs `program` on the command line; returns the process's exit code. Never throws.
int run(const Program& program, int argc, const char* const* argv);

}  // namespace convoy::app

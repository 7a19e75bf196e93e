// SPDX-License-Identifier: Apache-2.0
// Texts made from the option tables: help pages and the shell completion.
#pragma once

#include <string>
#include <vector>

#include "libcore/app/run.h"

namespace convoy::app {

std::string program_help(const Program& program);
// `options`: the command's own and the common ones.
std::string command_help(const Program& program, const Command& command, const std::vector<Option>& options);

struct CompletedCommand {
  std::string name;
  std::vector<Option> options;
};
std::string bash_completion(const std::string& program, const std::vector<CompletedCommand>& commands);

}  // namespace convoy::app

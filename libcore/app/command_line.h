// SPDX-License-Identifier: Apache-2.0
// The arguments of one command, sorted to its options as text. Nothing is converted or refused here, so that every
// problem of an invocation is reported at once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "libcore/app/options.h"

namespace convoy::app {

struct CommandLine {
  std::map<std::string, std::vector<std::string>> values;  // option name to the texts given; a switch has "true"
  std::vector<std::string> unknown;                        // flags and operands that no option takes
  std::vector<std::string> problems;
};

CommandLine parse_command_line(const std::vector<Option>& options, const std::vector<std::string>& arguments);

// The arguments that give `options` their present values, of those whose names are in `given`: --name=value, operands bare. A
// switch that is off is left out.
std::vector<std::string> arguments_of(const std::vector<Option>& options, const std::vector<std::string>& given);

std::string command_line_library();  // name and version, for --version

}  // namespace convoy::app

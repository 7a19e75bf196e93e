// SPDX-License-Identifier: Apache-2.0
// The files that a command line names: a file, a folder (every file in it, recursively, hidden ones left out), a glob,
// @list.txt (an input a line), or - for standard input. The order is the order given; within a folder or a glob it is by
// the bytes of the path, so that it depends on no locale.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace convoy::data {

struct InputFile {
  std::string name;          // as opened; "-" is standard input
  std::int64_t bytes = 0;    // size on disk; 0 where it is unknown
};

// Throws ConfigError with every input that names nothing.
std::vector<InputFile> expand_inputs(const std::vector<std::string>& inputs);

}  // namespace convoy::data

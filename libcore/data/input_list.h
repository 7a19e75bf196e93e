// SPDX-License-Identifier: Apache-2.0
// The files that a command line names: a file, a folder (every file in it, recursively, hidden ones left out), a glob,
// @list.txt (an input a line), or - for standard input. The order is the order given; within a folder or a glob it is by
// the bytes of the path, so that it depends on no locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convoy::data {

// Bytes [begin, end) of a file.
struct ByteRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const ByteRange&) const = default;
};

struct InputFile {
  std::string name;        // as the user spelled it; "-" is standard input
  std::int64_t bytes = 0;  // size on disk; 0 where it is unknown
  std::string path = {};   // what is opened, unless it is `name`
  std::optional<ByteRange> range = {};  // of a plain file, cut between records: all that is read of it

  const std::string& to_open() const { return path.empty() ? name : path; }
  std::int64_t bytes_to_read() const { return range ? range->size() : bytes; }
};

// Throws ConfigError with every input that names nothing.
std::vector<InputFile> expand_inputs(const std::vector<std::string>& inputs);

}  // namespace convoy::data

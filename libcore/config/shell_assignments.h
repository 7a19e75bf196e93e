// SPDX-License-Identifier: Apache-2.0
// Values for a shell script: NAME=VALUE and NAME=(VALUE ...), quoted so that `eval` of them assigns and does nothing
// else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convoy::config {

// One word of bash that stands for `text`, whatever is in it: quoted unless it is plain.
std::string shell_quoted(std::string_view text);

struct Assignment {
  std::string name;                 // of a shell variable
  std::vector<std::string> values;  // one where `is_list` is false
  bool is_list = false;
};

std::string shell_text(const std::vector<Assignment>& assignments);  // a line each
std::string json_text(const std::vector<Assignment>& assignments);   // one object

}  // namespace convoy::config

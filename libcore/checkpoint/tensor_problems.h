// SPDX-License-Identifier: Apache-2.0
// What is wrong with the tensors of a folder, gathered so that one message names it all. Private to the module.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "libcore/base/file.h"

namespace convoy::checkpoint {

class TensorProblems {
 public:
  void add(std::string problem);
  void raise(const Path& folder) const;  // DataError if there are any; the first few are listed

 private:
  std::vector<std::string> problems_;
  std::size_t count_ = 0;
};

}  // namespace convoy::checkpoint

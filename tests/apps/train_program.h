// SPDX-License-Identifier: Apache-2.0
// What the tests of convoy-train and convoy-ckpt share: calling the programs of this build.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/run_program.h"

namespace convoy::apps {

inline std::string program(const std::string& name) { return (std::filesystem::path(CONVOY_BIN_DIR) / name).string(); }

inline support::ProgramResult call(const std::string& name, std::vector<std::string> arguments,
                                   std::vector<std::string> environment = {}) {
  arguments.insert(arguments.begin(), program(name));
  return support::run_program({.arguments = std::move(arguments), .environment = std::move(environment)});
}

inline std::string golden(const std::string& name) {
  return (std::filesystem::path(CONVOY_GOLDEN_DIR) / name).string();
}

// convoy-train run of a tiny Llama in fp32 on one thread a rank, over a pair that another tool wrote.
inline std::vector<std::string> tiny_run(const std::filesystem::path& data, const std::filesystem::path& out,
                                         const std::vector<std::string>& more) {
  std::vector<std::string> all = {program("convoy-train"),
                                  "run",
                                  "--model",
                                  golden("parity/llama-gqa/config.json"),
                                  "--data",
                                  data.string(),
                                  "--foreign-data",
                                  "--out",
                                  out.string(),
                                  "--sequence-length",
                                  "16",
                                  "--threads",
                                  "1",
                                  "--precision",
                                  "fp32"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace convoy::apps

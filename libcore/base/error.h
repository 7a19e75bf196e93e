// SPDX-License-Identifier: Apache-2.0
// The exceptions of the code base. They travel up to the one boundary, app::run, which turns them into exit codes.
// A message names what, where (file, dataset, field, line), expected against found, and what to do; numbers have units.
#pragma once

#include <exception>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/exit_code.h"

namespace convoy {

// The caller's problem. Throw one of the classes below.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// Usage or configuration, every problem of it at once; also a path the user named that does not exist. Exit code 2.
class ConfigError : public Error {
 public:
  explicit ConfigError(const std::string& message) : ConfigError(std::vector<std::string>{message}) {}
  explicit ConfigError(const std::vector<std::string>& problems);
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> problems_;
};

// Content that is corrupt, truncated, lacking or inconsistent. Exit code 3.
class DataError : public Error {
 public:
  explicit DataError(const std::string& message) : Error(ExitCode::kData, message) {}
};

// Too many non-finite steps. Exit code 4.
class NumericsError : public Error {
 public:
  explicit NumericsError(const std::string& message) : Error(ExitCode::kNumerics, message) {}
};

// Communication, or a peer that is gone. Exit code 5.
class ClusterError : public Error {
 public:
  explicit ClusterError(const std::string& message) : Error(ExitCode::kCommunication, message) {}
};

// What the file system or the machine refused. Exit code 7.
class EnvironmentError : public Error {
 public:
  explicit EnvironmentError(const std::string& message) : Error(ExitCode::kEnvironment, message) {}
};

// Our own bug. Exit code 1.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// The exit code that a program ends with when `error` reaches its boundary: the code of an Error; kEnvironment for
// memory or whatever else the system refuses, but kUsage for a path that does not exist; kInternal for everything else.
ExitCode exit_code_of(const std::exception& error);

// Throws an error of the class that goes with the code: what another process met, told here.
[[noreturn]] void throw_error(ExitCode code, const std::string& message);

// Throws InternalError with the caller's place unless `condition` holds; `why` says why it must. On in release builds.
void check(bool condition, std::string_view why, std::source_location where = std::source_location::current());

}  // namespace convoy

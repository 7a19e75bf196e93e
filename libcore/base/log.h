// SPDX-License-Identifier: Apache-2.0
// Logging through plain functions that take a finished string, so that only log.cpp compiles the logging library.
// Everything goes to stderr: stdout is for data. Thread-safe.
#pragma once

#include <string_view>

namespace convoy {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

void set_log_level(LogLevel level);
LogLevel log_level();

void log_debug(std::string_view message);
void log_info(std::string_view message);
void log_warning(std::string_view message);
void log_error(std::string_view message);

}  // namespace convoy

// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <unistd.h>

#include <memory>

namespace convoy {
namespace {

// On a terminal a line first clears what stands there, because a progress bar keeps the cursor on its own line.
constexpr const char* kTerminalPattern = "\r\x1b[K%T %^%l%$ %v";
constexpr const char* kPattern = "%T %^%l%$ %v";

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("convoy", std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>());
    made.set_pattern(isatty(STDERR_FILENO) != 0 ? kTerminalPattern : kPattern);
    made.flush_on(spdlog::level::trace);
    return made;
  }();
  return instance;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(spdlog_level(level)); }

LogLevel log_level() {
  switch (logger().level()) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return LogLevel::kDebug;
    case spdlog::level::info:
      return LogLevel::kInfo;
    case spdlog::level::warn:
      return LogLevel::kWarning;
    case spdlog::level::err:
    case spdlog::level::critical:
      return LogLevel::kError;
    default:
      return LogLevel::kOff;
  }
}

void log_debug(std::string_view message) { logger().log(spdlog::level::debug, message); }
void log_info(std::string_view message) { logger().log(spdlog::level::info, message); }
void log_warning(std::string_view message) { logger().log(spdlog::level::warn, message); }
void log_error(std::string_view message) { logger().log(spdlog::level::err, message); }

}  // namespace convoy

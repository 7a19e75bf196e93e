// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/temporary_name.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <vector>

#include "libcore/base/host.h"

namespace convoy {
namespace {

constexpr std::string_view kSuffix = ".tmp";

// The process in ".NAME.HOST.PID-N.tmp" of this host; 0 if `name` is no such name.
pid_t writer_of(std::string_view name, std::string_view start) {
  const std::string host = '.' + host_name() + '.';
  const std::size_t dash = name.rfind('-'), dot = name.rfind('.', dash);
  if (!name.starts_with('.') || !name.substr(1).starts_with(start) || !name.ends_with(kSuffix)) return 0;
  if (dash == std::string_view::npos || dot == std::string_view::npos || !name.substr(0, dot + 1).ends_with(host)) return 0;
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data() + dot + 1, name.data() + dash, pid);
  return error == std::errc() && end == name.data() + dash && pid > 0 ? pid : 0;
}

bool is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace

Path temporary_sibling(const Path& path) {
  static std::atomic<int> counter{0};
  const Path folder = path.has_parent_path() ? path.parent_path() : Path(".");
  return folder / fmt::format(".{}.{}.{}-{}{}", path.filename().string(), host_name(), ::getpid(), counter.fetch_add(1), kSuffix);
}

void remove_abandoned(const Path& folder, std::string_view start) {
  std::error_code error;
  std::vector<Path> dead;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const pid_t pid = writer_of(entry.path().filename().native(), start);
    if (pid > 0 && is_gone(pid)) dead.push_back(entry.path());
  }
  for (const Path& path : dead) std::filesystem::remove(path, error);
}

}  // namespace convoy

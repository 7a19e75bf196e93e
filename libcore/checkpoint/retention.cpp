// SPDX-License-Identifier: Apache-2.0
// Which steps stay, and how the others go.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "libcore/base/error.h"
#include "libcore/base/host.h"
#include "libcore/base/log.h"
#include "libcore/checkpoint/commit.h"
#include "libcore/checkpoint/hidden_names.h"
#include "libcore/checkpoint/save.h"
#include "libcore/checkpoint/shard_io.h"
#include "libcore/checkpoint/step_directory.h"

namespace convoy::checkpoint {
namespace {

constexpr std::string_view kTemporarySuffix = ".tmp", kTrashSuffix = ".trash";

// A process of this host that is not ours and runs.
bool lives_here(const HiddenName& name) {
  if (name.host != host_name() || name.pid == ::getpid()) return false;
  return ::kill(static_cast<pid_t>(name.pid), 0) == 0 || errno == EPERM;
}

}  // namespace

Path hidden_sibling(const Path& step_directory, Hidden kind) {
  static std::atomic<int> counter{0};
  const std::string name = fmt::format(".{}.{}.{}-{}{}", step_directory.filename().string(), host_name(), ::getpid(),
                                       counter++, kind == Hidden::kTrash ? kTrashSuffix : kTemporarySuffix);
  return step_directory.parent_path() / name;
}

std::optional<HiddenName> parse_hidden_name(std::string_view name) {
  HiddenName hidden;
  if (name.ends_with(kTrashSuffix)) hidden.kind = Hidden::kTrash;
  const std::string_view suffix = hidden.kind == Hidden::kTrash ? kTrashSuffix : kTemporarySuffix;
  if (!name.starts_with('.') || !name.ends_with(suffix)) return std::nullopt;
  name = name.substr(1, name.size() - 1 - suffix.size());
  const std::size_t first = name.find('.'), last = name.rfind('.');  // around the host, which may have dots itself
  if (first == std::string_view::npos || first == last || !parse_step_directory(name.substr(0, first)))
    return std::nullopt;
  hidden.host = name.substr(first + 1, last - first - 1);
  const std::string_view process = name.substr(last + 1);
  int number = 0;
  const char* end = process.data() + process.size();
  const auto pid = std::from_chars(process.data(), end, hidden.pid);
  if (pid.ec != std::errc() || pid.ptr == end || *pid.ptr != '-') return std::nullopt;
  const auto count = std::from_chars(pid.ptr + 1, end, number);
  if (count.ec != std::errc() || count.ptr != end || hidden.pid <= 0) return std::nullopt;
  return hidden;
}

void remove_leftovers(const Path& checkpoints) {
  std::error_code error;
  std::vector<Path> dead;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoints, error)) {
    const std::optional<HiddenName> name = parse_hidden_name(entry.path().filename().string());
    if (name && !lives_here(*name)) dead.push_back(entry.path());
  }
  for (const Path& path : dead) {
    std::filesystem::remove_all(path, error);
    if (error) log_warning(fmt::format("cannot remove '{}', the rest of a save: {}", path.string(), error.message()));
  }
}

std::vector<std::int64_t> steps_to_remove(std::vector<std::int64_t> committed, std::int64_t keep_last,
                                          std::int64_t keep_every, std::optional<std::int64_t> saved) {
  if (keep_last <= 0) return {};
  if (saved) std::erase_if(committed, [saved](std::int64_t step) { return step > *saved; });
  std::sort(committed.begin(), committed.end());
  if (static_cast<std::int64_t>(committed.size()) <= keep_last) return {};
  committed.resize(committed.size() - static_cast<std::size_t>(keep_last));
  if (keep_every > 0) std::erase_if(committed, [keep_every](std::int64_t step) { return step % keep_every == 0; });
  return committed;
}

std::vector<std::int64_t> committed_steps(const Path& checkpoints) {
  std::vector<std::int64_t> steps = step_directories(checkpoints);
  std::erase_if(steps,
                [&checkpoints](std::int64_t step) { return !has_commit(checkpoints / step_directory_name(step)); });
  std::sort(steps.begin(), steps.end());
  return steps;
}

void remove_step(const Path& step_directory) {
  const Path trash = hidden_sibling(step_directory, Hidden::kTrash);
  if (::rename(step_directory.c_str(), trash.c_str()) != 0) {
    throw EnvironmentError(
        fmt::format("cannot remove checkpoint '{}': {}", step_directory.string(), std::strerror(errno)));
  }
  sync_directory(step_directory.parent_path());
  std::error_code error;
  std::filesystem::remove_all(trash, error);
  if (error) throw EnvironmentError(fmt::format("cannot remove '{}': {}", trash.string(), error.message()));
}

}  // namespace convoy::checkpoint

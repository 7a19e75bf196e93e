// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/step_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/checkpoint/checkpoint.h"
#include "libcore/checkpoint/save.h"
#include "libcore/checkpoint/shard_io.h"

namespace convoy::checkpoint {
namespace {

constexpr std::string_view kPrefix = "step_";
constexpr std::size_t kDigits = 9;

bool is_hf_folder(const Path& folder) { return is_there(folder / "config.json"); }

// One of ours opens, or says why not.
bool holds_weights(const Path& checkpoints, std::int64_t step) {
  const Path folder = checkpoints / step_directory_name(step);
  if (!is_step_directory(folder)) return is_hf_folder(folder);
  try {
    open_step(checkpoints, step);
    return true;
  } catch (const EnvironmentError&) {
    throw;
  } catch (const Error& error) {
    log_warning(fmt::format("{}: passed over: {}", folder.filename().string(), error.what()));
    return false;
  }
}

std::optional<std::int64_t> newest_step(const Path& folder) {
  std::vector<std::int64_t> steps = step_directories(folder);
  std::sort(steps.rbegin(), steps.rend());
  for (const std::int64_t step : steps)
    if (holds_weights(folder, step)) return step;
  return std::nullopt;
}

}  // namespace

std::string step_directory_name(std::int64_t step) { return fmt::format("{}{:0{}}", kPrefix, step, kDigits); }

std::optional<std::int64_t> parse_step_directory(std::string_view name) {
  if (name.size() < kPrefix.size() + kDigits || name.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (error != std::errc() || stop != end || step_directory_name(step) != name) return std::nullopt;
  return step;
}

std::vector<std::int64_t> step_directories(const Path& checkpoints) {
  std::vector<std::int64_t> steps;
  if (!is_there(checkpoints)) return steps;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(checkpoints, error), end; !error && entry != end;
       entry.increment(error)) {
    if (const std::optional<std::int64_t> step = parse_step_directory(entry->path().filename().string()))
      steps.push_back(*step);
  }
  // Steps that cannot be listed are not steps that are not there.
  if (error) throw EnvironmentError(fmt::format("cannot list '{}': {}", checkpoints.string(), error.message()));
  return steps;
}

std::string shard_file_name(int tensor, int pipeline, int data) {
  return fmt::format("shard_tp{:03}_pp{:03}_dp{:05}.h5", tensor, pipeline, data);
}

std::optional<ShardCoordinates> parse_shard_file_name(std::string_view name) {
  ShardCoordinates rank;
  const auto number_after = [name](std::string_view key, int& number) {
    const std::size_t at = name.find(key);
    if (at == std::string_view::npos) return false;
    return std::from_chars(name.data() + at + key.size(), name.data() + name.size(), number).ec == std::errc();
  };
  if (!number_after("_tp", rank.tensor) || !number_after("_pp", rank.pipeline) || !number_after("_dp", rank.data))
    return std::nullopt;
  if (shard_file_name(rank.tensor, rank.pipeline, rank.data) != name) return std::nullopt;
  return rank;
}

Path checkpoints_folder(const Path& run) { return run / "checkpoints"; }

Path resolve_checkpoint(const Path& path) {
  if (!is_there(path)) {
    throw ConfigError(
        fmt::format("checkpoint {} does not exist: give a run directory, one of its step directories, or a "
                    "Hugging Face folder",
                    path.string()));
  }
  if (is_step_directory(path) || is_hf_folder(path)) return path;
  const Path folder = checkpoints_folder(path);
  if (const std::optional<std::int64_t> step = newest_step(folder)) return folder / step_directory_name(*step);
  throw DataError(
      fmt::format("{} holds no checkpoint: expected COMMIT and manifest.json, or config.json with "
                  "model.safetensors, or a committed step directory under checkpoints/, found none of them",
                  path.string()));
}

void refuse_inside_checkpoint(const Path& path) {
  std::error_code ignored;
  const Path whole = std::filesystem::weakly_canonical(std::filesystem::absolute(path), ignored);
  for (Path folder = whole.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    if (!is_step_directory(folder)) continue;
    throw ConfigError(
        fmt::format("'{}' would lie inside the checkpoint '{}', and go when that goes: choose a place outside of it",
                    path.string(), folder.string()));
  }
}

}  // namespace convoy::checkpoint

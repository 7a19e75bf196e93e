// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/resume.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/checkpoint/checkpoint.h"
#include "libcore/checkpoint/step_directory.h"

namespace convoy::train {
namespace {

void tell_passed_over(const std::vector<std::string>& reasons) {
  for (const std::string& reason : reasons) log_warning(fmt::format("a checkpoint is passed over: {}", reason));
}

// The run's own newest sound checkpoint. Broken newer ones are named; where all are broken nothing is started over
// them.
std::optional<Path> own_checkpoint(const RunDirectory& directory) {
  std::vector<std::string> skipped;
  std::optional<Path> newest = checkpoint::newest_checkpoint(directory.checkpoints(), skipped);
  tell_passed_over(skipped);
  if (newest || skipped.empty()) return newest;
  throw DataError(
      fmt::format("{}: none of {} checkpoints is sound, the newest: {}; look at them with convoy-ckpt verify, "
                  "or choose another --out",
                  directory.checkpoints().string(), skipped.size(), skipped.front()));
}

Path foreign_checkpoint(const std::string& from) {
  if (!std::filesystem::exists(from))
    throw ConfigError(
        fmt::format("--resume-from {}: no such checkpoint; expected a step directory or a run directory", from));
  if (checkpoint::is_step_directory(from)) return from;
  std::vector<std::string> skipped;
  const std::optional<Path> newest = checkpoint::newest_checkpoint(checkpoint::checkpoints_folder(from), skipped);
  tell_passed_over(skipped);
  if (newest) return *newest;
  throw DataError(
      fmt::format("--resume-from {}: holds no committed checkpoint; expected a step directory or a run "
                  "directory (for a Hugging Face folder: --init-from)",
                  from));
}

// 0, and so kept, for a row that is none of ours.
std::int64_t step_of(const std::string& row) {
  const auto json = nlohmann::json::parse(row, nullptr, false);
  const bool has_step = json.is_object() && json.contains("step") && json["step"].is_number_integer();
  return has_step ? json["step"].get<std::int64_t>() : 0;
}

}  // namespace

Start decide_start(const RunDirectory& directory, const config::ResumeOptions& options, std::int64_t steps) {
  const bool is_run = std::filesystem::exists(directory.record());
  if (options.mode == "never" || !is_run) directory.refuse_occupied();
  Start start;
  start.again = is_run;
  if (const std::optional<Path> own = is_run ? own_checkpoint(directory) : std::nullopt) {
    const std::optional<std::int64_t> step = checkpoint::parse_step_directory(own->filename().string());
    start.kind = step && *step >= steps ? StartKind::kFinished : StartKind::kResume;
    start.checkpoint = *own;
    return start;
  }
  if (!options.from.empty()) {
    start.kind = StartKind::kResume;
    start.checkpoint = foreign_checkpoint(options.from);
    return start;
  }
  if (options.mode == "require") {
    throw DataError(
        fmt::format("--resume require: {} holds no committed checkpoint; give the run's directory as --out, or "
                    "start it with --resume auto",
                    directory.checkpoints().string()));
  }
  if (is_run)
    log_warning(fmt::format("{} holds no committed checkpoint: the run starts anew", directory.path().string()));
  return start;
}

Path checkpoint_before(const RunDirectory& directory, const Path& damaged, const std::string& why) {
  std::vector<std::string> skipped;
  const std::optional<Path> older = checkpoint::newest_checkpoint(
      directory.checkpoints(), skipped, checkpoint::parse_step_directory(damaged.filename().string()));
  skipped.insert(skipped.begin(), why);
  tell_passed_over(skipped);
  if (older) return *older;
  throw DataError(fmt::format("{}; {} holds no sound checkpoint before it: look at them with convoy-ckpt verify, or choose another --out", why,
                              directory.checkpoints().string()));
}

std::string to_text(const Start& start) {
  return fmt::format("{}{}{}:{}", static_cast<int>(start.kind), start.again ? 'a' : 'f', start.attempt,
                     start.checkpoint.string());
}

Start start_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  check(colon != std::string::npos && colon > 2, "a start has a kind and an attempt");
  return {static_cast<StartKind>(text[0] - '0'), text.substr(colon + 1), text[1] == 'a', std::stoi(text.substr(2))};
}

void discard_rows(const RunDirectory& directory, std::int64_t step) {
  if (!std::filesystem::exists(directory.metrics())) return;
  std::istringstream rows(read_file(directory.metrics(), "metrics"));
  std::string kept, row;
  std::vector<std::string> discarded;
  while (std::getline(rows, row)) {
    if (rows.eof()) break;  // a line that a crash left without its end
    if (step_of(row) > step) {
      discarded.push_back(row);
    } else {
      kept += row + '\n';
    }
  }
  // First where they go, then where they are: a crash between the two leaves them twice, never not at all.
  if (!discarded.empty()) {
    LineAppender appender(directory.discarded());
    for (const std::string& line : discarded) appender.append(line);
    log_info(
        fmt::format("{} rows of steps after {} move to {}", discarded.size(), step, directory.discarded().string()));
  }
  write_file_atomically(directory.metrics(), kept);
}

}  // namespace convoy::train

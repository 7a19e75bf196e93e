// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/run_directory.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/log.h"
#include "libcore/checkpoint/step_directory.h"

namespace convoy::train {
std::string_view name_of(RunState state) {
  switch (state) {
    case RunState::kRunning:
      return "running";
    case RunState::kFinished:
      return "finished";
    case RunState::kStopped:
      return "stopped";
    case RunState::kFailed:
      return "failed";
  }
  throw InternalError("unknown run state");
}

std::string status_json(const Status& status) {
  JsonObject json;
  json.add("state", name_of(status.state)).add("step", status.step).add("steps", status.steps).add("loss", status.loss);
  json.add_raw("eta_seconds", status.eta_seconds ? json_number(*status.eta_seconds) : "null");
  json.add_raw("last_checkpoint", status.last_checkpoint.empty() ? "null" : json_quoted(status.last_checkpoint));
  json.add_raw("reason", status.reason.empty() ? "null" : json_quoted(status.reason));
  json.add_raw("exit_code", status.exit_code ? fmt::format("{}", *status.exit_code) : "null");
  return json.text();
}

void record_failure(const Path& path, const std::string& reason, int exit_code) noexcept {
  try {
    auto json = nlohmann::ordered_json::parse(read_file(path, "status"));
    if (json.value("state", "") != "running") return;
    json["state"] = "failed";
    json["eta_seconds"] = nullptr;
    json["reason"] = reason;
    json["exit_code"] = exit_code;
    write_file_atomically(path, json.dump() + "\n");
  } catch (const std::exception& error) {
    log_warning(fmt::format("the failure could not be recorded in {}: {}", path.string(), error.what()));
  }
}

RunDirectory::RunDirectory(Path path, const Identity& identity) : path_(std::move(path)) { own(identity); }

void RunDirectory::own(const Identity& identity) {
  checkpoint::refuse_inside_checkpoint(path_ / "run.json");
  if (!checkpoint::step_directories(path_).empty()) {
    throw ConfigError(fmt::format(
        "'{}' is a run's folder of checkpoints: give the run's own directory, the one above it", path_.string()));
  }
  ensure_directory(path_);
  lock_ = std::make_unique<FileLock>(path_ / "LOCK", identity.description);
}

std::string RunDirectory::occupied() const {
  for (const Path& trace : {metrics(), status(), config(), record(), checkpoints()}) {
    if (std::filesystem::exists(trace)) return trace.filename().string();
  }
  return "";
}

void RunDirectory::refuse_occupied() const {
  const std::string trace = occupied();
  if (trace.empty()) return;
  throw EnvironmentError(fmt::format(
      "run directory '{}' holds another run ({} is there): choose another --out, or remove the directory to train anew",
      path_.string(), trace));
}

Path RunDirectory::checkpoints() const { return checkpoint::checkpoints_folder(path_); }

Path RunDirectory::checkpoint(std::int64_t step) const { return checkpoints() / checkpoint::step_directory_name(step); }

Path RunDirectory::gradients(std::int64_t step) const {
  return debug() / fmt::format("gradients-{}.safetensors", step);
}

std::optional<std::string> recorded_tokenizer(const Path& checkpoint) {
  Path step = std::filesystem::absolute(checkpoint).lexically_normal();
  if (!step.has_filename()) step = step.parent_path();
  const Path run = step.parent_path().parent_path(), record = run / "run.json";
  if (checkpoint::checkpoints_folder(run) != step.parent_path()) return std::nullopt;
  std::error_code ignored;
  if (!std::filesystem::exists(record, ignored)) return std::nullopt;
  const auto json = nlohmann::json::parse(read_file(record, "run record"), nullptr, false);
  if (!json.is_object() || !json.contains("data") || !json["data"].is_array()) return std::nullopt;
  for (const nlohmann::json& dataset : json["data"]) {  // all of one tokenizer
    if (!dataset.is_object() || !dataset.contains("tokenizer_sha256")) continue;
    if (const nlohmann::json& sha256 = dataset["tokenizer_sha256"]; sha256.is_string()) return sha256.get<std::string>();
  }
  return std::nullopt;
}

}  // namespace convoy::train

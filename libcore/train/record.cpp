// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "libcore/base/json.h"
#include "libcore/base/version.h"
#include "libcore/model/parameters.h"

namespace convoy::train {
namespace {

using Json = nlohmann::ordered_json;

Json dataset_record(const std::string& name, const data::IndexedDataset& dataset) {
  Json record{{"name", name},
              {"prefix", dataset.prefix().string()},
              {"tokens", dataset.tokens()},
              {"documents", dataset.documents()},
              {"tokenizer_sha256", nullptr}};
  if (dataset.meta()) record["tokenizer_sha256"] = dataset.meta()->tokenizer_sha256;
  return record;
}

// Null without one, else [tokens, sequences] of each size.
Json ramp_record(const config::BatchOptions& batch) {
  if (batch.ramp.empty()) return nullptr;
  std::vector<config::RampPoint> ramp;
  config::parse_ramp(batch.ramp, ramp);
  Json record = Json::array();
  for (const config::RampPoint& point : ramp) record.push_back({point.tokens, point.batch});
  return record;
}

Json loss_scale_record(const PreparedRun& run) {
  if (run.options.device.precision != "fp16") return nullptr;
  return run.resolved.loss_scale ? Json(*run.resolved.loss_scale) : Json("dynamic");
}

Json resolved_record(const PreparedRun& run) {
  return {{"sequence_length", run.resolved.sequence_length},
          {"global_batch_size", run.resolved.global_batch},
          {"batch_ramp", ramp_record(run.options.batch)},
          {"micro_batch_size", run.resolved.micro_batch},
          {"micro_batches", run.resolved.micro_batches},
          {"steps", run.resolved.steps},
          {"decay_steps", run.resolved.decay_steps},
          {"lr", run.options.optimizer.lr},
          {"min_lr", run.resolved.min_lr},
          {"threads", run.resolved.threads},
          {"precision", run.options.device.precision},
          {"loss_scale", loss_scale_record(run)},
          {"seed", run.options.data.seed},
          {"device", "cpu"}};
}

Json layout_record(const parallel::Layout& layout) {
  return {{"world", layout.world()},
          {"tensor_parallel", layout.tensor},
          {"pipeline_parallel", layout.pipeline},
          {"data_parallel", layout.data},
          {"zero", layout.zero},
          {"schedule", layout.schedule == parallel::ScheduleKind::kGpipe ? "gpipe" : "1f1b"},
          {"pipeline_split", layout.pipeline_split}};
}

// Each once, in the order of the ranks.
Json hosts_record(const std::vector<std::string>& nodes) {
  Json hosts = Json::array();
  std::set<std::string> seen;
  for (const std::string& node : nodes) {
    if (seen.insert(node).second) hosts.push_back(node);
  }
  return hosts;
}

Json attempt_record(const PreparedRun& run, const Identity& identity, const Invocation& invocation,
                    const std::vector<std::string>& nodes, const Start& start) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  Json attempt{{"started", std::chrono::duration_cast<std::chrono::seconds>(now).count()},
               {"job_id", nullptr},
               {"pid", identity.pid},
               {"hosts", hosts_record(nodes)},
               {"layout", layout_record(run.resolved.layout)},
               {"resumed_from", nullptr},
               {"command", invocation.arguments}};
  if (!identity.job_id.empty()) attempt["job_id"] = identity.job_id;
  if (start.kind == StartKind::kResume) attempt["resumed_from"] = start.checkpoint.string();
  return attempt;
}

Json origin_record(const config::RunOptions& options) {
  if (!options.resume.from.empty()) return {{"kind", "resume-from"}, {"path", options.resume.from}};
  if (!options.model.init_from.empty()) return {{"kind", "init-from"}, {"path", options.model.init_from}};
  return {{"kind", "seed"}, {"seed", options.data.seed}};
}

// Where a run began stays what it was, whatever later attempts say.
struct Earlier {
  Json attempts = Json::array();
  Json origin;
};

Earlier earlier_of(const std::string& before, const Json& origin) {
  Earlier earlier{Json::array(), origin};
  const Json json = Json::parse(before, nullptr, false);
  if (!json.is_object()) return earlier;
  if (json.contains("attempts") && json["attempts"].is_array()) earlier.attempts = json["attempts"];
  if (json.contains("origin")) earlier.origin = json["origin"];
  return earlier;
}

Json job_ids(const Json& attempts) {
  Json ids = Json::array();
  for (const Json& attempt : attempts) {
    const auto id = attempt.is_object() ? attempt.find("job_id") : attempt.end();
    if (id == attempt.end() || id->is_null() || std::find(ids.begin(), ids.end(), *id) != ids.end()) continue;
    ids.push_back(*id);
  }
  return ids;
}

}  // namespace

int attempts_in(const std::string& record) { return static_cast<int>(earlier_of(record, nullptr).attempts.size()); }

std::string on_one_line(std::string_view json) {
  std::string line;
  bool in_indent = false;
  for (const char c : json) {
    in_indent = c == '\n' || (in_indent && c == ' ');
    if (!in_indent) line.push_back(c);
  }
  return line;
}

std::string run_record(const PreparedRun& run, const Identity& identity, const Invocation& invocation,
                       const std::vector<std::string>& nodes, const Start& start, const std::string& before) {
  Earlier earlier = earlier_of(before, origin_record(run.options));
  const Json attempt = attempt_record(run, identity, invocation, nodes, start);
  earlier.attempts.push_back(attempt);
  Json record{{"version", version()}, {"libraries", Json::object()}};
  for (const auto& [name, library] : invocation.libraries) record["libraries"][name] = library;
  for (const char* key : {"command", "started", "hosts", "pid", "layout"}) record[key] = attempt[key];
  record["job_ids"] = job_ids(earlier.attempts);
  record["attempts"] = earlier.attempts;
  record["origin"] = earlier.origin;
  record["model_name"] = run.model_name;
  record["model"] = Json::parse(model::to_json(run.model, "float32"));
  record["parameters"] = model::parameter_count(model::parameter_table(run.model));
  record["resolved"] = resolved_record(run);
  record["data"] = Json::array();
  for (std::size_t set = 0; set < run.data.size(); ++set) {
    record["data"].push_back(dataset_record("train", run.data[set]));
    record["data"].back()["share"] = run.sampler.share(set);
  }
  record["valid_data"] = Json::array();
  for (const NamedDataset& set : run.valid) record["valid_data"].push_back(dataset_record(set.name, set.dataset));
  record["init_from"] = run.options.model.init_from.empty() ? Json(nullptr) : Json(run.options.model.init_from);
  return record.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace convoy::train

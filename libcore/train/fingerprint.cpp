// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "libcore/base/checksum.h"
#include "libcore/base/json.h"
#include "libcore/base/units.h"
#include "libcore/train/record.h"

namespace convoy::train {
namespace {

constexpr const char* kDecaySteps = "decay-steps";
// Keys of a choice that other runs do not make: the checkpoints of those do not lack them.
constexpr std::array kOfSomeRuns = {"dropout", "loss-scale", "wsd-decay-share"};
constexpr std::int64_t kSampledTokens = std::int64_t{1} << 16;

std::string yes_no(bool value) { return value ? "yes" : "no"; }
std::string number(std::int64_t value) { return fmt::format("{}", value); }

// One size, or "0:32,1000000000:64" of a ramp.
std::string global_batches(const config::BatchOptions& options, const config::Resolved& resolved) {
  if (options.ramp.empty()) return number(resolved.global_batch);
  std::vector<config::RampPoint> ramp;
  config::parse_ramp(options.ramp, ramp);
  std::vector<std::string> sizes;
  for (const config::RampPoint& point : ramp) sizes.push_back(fmt::format("{}:{}", point.tokens, point.batch));
  return fmt::format("{}", fmt::join(sizes, ","));
}

const std::string* find(const Fingerprint& fingerprint, const std::string& key) {
  const auto found =
      std::find_if(fingerprint.begin(), fingerprint.end(), [&](const auto& e) { return e.first == key; });
  return found == fingerprint.end() ? nullptr : &found->second;
}

}  // namespace

std::string data_identity(const data::IndexedDataset& dataset) {
  std::string identity = fmt::format("{} tokens in {} documents, xxh3 ", dataset.tokens(), dataset.documents());
  if (dataset.meta()) return identity + dataset.meta()->bin_xxh3_128;
  const std::int64_t count = std::min(dataset.tokens(), kSampledTokens);
  std::vector<std::int32_t> ends(static_cast<std::size_t>(2 * count));
  dataset.read(0, std::span(ends).first(static_cast<std::size_t>(count)));
  dataset.read(dataset.tokens() - count, std::span(ends).last(static_cast<std::size_t>(count)));
  Xxh3Stream stream;
  stream.update(std::as_bytes(std::span(ends)));
  return identity + stream.hex() + " of both ends";
}

std::string data_identity(const PreparedRun& run) {
  if (run.data.size() == 1) return data_identity(run.data.front());
  std::vector<std::string> sets;
  for (std::size_t set = 0; set < run.data.size(); ++set)
    sets.push_back(fmt::format("{} of {}", json_number(run.sampler.share(set)), data_identity(run.data[set])));
  return fmt::format("{}", fmt::join(sets, "; "));
}

Fingerprint fingerprint_of(const PreparedRun& run) {
  const config::OptimizerOptions& optimizer = run.options.optimizer;
  const config::Resolved& resolved = run.resolved;
  const bool constant = optimizer.schedule == "constant";
  model::Config model = run.model;
  model.dropout = {};  // has a key of its own
  std::map<std::string, std::string> all = {
      {"model", on_one_line(model::to_json(model, "float32"))},
      {"sequence-length", number(resolved.sequence_length)},
      {"attention-reset-at-document", yes_no(run.options.model.attention_reset_at_document)},
      {"data", data_identity(run)},
      {"data-order", run.options.data.order},
      {"seed", number(run.options.data.seed)},
      {"mask-loss-after-eos", resolved.eos_id ? number(*resolved.eos_id) : "no"},
      {"global-batch-size", global_batches(run.options.batch, resolved)},
      {"precision", run.options.device.precision},
      {"lr", json_number(optimizer.lr)},
      {"lr-schedule", optimizer.schedule},
      {"min-lr", constant ? "unused" : json_number(resolved.min_lr)},
      {"warmup-steps", number(optimizer.warmup_steps)},
      {kDecaySteps, constant ? "unused" : number(resolved.decay_steps)},
      {"weight-decay", json_number(optimizer.weight_decay)},
      {"beta1", json_number(optimizer.beta1)},
      {"beta2", json_number(optimizer.beta2)},
      {"epsilon", json_number(optimizer.epsilon)},
      {"clip-norm", json_number(optimizer.clip_norm)},
  };
  // kOfSomeRuns.
  if (run.model.dropout.largest() > 0.0) all.emplace("dropout", model::text_of(run.model.dropout));
  if (run.options.device.precision == "fp16")
    all.emplace("loss-scale", resolved.loss_scale ? json_number(*resolved.loss_scale) : "dynamic");
  if (optimizer.schedule == "wsd") all.emplace("wsd-decay-share", json_number(optimizer.wsd_decay_share));
  return {all.begin(), all.end()};
}

void adopt(const Fingerprint& stored, PreparedRun& run) {
  const std::string* decay = find(stored, kDecaySteps);
  if (run.options.optimizer.decay_steps || decay == nullptr) return;
  const Parsed<std::int64_t> steps = parse_count(*decay);
  if (steps.ok()) run.resolved.decay_steps = steps.value;
}

std::vector<std::string> fingerprint_problems(const Fingerprint& stored, const Fingerprint& current,
                                              const std::vector<std::string>& allowed) {
  std::set<std::string> keys;
  for (const Fingerprint* side : {&stored, &current}) {
    for (const auto& [key, value] : *side) keys.insert(key);
  }
  std::set<std::string> known = keys;
  known.insert(kOfSomeRuns.begin(), kOfSomeRuns.end());
  std::vector<std::string> problems;
  for (const std::string& key : allowed) {
    if (!known.contains(key))
      problems.push_back(fmt::format("--allow-change {}: no such key; the keys are {}", key, fmt::join(known, ", ")));
  }
  const auto shown = [](const std::string* value) { return value == nullptr ? std::string("nothing") : *value; };
  for (const std::string& key : keys) {
    const std::string *before = find(stored, key), *now = find(current, key);
    if (before != nullptr && now != nullptr && *before == *now) continue;
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    problems.push_back(
        fmt::format("{}: the checkpoint's run has {}, this one {}; give it the same, or add "
                    "--allow-change {}",
                    key, shown(before), shown(now), key));
  }
  return problems;
}

}  // namespace convoy::train

// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "libcore/analysis/synth_replay.h"
#include "libcore/analysis/trace_folder.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/random.h"
#include "libcore/trace/trace_writer.h"

namespace convoy::analysis {
namespace {

constexpr std::int64_t kTokensASequence = 2048;
constexpr double kTflopsARank = 40.0;
constexpr std::int64_t kStarted =
    1'767'225'600'000'000'000;                           // 2026-01-01 00:00:00 UTC: the bytes depend on options only
constexpr std::uint64_t kSinceBoot = 1'000'000'000'000;  // of the first host, in ns
// A file stays open for each rank that is being written; more ranks take several rounds of the same replay.
constexpr std::size_t kOpenFiles = 256;

std::int64_t tokens_per_step(const SynthOptions& options) {
  return kTokensASequence * options.data * options.micro_batches;
}

std::size_t world_of(const SynthOptions& options) {
  return static_cast<std::size_t>(options.tensor) * static_cast<std::size_t>(options.pipeline) *
         static_cast<std::size_t>(options.data);
}

// Hosts were booted at different times, and their real-time clocks differ by up to 2 ms.
std::uint64_t booted_before(const SynthOptions& options, std::size_t host) {
  return kSinceBoot + mix64(stream_key(options.seed, "synth:boot") + host) % kSinceBoot;
}

std::int64_t clock_error(const SynthOptions& options, std::size_t host) {
  return static_cast<std::int64_t>(mix64(stream_key(options.seed, "synth:clock") + host) % 4'000'000) - 2'000'000;
}

trace::Header header_of(const SynthOptions& options, std::size_t rank) {
  const std::size_t host = rank / static_cast<std::size_t>(options.ranks_per_host);
  trace::Header header;
  header.run = fmt::format("synthetic, seed {}", options.seed);
  header.world = static_cast<int>(world_of(options));
  header.rank = static_cast<int>(rank);
  header.at = synth_coordinates(options, header.rank);
  header.tensor = options.tensor;
  header.pipeline = options.pipeline;
  header.data = options.data;
  header.micro_batches = options.micro_batches;
  header.tokens_per_step = tokens_per_step(options);
  header.flops_per_token =
      kTflopsARank * 1e12 * header.world * options.step_seconds / static_cast<double>(header.tokens_per_step);
  header.flops_convention =
      fmt::format("synthetic: a step of {} s makes {} TFLOP/s a rank", options.step_seconds, kTflopsARank);
  header.host = fmt::format("node-{:03}", host + 1);
  header.process_id = 1000 + header.rank;
  header.started_unix_ns = kStarted + clock_error(options, host);
  header.started_monotonic_ns = booted_before(options, host);
  header.groups = synth_groups(options, header.rank);
  return header;
}

// The file of one rank; steps are collected to whole blocks.
class RankFile {
 public:
  RankFile(const TraceFolder& folder, const SynthOptions& options, std::size_t rank)
      : writer_(folder.file_of(static_cast<int>(rank)), header_of(options, rank)),
        clock_(booted_before(options, rank / static_cast<std::size_t>(options.ranks_per_host))) {}

  void add(trace::StepRecord record, std::span<const trace::Event> events, std::uint64_t tokens) {
    record.start_ns += clock_;
    record.tokens = tokens;
    steps_.push_back(record);
    if (steps_.size() == trace::kStepsPerBlock || !events.empty()) flush();
    if (events.empty()) return;
    std::vector<trace::Event> shifted(events.begin(), events.end());
    for (trace::Event& event : shifted) event.start_ns += clock_;
    writer_.append(shifted);
  }
  void flush() {
    if (!steps_.empty()) writer_.append(steps_);
    steps_.clear();
  }

 private:
  trace::TraceWriter writer_;
  std::uint64_t clock_;
  std::vector<trace::StepRecord> steps_;
};

void write_ranks(const SynthOptions& options, const TraceFolder& folder, std::size_t first, std::size_t end) {
  std::vector<std::unique_ptr<RankFile>> files;
  for (std::size_t rank = first; rank < end; ++rank) files.push_back(std::make_unique<RankFile>(folder, options, rank));
  Replay replay(options);
  const auto tokens = static_cast<std::uint64_t>(tokens_per_step(options));
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    replay.advance(options.window_first <= step && step <= options.window_last);
    for (std::size_t i = 0; i < files.size(); ++i) {
      const int rank = static_cast<int>(first + i);
      files[i]->add(replay.record(rank), replay.events(rank), tokens);
    }
  }
  for (const auto& file : files) file->flush();
}

// The curve of a run that learns: a power law above what cannot be learnt, warm-up and cosine.
double loss_of(const SynthOptions& options, std::int64_t step) {
  const double noise =
      0.02 * static_cast<double>(normal_at(stream_key(options.seed, "synth:loss"), static_cast<std::uint64_t>(step)));
  return 2.2 + 8.6 * std::pow(static_cast<double>(step), -0.35) + noise;
}

double learning_rate_of(const SynthOptions& options, std::int64_t step) {
  constexpr double kPeak = 3e-4, kPi = 3.14159265358979323846;
  const double warm_up = std::max(1.0, std::ceil(0.05 * static_cast<double>(options.steps)));
  const double at = static_cast<double>(step - 1);
  if (at < warm_up) return kPeak * (at + 1.0) / warm_up;
  const double share = (at - warm_up) / std::max(1.0, static_cast<double>(options.steps) - warm_up);
  return kPeak * (0.1 + 0.9 * 0.5 * (1.0 + std::cos(kPi * share)));
}

// The keys of convoy-train's rows.
std::string metrics_row(const SynthOptions& options, std::int64_t step) {
  const double norm = 0.3 + 2.0 / std::sqrt(static_cast<double>(step));
  return JsonObject()
      .add("kind", "step")
      .add("step", step)
      .add("update", step)
      .add("loss", loss_of(options, step))
      .add("grad_norm", norm)
      .add("lr", learning_rate_of(options, step))
      .add("tokens", tokens_per_step(options))
      .add("consumed_samples", step * options.data * options.micro_batches)
      .add("skipped", 0)
      .text();
}

std::string evaluation_row(const SynthOptions& options, std::int64_t step) {
  const double loss = loss_of(options, step) + 0.05;
  return JsonObject()
      .add("kind", "eval")
      .add("step", step)
      .add("set", "valid")
      .add("loss", loss)
      .add("perplexity", std::exp(loss))
      .add("tokens", tokens_per_step(options))
      .text();
}

void write_metrics(const SynthOptions& options, const Path& file) {
  AtomicFile metrics(file);
  const std::int64_t every = options.evaluate_every;
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    metrics.write(metrics_row(options, step) + "\n");
    if (every > 0 && (step % every == 0 || step == options.steps)) metrics.write(evaluation_row(options, step) + "\n");
  }
  metrics.commit();
}

}  // namespace

void synthesize(const SynthOptions& options, const Path& run) {
  if (std::vector<std::string> problems = problems_of(options); !problems.empty()) throw ConfigError(problems);
  const Path metrics = run / "metrics.jsonl";
  if (std::filesystem::exists(metrics))
    throw EnvironmentError(fmt::format("'{}' exists; choose another folder, or remove it first", metrics.string()));
  TraceFolder folder(run);
  for (std::size_t first = 0; first < world_of(options); first += kOpenFiles)
    write_ranks(options, folder, first, std::min(first + kOpenFiles, world_of(options)));
  write_metrics(options, metrics);
  folder.commit();
}

}  // namespace convoy::analysis

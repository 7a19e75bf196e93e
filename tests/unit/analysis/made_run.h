// SPDX-License-Identifier: Apache-2.0
// Traces on disk of runs that never were, rank by rank, whatever a test wants to be wrong with them.
#pragma once

#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "libcore/analysis/peers.h"
#include "libcore/trace/trace_writer.h"

namespace convoy::analysis {

struct MadeRun {
  Layout layout = {.tensor = 1, .pipeline = 1, .data = 8};
  int attempt = 1;
  std::int64_t first_step = 1, last_step = 100;
  std::string host = "n01";
  int threads = 1;
  double jitter = 0.01;
  // Changes a record before it is written; false: it is not written.
  std::function<bool(int rank, trace::StepRecord& record)> change = [](int, trace::StepRecord&) { return true; };
};

inline trace::Header made_header(const MadeRun& made, int rank) {
  trace::Header header;
  header.run = "/runs/made";
  header.attempt = made.attempt;
  header.world = made.layout.world();
  header.rank = rank;
  header.tensor = made.layout.tensor;
  header.pipeline = made.layout.pipeline;
  header.data = made.layout.data;
  header.at = {.tensor = rank % made.layout.tensor,
               .pipeline = rank / made.layout.tensor % made.layout.pipeline,
               .data = rank / (made.layout.tensor * made.layout.pipeline)};
  header.micro_batches = 4;
  header.threads = made.threads;
  header.tokens_per_step = 8192;
  header.flops_per_token = 6e9;
  header.flops_convention = "6 N";
  header.host = made.host;
  header.started_unix_ns = 1'796'047'331'000'000'000;  // 2026-11-30 14:02:11 UTC
  std::vector<int> all(static_cast<std::size_t>(made.layout.world()));
  std::iota(all.begin(), all.end(), 0);
  header.groups = {{trace::GroupKind::kWorld, all}};
  return header;
}

inline void set_duration(trace::StepRecord& record) {
  record.duration_ns = 0;
  for (const trace::PhaseTime& phase : record.phases) record.duration_ns += phase.wall_ns;
}

// A step of about 160 ms: data 2, forward 40, backward 80, optimizer 10, data communication 20, world 5, other 1.
inline trace::StepRecord made_record(std::int64_t step, std::mt19937_64& engine, double jitter) {
  using trace::Phase;
  std::normal_distribution<double> normal(0.0, jitter);
  const auto time = [&](double milliseconds) {
    const double noise = jitter > 0.0 ? std::exp(normal(engine)) : 1.0;
    return static_cast<std::uint64_t>(1e6 * milliseconds * noise);
  };
  trace::StepRecord record;
  record.step = static_cast<std::uint64_t>(step);
  record.start_ns = static_cast<std::uint64_t>(step) * 200'000'000;
  record.tokens = 8000;
  record[Phase::kData].wall_ns = time(2);
  record[Phase::kForward].wall_ns = time(40);
  record[Phase::kBackward].wall_ns = time(80);
  record[Phase::kOptimizer].wall_ns = time(10);
  record[Phase::kDataComm].wall_ns = time(20);
  record[Phase::kWorldComm].wall_ns = time(5);
  record[Phase::kOther].wall_ns = time(1);
  return record;
}

inline void write_run(const MadeRun& made, const Path& run) {
  std::filesystem::create_directories(run / "traces");
  for (int rank = 0; rank < made.layout.world(); ++rank) {
    std::mt19937_64 engine(static_cast<std::uint64_t>(100 * made.attempt + rank));
    trace::TraceWriter writer(run / "traces" / trace::trace_file_name(rank, made.attempt), made_header(made, rank));
    std::vector<trace::StepRecord> records;
    for (std::int64_t step = made.first_step; step <= made.last_step; ++step) {
      trace::StepRecord record = made_record(step, engine, made.jitter);
      if (!made.change(rank, record)) continue;
      set_duration(record);
      records.push_back(record);
    }
    writer.append(records);
  }
}

}  // namespace convoy::analysis

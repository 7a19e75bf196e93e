// SPDX-License-Identifier: Apache-2.0
// Headers and records for the tests of traces.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "libcore/trace/trace_reader.h"
#include "libcore/trace/trace_writer.h"
#include "tests/support/trace_files.h"

namespace convoy::trace {

// Rank 1 of 4: two tensor ranks, two replicas.
inline Header some_header() {
  Header header;
  header.run = "/runs/first";
  header.world = 4;
  header.rank = 1;
  header.tensor = 2;
  header.data = 2;
  header.at = {.tensor = 1, .pipeline = 0, .data = 0};
  header.host = "node-17";
  header.groups = {{GroupKind::kWorld, {0, 1, 2, 3}}, {GroupKind::kTensor, {0, 1}}, {GroupKind::kData, {1, 3}}};
  return header;
}

// A step of 100 us, 70 of them forward.
inline StepRecord some_step(std::uint64_t step) {
  StepRecord record;
  record.step = step;
  record.start_ns = 1'000'000 * step;
  record.duration_ns = 100'000;
  record.tokens = 512;
  record[Phase::kOther] = {.wall_ns = 30'000};
  record[Phase::kForward] = {.wall_ns = 70'000, .delay_ns = 500};
  return record;
}

inline Event some_event(std::uint32_t step, std::uint32_t sequence) {
  Event event;
  event.start_ns = 1'000'000 * std::uint64_t{step} + sequence;
  event.duration = 10;
  event.step = step;
  event.sequence = sequence;
  event.group = 1;
  event.operation = Operation::kAllReduce;
  event.flags = kComplete;
  return event;
}

// Overwrites one byte where it stands.
inline void patch(const Path& file, std::size_t at, int byte) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(byte));
}

}  // namespace convoy::trace

// SPDX-License-Identifier: Apache-2.0
// The trace of one rank in one attempt of a run: fixed-size little-endian records in blocks of 64 KiB, each with a
// CRC, so that a torn tail costs its block and no more. docs/formats.md has the same in prose.
//
//   rank-00003.a001.trace   block 0: the header, as JSON; then blocks of step records and of events
//   rank-00003.a001.ring    the flight ring (flight_ring.h)
//
// A block begins with a BlockHeader, whose CRC covers the first `bytes` of the payload: a writer appends records
// behind them, then overwrites the header, so that a block is sound at every instant. The last block may be shorter
// than 64 KiB on disk.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace convoy::trace {

inline constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
inline constexpr std::uint32_t kBlockMagic = 0x314b4c42;  // "BLK1"
inline constexpr int kFormatVersion = 1;

// Where the time of a step goes. A phase's time excludes the communication inside it, which has phases of its own; the
// phases of a step sum to its duration.
enum class Phase : std::uint8_t {
  kOther,  // what no other phase covers
  kData,   // reading and shaping samples
  kForward,
  kBackward,
  kOptimizer,  // with the packing of the new weights
  kCheckpoint,
  kEvaluation,
  // Communication that training waits for, by group.
  kTensorComm,
  kPipelineComm,
  kDataComm,
  kWorldComm,
  // Of any group, inside the phase named.
  kCheckpointComm,
  kEvaluationComm,
};
inline constexpr std::size_t kPhases = 13;
// "other", "data", "forward", .., "tensor_communication", ..
std::string_view name_of(Phase phase);
std::optional<Phase> phase_of(std::string_view name);
inline bool is_communication(Phase phase) { return phase >= Phase::kTensorComm; }
// Part of the training step: neither evaluation nor checkpoint, nor communication inside them.
inline bool is_training(Phase phase) {
  return phase != Phase::kCheckpoint && phase != Phase::kEvaluation && phase != Phase::kCheckpointComm &&
         phase != Phase::kEvaluationComm;
}

struct PhaseTime {
  std::uint64_t wall_ns = 0;
  std::uint64_t delay_ns = 0;  // of it, the executing thread could have run but had no core (run-delay)
};

// Of what a step was special.
enum StepFlag : std::uint32_t {
  kEvaluated = 1,
  kSaved = 2,
  kSkipped = 4,  // the update, for a value that was not finite
  kFirst = 8,    // of this attempt: memory is touched for the first time
  kStopping = 16,
};

// From the begin of a step to its end, evaluation and checkpoint included.
struct StepRecord {
  std::uint64_t step = 0;      // attempted, from 1
  std::uint64_t start_ns = 0;  // monotonic clock of this host
  std::uint64_t duration_ns = 0;
  std::uint64_t tokens = 0;  // of the global batch
  std::uint32_t flags = 0;
  std::uint32_t events_dropped = 0;  // of a window that asked for them
  std::uint64_t reserved = 0;
  std::array<PhaseTime, kPhases> phases = {};

  const PhaseTime& operator[](Phase phase) const { return phases[static_cast<std::size_t>(phase)]; }
  PhaseTime& operator[](Phase phase) { return phases[static_cast<std::size_t>(phase)]; }
};
static_assert(sizeof(StepRecord) == 256 && std::is_trivially_copyable_v<StepRecord>);

enum class Operation : std::uint8_t {
  kForward,   // one micro-batch
  kBackward,  // one micro-batch, both parts
  kBackwardInput,
  kBackwardWeight,
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kSend,
  kReceive,
  kBarrier,
};
inline constexpr std::size_t kOperations = 11;
std::string_view name_of(Operation operation);  // "forward", .., "all_reduce", ..
std::optional<Operation> operation_of(std::string_view name);
// Between two ranks: send, receive.
inline bool is_message(Operation operation) {
  return operation == Operation::kSend || operation == Operation::kReceive;
}
bool is_collective(Operation operation);  // all members leave together: all_reduce, reduce_scatter, all_gather, barrier

enum EventFlag : std::uint8_t {
  kComplete = 1,    // else it was under way when the process ended
  kOverlapped = 2,  // on a thread of its own, beside computation
  kSaturated = 4,   // longer than `duration` can say
};

// An interval of one rank. Collectives of a group match across ranks by `sequence`, never by clock.
struct Event {
  std::uint64_t start_ns = 0;
  std::uint32_t duration = 0;  // in units of kDurationUnit
  std::uint32_t step = 0;
  std::uint32_t sequence = 0;      // of the group's calls from 1; a computation's micro-batch
  std::uint32_t bytes = 0;         // in units of kByteUnit, rounded up
  std::uint16_t group = kNoGroup;  // index in the header's groups
  std::uint16_t peer = 0;          // of a send or receive: rank in the group
  Operation operation = Operation::kForward;
  Phase phase = Phase::kOther;  // in which it happened; of a communication the one around it
  std::uint8_t flags = 0;
  std::uint8_t reserved = 0;

  static constexpr std::uint16_t kNoGroup = 0xffff;
  static constexpr std::uint64_t kDurationUnit = 16;  // ns: 68 s at most
  static constexpr std::uint64_t kByteUnit = 16;
  std::uint64_t duration_ns() const { return std::uint64_t{duration} * kDurationUnit; }
};
// Rounded down; kSaturated where the field cannot say it.
void set_duration(Event& event, std::uint64_t ns);
// Rounded up; of more than the field can say, the most.
inline void set_bytes(Event& event, std::uint64_t bytes) {
  const std::uint64_t units = bytes / Event::kByteUnit + (bytes % Event::kByteUnit != 0 ? 1 : 0);
  event.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(units, UINT32_MAX));
}
static_assert(sizeof(Event) == 32 && std::is_trivially_copyable_v<Event>);

enum class BlockKind : std::uint16_t { kHeader = 1, kSteps = 2, kEvents = 3 };

struct BlockHeader {
  std::uint32_t magic = kBlockMagic;
  std::uint32_t crc = 0;    // CRC-32C of the rest of this header and of `bytes` of payload
  std::uint32_t bytes = 0;  // of payload that count
  BlockKind kind = BlockKind::kSteps;
  std::uint16_t reserved = 0;
  std::uint64_t index = 0;  // of the block in its file
  std::uint64_t reserved2 = 0;
};
static_assert(sizeof(BlockHeader) == 32);
inline constexpr std::size_t kBlockPayload = kBlockBytes - sizeof(BlockHeader);
// Records never straddle blocks.
inline constexpr std::size_t kStepsPerBlock = kBlockPayload / sizeof(StepRecord);
inline constexpr std::size_t kEventsPerBlock = kBlockPayload / sizeof(Event);

enum class GroupKind : std::uint8_t { kWorld, kTensor, kPipeline, kData, kPipelineEnds };
inline constexpr std::size_t kGroupKinds = 5;
std::string_view name_of(GroupKind kind);  // "world", "tensor", ..
std::optional<GroupKind> group_kind_of(std::string_view name);
Phase communication_phase(GroupKind kind);  // both pipeline kinds: kPipelineComm

struct Group {
  GroupKind kind = GroupKind::kWorld;
  std::vector<int> members;  // ranks of the world, in the group's order
};

struct Coordinates {
  int tensor = 0, pipeline = 0, data = 0;
  bool operator==(const Coordinates&) const = default;
};

// Block 0. Text from outside (host names) may hold anything: it is stored as valid UTF-8, what is not replaced.
struct Header {
  int version = kFormatVersion;
  std::string run;  // identifies the run directory: its absolute path when it was made
  int attempt = 1;  // of the run, from 1
  int world = 1, rank = 0;
  Coordinates at;
  int tensor = 1, pipeline = 1, data = 1;  // sizes
  int virtual_stages = 1;                  // chunks of layers a stage
  int micro_batches = 1;                   // a step and replica
  int threads = 1;                         // that compute in this rank
  std::int64_t tokens_per_step = 0;        // of the largest global batch, counted or not
  double flops_per_token = 0.0;            // of the whole model, forward and backward; 0: unknown
  std::string flops_convention;            // in words
  std::string host;
  std::string job_id;
  std::int64_t process_id = 0;
  std::int64_t started_unix_ns = 0;        // real time ..
  std::uint64_t started_monotonic_ns = 0;  // .. at this time of the events' clock
  std::vector<Group> groups;               // that this rank is a member of
};
std::string to_json(const Header& header);
// DataError that says what is wrong; `where` names the file.
Header header_of(std::string_view json, std::string_view where);

// "rank-00003.a001.trace"
std::string trace_file_name(int rank, int attempt);
std::string ring_file_name(int rank, int attempt);

}  // namespace convoy::trace

// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/format.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::trace {
namespace {

constexpr std::array<std::string_view, kPhases> kPhaseNames = {"other",
                                                               "data",
                                                               "forward",
                                                               "backward",
                                                               "optimizer",
                                                               "checkpoint",
                                                               "evaluation",
                                                               "tensor_communication",
                                                               "pipeline_communication",
                                                               "data_communication",
                                                               "world_communication",
                                                               "checkpoint_communication",
                                                               "evaluation_communication"};

constexpr std::array<std::string_view, kOperations> kOperationNames = {
    "forward",    "backward",  "backward_input", "backward_weight", "all_reduce", "reduce_scatter",
    "all_gather", "broadcast", "send",           "receive",         "barrier"};

constexpr std::array<std::string_view, kGroupKinds> kGroupNames = {"world", "tensor", "pipeline", "data",
                                                                   "pipeline_ends"};

template <typename Enum, std::size_t size>
std::optional<Enum> find(const std::array<std::string_view, size>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view name_of(Phase phase) { return kPhaseNames.at(static_cast<std::size_t>(phase)); }
std::optional<Phase> phase_of(std::string_view name) { return find<Phase>(kPhaseNames, name); }

std::string_view name_of(Operation operation) { return kOperationNames.at(static_cast<std::size_t>(operation)); }
std::optional<Operation> operation_of(std::string_view name) { return find<Operation>(kOperationNames, name); }
bool is_collective(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kReduceScatter ||
         operation == Operation::kAllGather || operation == Operation::kBarrier;
}

void set_duration(Event& event, std::uint64_t ns) {
  const std::uint64_t units = ns / Event::kDurationUnit;
  event.duration = static_cast<std::uint32_t>(std::min<std::uint64_t>(units, UINT32_MAX));
  if (units > UINT32_MAX) event.flags |= kSaturated;
}

std::string_view name_of(GroupKind kind) { return kGroupNames.at(static_cast<std::size_t>(kind)); }
std::optional<GroupKind> group_kind_of(std::string_view name) { return find<GroupKind>(kGroupNames, name); }

Phase communication_phase(GroupKind kind) {
  switch (kind) {
    case GroupKind::kTensor:
      return Phase::kTensorComm;
    case GroupKind::kPipeline:
    case GroupKind::kPipelineEnds:
      return Phase::kPipelineComm;
    case GroupKind::kData:
      return Phase::kDataComm;
    case GroupKind::kWorld:
      break;
  }
  return Phase::kWorldComm;
}

std::string trace_file_name(int rank, int attempt) { return fmt::format("rank-{:05}.a{:03}.trace", rank, attempt); }
std::string ring_file_name(int rank, int attempt) { return fmt::format("rank-{:05}.a{:03}.ring", rank, attempt); }

}  // namespace convoy::trace

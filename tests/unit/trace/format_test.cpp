// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/format.h"

#include <gtest/gtest.h>

#include <set>

namespace convoy::trace {
namespace {

TEST(TraceNames, OfPhasesAreDifferentAndReadBack) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kPhases; ++i) {
    const Phase phase = static_cast<Phase>(i);
    EXPECT_TRUE(names.insert(name_of(phase)).second);
    EXPECT_EQ(phase_of(name_of(phase)), phase);
  }
  EXPECT_EQ(phase_of("sideways"), std::nullopt);
}

TEST(TraceNames, OfOperationsAreDifferentAndReadBack) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kOperations; ++i) {
    const Operation operation = static_cast<Operation>(i);
    EXPECT_TRUE(names.insert(name_of(operation)).second);
    EXPECT_EQ(operation_of(name_of(operation)), operation);
  }
  EXPECT_EQ(operation_of(""), std::nullopt);
}

TEST(TraceNames, OfFilesHaveRankAndAttempt) {
  EXPECT_EQ(trace_file_name(3, 1), "rank-00003.a001.trace");
  EXPECT_EQ(ring_file_name(12345, 12), "rank-12345.a012.ring");
}

TEST(TracePhases, OfCommunicationAreByGroup) {
  EXPECT_EQ(communication_phase(GroupKind::kPipelineEnds), Phase::kPipelineComm);
  EXPECT_EQ(communication_phase(GroupKind::kWorld), Phase::kWorldComm);
  EXPECT_TRUE(is_communication(Phase::kTensorComm));
  EXPECT_FALSE(is_communication(Phase::kEvaluation));
}

}  // namespace
}  // namespace convoy::trace

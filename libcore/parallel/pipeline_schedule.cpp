// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/pipeline_schedule.h"

#include <algorithm>
#include <utility>

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

// What a stage computes at one time.
struct Part {
  int micro_batch = 0, chunk = 0;
};

// Appends one stage's actions, with the messages that the chunk's place in the model asks for.
class ListWriter {
 public:
  ListWriter(int stages, int micro_batches, int stage, int chunks)
      : micro_batches_(micro_batches), chunks_(chunks), first_(stage == 0), last_(stage == stages - 1) {
    check(stages >= 1 && stage >= 0 && stage < stages, "a schedule is for one of the stages");
    check(micro_batches >= 1 && chunks >= 1, "a schedule has micro-batches, and a stage has a chunk");
  }

  void forward(const Part& part) {
    if (!first_ || part.chunk > 0) add(ActionKind::kReceiveForward, part);
    add(ActionKind::kForward, part);
    if (!ends_model(part)) add(ActionKind::kSendForward, part);
  }

  // The stage before waits for the gradient of the input, so that leaves before the gradients of the weights are made.
  void backward(const Part& part) {
    if (!ends_model(part)) add(ActionKind::kReceiveBackward, part);
    add(ActionKind::kBackwardInput, part);
    if (!first_ || part.chunk > 0) add(ActionKind::kSendBackward, part);
    add(ActionKind::kBackwardWeight, part);
  }

  std::vector<Action> take() { return std::move(actions_); }

 private:
  bool ends_model(const Part& part) const { return last_ && part.chunk == chunks_ - 1; }
  void add(ActionKind kind, const Part& part) {
    if (part.micro_batch < micro_batches_) actions_.push_back({kind, part.micro_batch, part.chunk});
  }

  int micro_batches_, chunks_;
  bool first_, last_;
  std::vector<Action> actions_;
};

// How many micro-batches a stage forwards before its first backward: GPipe all; 1F1B as many as the pipeline behind it
// takes, and one. Interleaved, the first gradient comes when the chunks before the last have had a group, and a stage
// is ahead of the one behind it by a forward for each of the two ways.
int forwards_first(ScheduleKind kind, int stages, int micro_batches, int stage, int chunks) {
  switch (kind) {
    case ScheduleKind::kGpipe:
      return micro_batches;
    case ScheduleKind::kOneForwardOneBackward:
      return std::min(micro_batches, stages - stage);
    case ScheduleKind::kInterleaved:
      return std::min(micro_batches * chunks, (chunks - 1) * stages + 2 * (stages - 1 - stage) + 1);
  }
  throw InternalError("unknown kind of schedule");
}

// Micro-batches in groups, each through all chunks, from the last one in backward.
std::vector<Part> order_of(int micro_batches, int group, int chunks, bool backward) {
  std::vector<Part> parts;
  for (int first = 0; first < micro_batches; first += group) {
    for (int c = 0; c < chunks; ++c) {
      for (int i = first; i < std::min(micro_batches, first + group); ++i)
        parts.push_back({i, backward ? chunks - 1 - c : c});
    }
  }
  return parts;
}

}  // namespace

std::vector<Action> pipeline_schedule(ScheduleKind kind, int stages, int micro_batches, int stage, int virtual_stages) {
  check(virtual_stages == 1 || kind == ScheduleKind::kInterleaved, "a stage has one chunk unless they are interleaved");
  ListWriter list(stages, micro_batches, stage, virtual_stages);
  const bool interleaved = kind == ScheduleKind::kInterleaved;
  const int counted = interleaved ? (micro_batches + stages - 1) / stages * stages : micro_batches;
  const std::vector<Part> forwards = order_of(counted, stages, virtual_stages, false);
  const std::vector<Part> backwards = order_of(counted, stages, virtual_stages, true);
  const auto ahead = static_cast<std::size_t>(forwards_first(kind, stages, counted, stage, virtual_stages));
  for (std::size_t i = 0; i < ahead; ++i) list.forward(forwards[i]);
  for (std::size_t i = 0; i < backwards.size(); ++i) {
    list.backward(backwards[i]);
    if (ahead + i < forwards.size()) list.forward(forwards[ahead + i]);
  }
  return list.take();
}

std::vector<Action> forward_schedule(int stages, int micro_batches, int stage, int virtual_stages) {
  ListWriter list(stages, micro_batches, stage, virtual_stages);
  for (const Part& part : order_of(micro_batches, stages, virtual_stages, false)) list.forward(part);
  return list.take();
}

std::vector<int> activation_sets(const std::vector<Action>& actions) {
  std::vector<int> in_flight, most;
  for (const Action& action : actions) {
    const auto chunk = static_cast<std::size_t>(action.chunk);
    if (chunk >= most.size()) most.resize(chunk + 1), in_flight.resize(chunk + 1);
    if (action.kind == ActionKind::kForward) most[chunk] = std::max(most[chunk], ++in_flight[chunk]);
    if (action.kind == ActionKind::kBackwardWeight) --in_flight[chunk];
  }
  return most;
}

}  // namespace convoy::parallel

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "libcore/parallel/mesh.h"

namespace convoy::parallel {
namespace {

using Problems = std::vector<std::string>;

std::string flag(std::string_view name, std::int64_t value) { return fmt::format("--{} {}", name, value); }

// The legal values next to `value`, below and above: "2, 4". `largest` bounds the search.
std::string nearest(std::int64_t value, std::int64_t largest, const std::function<bool(std::int64_t)>& legal) {
  std::vector<std::int64_t> values;
  for (std::int64_t v = std::min(value - 1, largest); v >= 1; --v) {
    if (!legal(v)) continue;
    values.push_back(v);
    break;
  }
  for (std::int64_t v = std::max(value + 1, std::int64_t{1}); v <= largest; ++v) {
    if (!legal(v)) continue;
    values.push_back(v);
    break;
  }
  return values.empty() ? "none" : fmt::format("{}", fmt::join(values, ", "));
}

bool below_one(std::string_view name, std::int64_t value, Problems& problems) {
  if (value >= 1) return false;
  problems.push_back(fmt::format("{}: it must be at least 1; nearest legal values: 1", flag(name, value)));
  return true;
}

// An extent of 0 is not known and asks for nothing.
bool divides(std::int64_t extent, std::int64_t parts) { return extent % parts == 0; }
bool covers(std::int64_t extent, std::int64_t parts) { return extent == 0 || extent >= parts; }

// A rank has whole key/value heads, or shares one with its neighbours.
bool key_value_heads_are_legal(std::int64_t heads, std::int64_t tensor) {
  return divides(heads, tensor) || divides(tensor, heads);
}

bool tensor_is_legal(const ModelExtents& model, std::int64_t tensor) {
  return divides(model.heads, tensor) && key_value_heads_are_legal(model.key_value_heads, tensor) &&
         covers(model.vocabulary, tensor) && covers(model.ffn_width, tensor);
}

void add_tensor_problems(std::int64_t tensor, const ModelExtents& model, Problems& problems) {
  const std::string given = flag("tensor-parallel", tensor);
  const std::int64_t largest = std::max({model.heads, model.key_value_heads, model.ffn_width, model.vocabulary});
  const auto add = [&](const std::string& rule) {
    const auto legal = [&model](std::int64_t t) { return tensor_is_legal(model, t); };
    problems.push_back(fmt::format("{}: {}; nearest legal values: {}", given, rule, nearest(tensor, largest, legal)));
  };
  if (!divides(model.heads, tensor)) add(fmt::format("{} heads are not divisible by it", model.heads));
  if (model.key_value_heads != model.heads && !key_value_heads_are_legal(model.key_value_heads, tensor))
    add(fmt::format("{} key/value heads are not divisible by it, nor it by them", model.key_value_heads));
  if (!covers(model.vocabulary, tensor))
    add(fmt::format("a vocabulary of {} leaves a rank without rows", model.vocabulary));
  if (!covers(model.ffn_width, tensor))
    add(fmt::format("an ffn width of {} leaves a rank without any", model.ffn_width));
}

void add_sequence_problems(const Layout& layout, Problems& problems) {
  if (!layout.sequence_parallel || layout.tensor != 1) return;
  problems.push_back(
      "--sequence-parallel: rows are shared by tensor-parallel ranks, and there is 1; nearest legal values: "
      "--tensor-parallel 2, or without it");
}

void add_world_problems(const Layout& layout, int world, Problems& problems) {
  const std::int64_t product = std::int64_t{layout.tensor} * layout.pipeline;
  if (world % product != 0) {
    const auto legal = [world](std::int64_t p) { return world % p == 0; };
    problems.push_back(
        fmt::format("{} x {}: {} rank{} cannot be divided into replicas of {}; nearest legal values of the product: {}",
                    flag("tensor-parallel", layout.tensor), flag("pipeline-parallel", layout.pipeline), world,
                    world == 1 ? "" : "s", product, nearest(product, world, legal)));
  } else if (product * layout.data != world) {
    problems.push_back(fmt::format("{} replicas of {} ranks each are not {} rank{}; nearest legal values: {}",
                                   layout.data, product, world, world == 1 ? "" : "s", world / product));
  }
}

void add_stage_problems(const Layout& layout, std::int64_t layers, Problems& problems) {
  const std::int64_t stages = layout.pipeline, chunks = stages * layout.virtual_stages;
  if (layers == 0 || chunks <= layers) return;
  const std::string leave = fmt::format("{} layer{} leave{}", layers, layers == 1 ? "" : "s", layers == 1 ? "s" : "");
  if (stages > layers) {
    problems.push_back(fmt::format("{}: {} a stage without any; nearest legal values: {}",
                                   flag("pipeline-parallel", stages), leave, layers));
  } else {
    problems.push_back(fmt::format("{}: {} a chunk of {} stages without any; nearest legal values: {}",
                                   flag("virtual-stages", layout.virtual_stages), leave, stages, layers / stages));
  }
}

void add_schedule_problems(const Layout& layout, Problems& problems) {
  const bool interleaved = layout.schedule == ScheduleKind::kInterleaved;
  const std::string chunks = flag("virtual-stages", layout.virtual_stages);
  if (interleaved && layout.virtual_stages < 2)
    problems.push_back(fmt::format(
        "--schedule interleaved: with {} there is nothing to interleave; nearest legal values: --virtual-stages 2, or "
        "--schedule 1f1b",
        chunks));
  if (!interleaved && layout.virtual_stages > 1)
    problems.push_back(
        fmt::format("{}: several chunks a stage are those of --schedule interleaved; nearest legal values: "
                    "1, or --schedule interleaved",
                    chunks));
  if (interleaved && layout.pipeline == 1)
    problems.push_back(
        "--schedule interleaved: it is that of several stages; nearest legal values: --pipeline-parallel 2, or "
        "--schedule 1f1b");
}

void add_split_problems(const Layout& layout, std::int64_t layers, Problems& problems) {
  const std::vector<std::int64_t>& split = layout.pipeline_split;
  if (split.empty() || layers == 0) return;
  const std::int64_t parts = std::int64_t{layout.pipeline} * layout.virtual_stages;
  const char* part = layout.virtual_stages > 1 ? "chunk" : "stage";
  std::string even = "none";
  if (parts <= layers) {
    std::vector<std::int64_t> counts;
    for (std::int64_t i = 0; i < parts; ++i) counts.push_back(partition(layers, parts, i).size());
    even = fmt::format("{}", fmt::join(counts, ","));
  }
  const auto add = [&](const std::string& rule) {
    problems.push_back(
        fmt::format("--pipeline-split {}: {}; nearest legal values: {}", fmt::join(split, ","), rule, even));
  };
  if (static_cast<std::int64_t>(split.size()) != parts)
    add(fmt::format("{} {} for {} {}{}", split.size(), split.size() == 1 ? "entry" : "entries", parts, part,
                    parts == 1 ? "" : "s"));
  if (std::any_of(split.begin(), split.end(), [](std::int64_t count) { return count < 1; }))
    add(fmt::format("each {} needs at least 1 layer", part));
  std::int64_t sum = 0;
  bool within = true;  // of what can be added up
  for (const std::int64_t count : split) within = within && !__builtin_add_overflow(sum, count, &sum);
  if (!within || sum != layers)
    add(within ? fmt::format("it has {} layers, the model {}", sum, layers)
               : fmt::format("it has more layers than the model's {}", layers));
}

// The divisors of a replica's samples on both sides of `micro_batch`.
std::string nearest_micro_batches(std::int64_t samples, std::int64_t micro_batch) {
  std::int64_t below = 0, above = 0;
  for (std::int64_t d = 1; d <= samples / d; ++d) {
    if (samples % d != 0) continue;
    for (const std::int64_t divisor : {d, samples / d}) {
      if (divisor < micro_batch) below = std::max(below, divisor);
      if (divisor > micro_batch && (above == 0 || divisor < above)) above = divisor;
    }
  }
  std::vector<std::int64_t> values;
  if (below > 0) values.push_back(below);
  if (above > 0) values.push_back(above);
  return fmt::format("{}", fmt::join(values, ", "));
}

void add_batch_problems(std::int64_t replicas, std::int64_t global, std::int64_t micro, Problems& problems) {
  std::int64_t unit = 0;
  if (__builtin_mul_overflow(replicas, micro, &unit)) unit = 0;
  if (unit > 0 && global % unit == 0) return;
  std::string batches = "none";
  if (unit > 0) {
    std::int64_t above = 0;
    const std::int64_t below = global / unit * unit;
    const bool has_above = !__builtin_add_overflow(below, unit, &above);
    batches = fmt::format("{}{}{}", below > 0 ? fmt::format("{}", below) : "", below > 0 && has_above ? ", " : "",
                          has_above ? fmt::format("{}", above) : "");
  }
  const std::string micro_batches =
      global % replicas == 0
          ? fmt::format("; with this batch, nearest legal values of --micro-batch-size: {}",
                        nearest_micro_batches(global / replicas, micro))
          : fmt::format("; no micro-batch size makes {} sequences divide into {} replicas", global, replicas);
  problems.push_back(fmt::format("{}: not divisible by {} replica{} x {}; nearest legal values: {}{}",
                                 flag("global-batch-size", global), replicas, replicas == 1 ? "" : "s",
                                 flag("micro-batch-size", micro), batches, micro_batches));
}

}  // namespace

std::vector<std::string> layout_problems(const Layout& layout, int world, const ModelExtents& model,
                                         std::int64_t global_batch, std::int64_t micro_batch) {
  Problems problems;
  const bool has_tensor = !below_one("tensor-parallel", layout.tensor, problems);
  const bool has_pipeline = !below_one("pipeline-parallel", layout.pipeline, problems);
  const bool has_mesh = has_tensor && has_pipeline;
  if (has_tensor) add_tensor_problems(layout.tensor, model, problems);
  add_sequence_problems(layout, problems);
  const bool has_chunks = !below_one("virtual-stages", layout.virtual_stages, problems);
  if (has_pipeline && has_chunks) {
    add_schedule_problems(layout, problems);
    add_stage_problems(layout, model.layers, problems);
    add_split_problems(layout, model.layers, problems);
  }
  if (has_mesh) add_world_problems(layout, world, problems);
  if (layout.zero < 0 || layout.zero > 3) {
    problems.push_back(
        fmt::format("{}: replicas share nothing (0), the optimizer's states (1), these and the gradients (2), or the "
                    "weights too (3); nearest legal values: {}",
                    flag("zero", layout.zero), layout.zero < 0 ? 0 : 3));
  }
  const bool has_global = !below_one("global-batch-size", global_batch, problems);
  const bool has_micro = !below_one("micro-batch-size", micro_batch, problems);
  // What is left over for data parallelism is known only where the ranks divide.
  const std::int64_t replica = has_mesh ? std::int64_t{layout.tensor} * layout.pipeline : 0;
  if (has_global && has_micro && has_mesh && world % replica == 0)
    add_batch_problems(world / replica, global_batch, micro_batch, problems);
  return problems;
}

}  // namespace convoy::parallel

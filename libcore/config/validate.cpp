// SPDX-License-Identifier: Apache-2.0
#include "libcore/config/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "libcore/base/error.h"

namespace convoy::config {
namespace {

constexpr std::int64_t kLargestDefaultMicroBatch = 8;

std::int64_t default_micro_batch(std::int64_t global_batch) {
  for (std::int64_t b = std::min(kLargestDefaultMicroBatch, global_batch); b > 1; --b) {
    if (global_batch % b == 0) return b;
  }
  return 1;
}

std::int64_t sequence_length(const RunOptions& options, const ModelFacts& model) {
  return options.model.sequence_length.value_or(std::min(model.positions, kLongestDefaultSequence));
}

// Empty where there is none, or none that can be read.
std::vector<RampPoint> ramp_of(const BatchOptions& batch) {
  std::vector<RampPoint> ramp;
  if (!batch.ramp.empty() && !parse_ramp(batch.ramp, ramp).empty()) ramp.clear();
  return ramp;
}

GlobalBatches batches_of(const BatchOptions& batch, std::int64_t length) {
  const std::vector<RampPoint> ramp = ramp_of(batch);
  return ramp.empty() ? GlobalBatches(batch.global_batch.value_or(kDefaultGlobalBatch)) : GlobalBatches(ramp, length);
}

std::int64_t largest_batch(const BatchOptions& batch) {
  const std::vector<RampPoint> ramp = ramp_of(batch);
  return ramp.empty() ? batch.global_batch.value_or(kDefaultGlobalBatch) : ramp.back().batch;
}

// What every global batch of the run is a multiple of.
std::int64_t common_batch(const BatchOptions& batch) {
  const std::vector<RampPoint> ramp = ramp_of(batch);
  std::int64_t common = ramp.empty() ? largest_batch(batch) : 0;
  for (const RampPoint& point : ramp) common = std::gcd(common, point.batch);
  return common;
}

// 0 where neither --steps nor --tokens is given, or T is not known.
std::int64_t resolved_steps(const RunOptions& options, std::int64_t length) {
  if (options.batch.steps) return *options.batch.steps;
  std::int64_t per_step = 0;
  if (__builtin_mul_overflow(largest_batch(options.batch), length, &per_step)) return 0;  // validate() says so
  if (!options.batch.tokens || per_step <= 0) return 0;
  return batches_of(options.batch, length)
      .steps_to(*options.batch.tokens / length + (*options.batch.tokens % length == 0 ? 0 : 1));
}

void check_length(const BatchOptions& batch, std::vector<std::string>& problems) {
  if (batch.steps && batch.tokens) {
    problems.push_back("--steps and --tokens are both given: each sets the length of the run, keep one");
  } else if (!batch.steps && !batch.tokens) {
    problems.push_back("the length of the run is not given: add --steps N or --tokens N");
  }
}

// Data parallelism is what is left of the world.
parallel::Layout layout_of(const RunOptions& options, int world) {
  const LayoutOptions& choice = options.layout;
  parallel::Layout layout;
  layout.tensor = static_cast<int>(choice.tensor_parallel);
  layout.pipeline = static_cast<int>(choice.pipeline_parallel);
  layout.data =
      static_cast<int>(std::max<std::int64_t>(1, world / (choice.tensor_parallel * choice.pipeline_parallel)));
  layout.zero = static_cast<int>(choice.zero);
  for (const auto kind : {parallel::ScheduleKind::kGpipe, parallel::ScheduleKind::kInterleaved}) {
    if (choice.schedule == parallel::name_of(kind)) layout.schedule = kind;
  }
  layout.virtual_stages = static_cast<int>(choice.virtual_stages);
  layout.sequence_parallel = choice.sequence_parallel;
  layout.rank_order = parallel::rank_order_of(choice.rank_order);
  if (!choice.pipeline_split.empty()) parse_split(choice.pipeline_split, layout.pipeline_split);
  return layout;
}

std::int64_t resolved_micro_batch(const BatchOptions& batch, const parallel::Layout& layout) {
  return batch.micro_batch.value_or(default_micro_batch(std::max<std::int64_t>(1, common_batch(batch) / layout.data)));
}

// Extents of 0 are not known and ask for nothing.
parallel::ModelExtents extents_of(const std::optional<ModelFacts>& model) {
  if (!model) return {};
  return {model->layers, model->heads, model->key_value_heads, model->ffn_width, model->vocabulary};
}

// 0 if it is more than can be counted.
std::int64_t divisor_of_batches(const BatchOptions& batch, const parallel::Layout& layout) {
  std::int64_t unit = 0;
  return __builtin_mul_overflow(resolved_micro_batch(batch, layout), layout.data, &unit) ? 0 : unit;
}

// What the layout is asked about: of a ramp a size that divides, because check_ramp() speaks of those that do not.
std::int64_t batch_to_divide(const BatchOptions& batch, const parallel::Layout& layout) {
  return ramp_of(batch).empty() ? largest_batch(batch) : std::max<std::int64_t>(1, divisor_of_batches(batch, layout));
}

void check_ramp(const BatchOptions& batch, const parallel::Layout& layout, std::vector<std::string>& problems) {
  if (batch.ramp.empty()) return;
  std::vector<RampPoint> ramp;
  if (const std::string problem = parse_ramp(batch.ramp, ramp); !problem.empty()) {
    problems.push_back(fmt::format("--batch-ramp '{}' {}", batch.ramp, problem));
    return;
  }
  if (batch.global_batch) {
    problems.push_back(
        fmt::format("--global-batch-size {} and --batch-ramp {} are both given: the ramp says what every step takes; "
                    "drop one of the two",
                    *batch.global_batch, batch.ramp));
  }
  const std::int64_t unit = divisor_of_batches(batch, layout);
  for (const RampPoint& point : ramp) {
    if (unit > 0 && point.batch % unit == 0) continue;
    const std::int64_t below = unit > 0 ? point.batch / unit * unit : 0;
    const bool has_above = unit > 0 && below <= std::numeric_limits<std::int64_t>::max() - unit;
    problems.push_back(fmt::format(
        "--batch-ramp {}: its {} sequences are not divisible by {} replica{} x --micro-batch-size {}; nearest legal "
        "values: {}{}{}",
        batch.ramp, point.batch, layout.data, layout.data == 1 ? "" : "s", resolved_micro_batch(batch, layout),
        below > 0 ? fmt::format("{}", below) : "", below > 0 && has_above ? ", " : "",
        has_above ? fmt::format("{}", below + unit) : ""));
  }
}

void check_layout(const RunOptions& options, const Facts& facts, std::vector<std::string>& problems) {
  const LayoutOptions& choice = options.layout;
  const int world = facts.machine.world;
  if (choice.expect_world && *choice.expect_world != world) {
    problems.push_back(
        fmt::format("--expect-world {}: the job has {} rank{}; start {} ranks (srun --ntasks={}, mpirun -n {}), or "
                    "expect {}",
                    *choice.expect_world, world, world == 1 ? "" : "s", *choice.expect_world, *choice.expect_world,
                    *choice.expect_world, world));
  }
  std::vector<std::int64_t> split;
  if (const std::string problem = choice.pipeline_split.empty() ? "" : parse_split(choice.pipeline_split, split);
      !problem.empty()) {
    problems.push_back(fmt::format("--pipeline-split '{}' {}", choice.pipeline_split, problem));
    return;
  }
  const parallel::Layout layout = layout_of(options, world);
  for (std::string& problem :
       parallel::layout_problems(layout, world, extents_of(facts.model), batch_to_divide(options.batch, layout),
                                 resolved_micro_batch(options.batch, layout))) {
    problems.push_back(std::move(problem));
  }
  check_ramp(options.batch, layout, problems);
}

void check_faults(const std::vector<std::string>& faults, int world, std::vector<std::string>& problems) {
  for (const std::string& text : faults) {
    Fault fault;
    if (const std::string problem = parse_fault(text, fault); !problem.empty()) {
      problems.push_back(fmt::format("--fault '{}' {}", text, problem));
    } else if (fault.rank >= world) {
      problems.push_back(
          fmt::format("--fault '{}' names rank {}: the job's ranks are 0 to {}", text, fault.rank, world - 1));
    }
  }
}

// Counters of tokens and samples are 64 bits wide.
void check_total(const RunOptions& options, std::int64_t length, std::int64_t steps,
                 std::vector<std::string>& problems) {
  std::int64_t tokens = 0;
  const std::int64_t largest = largest_batch(options.batch);
  if (!__builtin_mul_overflow(largest, length, &tokens) &&
      !__builtin_mul_overflow(tokens, std::max<std::int64_t>(steps, 1), &tokens) &&
      !(options.batch.tokens && *options.batch.tokens > std::numeric_limits<std::int64_t>::max() - tokens)) {
    return;
  }
  problems.push_back(
      fmt::format("a global batch of {} sequences of {} tokens each, over the whole run, is more than 2^63 - 1 tokens: "
                  "lower {}, --steps or --tokens",
                  largest, length, options.batch.ramp.empty() ? "--global-batch-size" : "--batch-ramp"));
}

// The decay of wsd takes its share of what the warm-up must have left.
void check_wsd(const OptimizerOptions& optimizer, std::int64_t end, std::vector<std::string>& problems) {
  if (optimizer.schedule != "wsd" || end <= 0) return;
  const std::int64_t start = wsd_decay_start(end, optimizer.wsd_decay_share);
  if (optimizer.warmup_steps <= start) return;
  problems.push_back(
      fmt::format("--wsd-decay-share {}: the decay would begin at update {} of {}, before --warmup-steps {} are over; "
                  "the largest legal value of --warmup-steps is {}",
                  optimizer.wsd_decay_share, start, end, optimizer.warmup_steps, start));
}

void check_schedule(const RunOptions& options, std::int64_t steps, std::vector<std::string>& problems) {
  const OptimizerOptions& optimizer = options.optimizer;
  const std::int64_t warmup = optimizer.warmup_steps;
  if (optimizer.min_lr && *optimizer.min_lr > optimizer.lr) {
    problems.push_back(
        fmt::format("--min-lr {} is above --lr {}: the rate would rise while it decays; the largest legal "
                    "value is {}",
                    *optimizer.min_lr, optimizer.lr, optimizer.lr));
  }
  if (steps > 0 && warmup > steps) {
    problems.push_back(
        fmt::format("--warmup-steps {} is beyond the run's {} steps: the peak rate would never be reached; "
                    "the largest legal value is {}",
                    warmup, steps, steps));
  }
  const bool decays = optimizer.schedule == "cosine" || optimizer.schedule == "linear";
  if (decays && optimizer.decay_steps && *optimizer.decay_steps < warmup) {
    problems.push_back(
        fmt::format("--decay-steps {} ends before --warmup-steps {} does: the decay counts from step 0, "
                    "warm-up included; the smallest legal value is {}",
                    *optimizer.decay_steps, warmup, warmup));
  }
  check_wsd(optimizer, optimizer.decay_steps.value_or(steps), problems);
}

void check_model(const RunOptions& options, const ModelFacts& model, std::vector<std::string>& problems) {
  const std::int64_t length = sequence_length(options, model);
  if (length > model.positions) {
    problems.push_back(
        fmt::format("--sequence-length {} is beyond the {} positions of model '{}': the largest legal value is {}",
                    length, model.positions, model.name, model.positions));
  }
  if (model.dropout < 1.0) return;
  const std::string source = options.model.dropout
                                 ? fmt::format("--dropout {}", *options.model.dropout)
                                 : fmt::format("a dropout rate of model '{}' is {}", model.name, model.dropout);
  problems.push_back(source + ": nothing would be left to train on; give --dropout a rate of at least 0 and below 1");
}

void check_data(const DataFacts& data, const ModelFacts& model, std::int64_t length, Problems& problems) {
  const std::string what = data.name.empty() ? "--data" : "--valid-data";
  if (data.largest_id && *data.largest_id >= model.vocabulary) {
    problems.data.push_back(fmt::format(
        "{} {}: holds token id {}, but the vocabulary of model '{}' has {} entries (ids 0 to {}): train a model whose "
        "vocabulary is at least {}, or encode with the model's own tokenizer",
        what, data.prefix, *data.largest_id, model.name, model.vocabulary, model.vocabulary - 1, *data.largest_id + 1));
  }
  if (length <= model.positions && data.tokens < length + 1) {
    problems.data.push_back(fmt::format(
        "{} {}: holds {} tokens, but one sample takes --sequence-length {} and one more: give more data or a sequence "
        "length of at most {}",
        what, data.prefix, data.tokens, length, std::max<std::int64_t>(data.tokens - 1, 0)));
  }
}

void check_sets(const RunOptions& options, std::vector<std::string>& problems) {
  if (options.data.data.empty()) problems.push_back("no training data: add --data PREFIX (PREFIX.bin and PREFIX.idx)");
  const std::size_t sets = options.data.data.size(), weights = options.data.weights.size();
  if (weights > 0 && weights != sets) {
    problems.push_back(fmt::format("--data-weights has {} number{} for {} --data: give one for each, in their order",
                                   weights, weights == 1 ? "" : "s", sets));
  }
  std::set<std::string> names;
  for (const std::string& text : options.data.valid_data) {
    const auto [name, prefix] = named_prefix(text);
    if (name.empty() || prefix.empty()) {
      problems.push_back(fmt::format("--valid-data {}: expected PREFIX or NAME=PREFIX", text));
    } else if (!names.insert(name).second) {
      problems.push_back(
          fmt::format("--valid-data {}: a second validation set is called '{}'; give one a name of its own: "
                      "NAME={}",
                      text, name, prefix));
    }
  }
}

void check_output(const RunOptions& options, std::int64_t steps, std::vector<std::string>& problems) {
  const OutputOptions& output = options.output;
  Cadence cadence;
  if (output.out.empty()) problems.push_back("no run directory: add --out RUN");
  if (!output.checkpoint_every.empty()) {
    const std::string problem = parse_cadence(output.checkpoint_every, cadence);
    if (!problem.empty())
      problems.push_back(fmt::format("--checkpoint-every '{}' {}", output.checkpoint_every, problem));
  }
  if (output.eval_every > 0 && options.data.valid_data.empty()) {
    problems.push_back(
        fmt::format("--eval-every {} without anything to evaluate on: add --valid-data PREFIX", output.eval_every));
  }
  if (output.dump_gradients && steps > 0 && *output.dump_gradients > steps) {
    problems.push_back(fmt::format("--dump-gradients {} is beyond the run's {} steps: the largest legal value is {}",
                                   *output.dump_gradients, steps, steps));
  }
}

void check_precision(const DeviceOptions& device, std::vector<std::string>& problems) {
  std::optional<double> fixed;
  if (const std::string problem = parse_loss_scale(device.loss_scale, fixed); !problem.empty()) {
    problems.push_back(fmt::format("--loss-scale '{}' {}", device.loss_scale, problem));
  } else if (fixed && device.precision != "fp16") {
    problems.push_back(
        fmt::format("--loss-scale {} with --precision {}: it keeps gradients in the range of fp16, and nothing would "
                    "be scaled; drop it, or add --precision fp16",
                    device.loss_scale, device.precision));
  }
}

void check_machine(const RunOptions& options, const MachineFacts& machine, std::vector<std::string>& problems) {
  const DeviceOptions& device = options.device;
  if (device.device == "cuda" && !machine.has_cuda) {
    problems.push_back("--device cuda: this build has no CUDA backend; use --device cpu or auto");
  }
  const bool from_environment = !device.threads && machine.omp_threads;
  const std::int64_t threads = device.threads.value_or(machine.omp_threads.value_or(1));
  const std::int64_t legal = std::max(1, machine.cores / machine.ranks_sharing);
  if (threads > 1 && threads > legal && !device.oversubscribe) {
    const std::string sharing = machine.ranks_sharing == 1
                                    ? ""
                                    : fmt::format(" by each of the {} ranks that share them", machine.ranks_sharing);
    problems.push_back(
        fmt::format("{} {}{} exceeds the {} core{} that this process may use, which would make it slower: the largest "
                    "legal value is {}, or add --oversubscribe",
                    from_environment ? "OMP_NUM_THREADS" : "--threads", threads, sharing, machine.cores,
                    machine.cores == 1 ? "" : "s", legal));
  }
}

void check_resume(const RunOptions& options, std::vector<std::string>& problems) {
  if (options.resume.from.empty() || options.model.init_from.empty()) return;
  problems.push_back(
      "--resume-from and --init-from are both given: the first continues another run with its full state, the second "
      "takes weights alone; keep one");
}

void check_observation(const ObservationOptions& options, std::int64_t steps, std::vector<std::string>& problems) {
  const std::string& text = options.trace_window;
  trace::Window window;
  if (text.empty()) {
    if (options.trace == "window")
      problems.push_back("--trace window: which steps is not said; add --trace-window FIRST-LAST");
    return;
  }
  if (const std::string problem = parse_steps(text, window); !problem.empty()) {
    problems.push_back(fmt::format("--trace-window '{}' {}", text, problem));
  } else if (steps > 0 && window.first > steps) {
    problems.push_back(fmt::format(
        "--trace-window {} begins beyond the run's {} steps: the largest legal first step is {}", text, steps, steps));
  }
  if (options.trace == "off") {
    problems.push_back(fmt::format(
        "--trace off with --trace-window {}: nothing would be recorded of these steps; drop one of the two", text));
  }
}

// Ids of another tokenizer are other text. Sets that do not say whose they are (foreign ones) are taken as they are.
void check_tokenizers(const Facts& facts, std::vector<std::string>& problems) {
  const DataFacts* known = nullptr;
  for (const std::vector<DataFacts>* sets : {&facts.train, &facts.valid}) {
    for (const DataFacts& set : *sets) {
      if (set.tokenizer.empty()) continue;
      if (known == nullptr) known = &set;
      if (set.tokenizer == known->tokenizer) continue;
      problems.push_back(fmt::format(
          "{} was encoded with another tokenizer than {}, so the same ids are different text (SHA-256 {:.12}.. and "
          "{:.12}..): encode both with one",
          set.prefix, known->prefix, set.tokenizer, known->tokenizer));
    }
  }
}

std::optional<std::int32_t> end_of_text(const RunOptions& options, const Facts& facts) {
  if (!facts.train.empty() && facts.train.front().eos_id) return facts.train.front().eos_id;
  if (facts.model && facts.model->eos_id) return facts.model->eos_id;
  if (options.data.eos_id) return static_cast<std::int32_t>(*options.data.eos_id);
  return std::nullopt;
}

void check_end_of_text(const RunOptions& options, const Facts& facts, std::vector<std::string>& problems) {
  if (!options.data.mask_loss_after_eos || facts.train.empty() || !facts.model) return;
  for (const DataFacts& set : facts.train) {
    if (set.eos_id == facts.train.front().eos_id) continue;
    const auto shown = [](const DataFacts& data) {
      return data.eos_id ? fmt::format("{}", *data.eos_id) : std::string("no end-of-text token");
    };
    problems.push_back(fmt::format("--mask-loss-after-eos: {} names {}, {} names {}: blend sets that were made alike",
                                   facts.train.front().prefix, shown(facts.train.front()), set.prefix, shown(set)));
    return;
  }
  if (const auto id = end_of_text(options, facts)) {
    if (*id < facts.model->vocabulary) return;
    problems.push_back(
        fmt::format("--mask-loss-after-eos: the end-of-text token {} is beyond the vocabulary of model '{}' (ids 0 to "
                    "{}), so nothing would be masked",
                    *id, facts.model->name, facts.model->vocabulary - 1));
    return;
  }
  problems.push_back(
      "--mask-loss-after-eos: neither the data nor the model's config.json names an end-of-text token; add "
      "--eos-id N");
}

}  // namespace

void validate(const RunOptions& options, const Facts& facts, Problems& problems) {
  const std::int64_t length =
      facts.model ? sequence_length(options, *facts.model) : options.model.sequence_length.value_or(0);
  const std::int64_t steps = resolved_steps(options, length);
  if (options.model.model.empty() && options.model.init_from.empty()) {
    problems.usage.push_back("no model: add --model PRESET or --model config.json, or --init-from FOLDER");
  }
  check_sets(options, problems.usage);
  check_length(options.batch, problems.usage);
  check_layout(options, facts, problems.usage);
  check_total(options, length, steps, problems.usage);
  check_schedule(options, steps, problems.usage);
  check_output(options, steps, problems.usage);
  check_machine(options, facts.machine, problems.usage);
  check_precision(options.device, problems.usage);
  check_resume(options, problems.usage);
  check_observation(options.observation, steps, problems.usage);
  check_faults(options.rehearsal.faults, facts.machine.world, problems.usage);
  check_end_of_text(options, facts, problems.usage);
  check_tokenizers(facts, problems.data);
  if (!facts.model) return;
  check_model(options, *facts.model, problems.usage);
  for (const DataFacts& data : facts.train) check_data(data, *facts.model, length, problems);
  for (const DataFacts& data : facts.valid) check_data(data, *facts.model, length, problems);
}

void validate_layout(const RunOptions& options, const Facts& facts, std::vector<std::string>& problems) {
  check_layout(options, facts, problems);
}

void throw_if_any(const Problems& problems) {
  if (problems.empty()) return;
  std::vector<std::string> all = problems.usage;
  all.insert(all.end(), problems.data.begin(), problems.data.end());
  const ConfigError joined(all);
  if (!problems.usage.empty()) throw joined;
  throw DataError(joined.what());
}

Resolved resolve(const RunOptions& options, const Facts& facts) {
  check(facts.model.has_value(), "a validated run has a model");
  Resolved resolved;
  resolved.sequence_length = sequence_length(options, *facts.model);
  resolved.batches = batches_of(options.batch, resolved.sequence_length);
  resolved.global_batch = resolved.batches.largest();
  resolved.layout = layout_of(options, facts.machine.world);
  resolved.micro_batch = resolved_micro_batch(options.batch, resolved.layout);
  resolved.micro_batches = resolved.global_batch / resolved.layout.data / resolved.micro_batch;
  resolved.steps = resolved_steps(options, resolved.sequence_length);
  resolved.decay_steps = options.optimizer.decay_steps.value_or(resolved.steps);
  resolved.min_lr = options.optimizer.min_lr.value_or(options.optimizer.lr / 10.0);
  resolved.threads = static_cast<int>(
      options.device.threads.value_or(facts.machine.omp_threads.value_or(facts.machine.default_threads)));
  parse_loss_scale(options.device.loss_scale, resolved.loss_scale);
  if (!options.output.checkpoint_every.empty())
    parse_cadence(options.output.checkpoint_every, resolved.checkpoint_every);
  if (options.data.mask_loss_after_eos) resolved.eos_id = end_of_text(options, facts);
  for (const std::string& text : options.rehearsal.faults) parse_fault(text, resolved.faults.emplace_back());
  resolved.writes_traces = options.observation.trace != "off";
  if (!options.observation.trace_window.empty()) parse_steps(options.observation.trace_window, resolved.trace_window);
  return resolved;
}

}  // namespace convoy::config

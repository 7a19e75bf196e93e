// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/check_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "libcore/base/error.h"
#include "libcore/base/random.h"
#include "libcore/comm/self.h"
#include "libcore/comm/threads.h"
#include "libcore/config/validate.h"
#include "libcore/model/shard.h"
#include "libcore/ops/backend.h"
#include "libcore/train/gradient_sums.h"
#include "libcore/train/layer_shards.h"
#include "libcore/train/step.h"
#include "libcore/train/weights.h"

namespace convoy::train {
namespace {

constexpr std::int64_t kMostRanks = 64;  // threads

// A large epsilon keeps an update smooth where a gradient is zero but for rounding, a low clip lets the norm count.
constexpr optim::AdamWConstants kOptimizer{.epsilon = 1e-3, .clip_norm = 0.25};

constexpr double kLossScale = 1024.0;  // of fp16: nothing overflows, and little is lost

constexpr std::int32_t kMaskedToken = 0;  // the target after it does not count: micro-batches count unlike numbers

model::Config model_of(const config::ModelOptions& options) {
  const std::string& source = options.model.empty() ? options.init_from : options.model;
  if (source.empty()) throw ConfigError("no model: add --model PRESET or --model config.json");
  model::Config config = model::resolve(source);
  if (options.tie_embeddings != "auto") config.tied_embeddings = options.tie_embeddings == "yes";
  if (options.dropout) model::set_dropout(config, *options.dropout);
  if (config.dropout.largest() >= 1.0) throw ConfigError("a dropout rate is 1: give --dropout a rate below 1");
  return config;
}

std::int64_t ranks_of(const config::RunOptions& options) {
  const config::LayoutOptions& layout = options.layout;
  if (layout.expect_world) return *layout.expect_world;
  const std::int64_t pair = 2 * options.batch.micro_batch.value_or(1);
  const std::int64_t replicas = options.batch.global_batch.value_or(config::kDefaultGlobalBatch) % pair == 0 ? 2 : 1;
  return layout.tensor_parallel * layout.pipeline_parallel * replicas;
}

// Samples mask a quarter, a half, three quarters or nothing of their targets.
std::int32_t made_up_token(std::uint64_t seed, int step, std::int64_t sample, std::int64_t position,
                           std::int64_t vocabulary) {
  const auto key = mix64(seed + mix64(static_cast<std::uint64_t>(step)) + mix64(~static_cast<std::uint64_t>(sample)));
  const std::uint64_t x = mix64(key ^ static_cast<std::uint64_t>(position));
  if (x % 4 < static_cast<std::uint64_t>(sample % 4)) return kMaskedToken;
  return static_cast<std::int32_t>((x >> 8) % static_cast<std::uint64_t>(vocabulary));
}

// Windows of T + 1 tokens of samples [first, first + count).
std::vector<std::int32_t> made_up_tokens(const SmallRun& run, std::uint64_t seed, int step, std::int64_t first,
                                         std::int64_t count) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t sample = first; sample < first + count; ++sample) {
    for (std::int64_t position = 0; position <= run.sequence_length; ++position) {
      tokens.push_back(made_up_token(seed, step, sample, position, run.model.vocabulary));
    }
  }
  return tokens;
}

parallel::DataParallelOptions reduction_of(const SmallRun& run, const CheckSettings& settings,
                                           parallel::GradientTree* tree) {
  return train::reduction_of(run.layout.zero, settings.overlap, settings.bucket_bytes, tree, nullptr);
}

parallel::Groups groups_of(comm::Communicator& world, const parallel::Layout& layout, const CheckSettings& settings) {
  parallel::Groups groups = parallel::make_groups(world, layout);
  if (settings.interfere) settings.interfere(groups);
  return groups;
}

std::vector<parallel::PartialGradient> partial_gradients_of(const model::Parameters& parameters,
                                                            const CheckSettings& settings) {
  return settings.partial_gradients ? settings.partial_gradients(parameters) : model::partial_gradients(parameters);
}

// One rank's part of everything that a step works on.
struct RankState {
  RankState(comm::Communicator& world, const SmallRun& run, const CheckSettings& settings)
      : groups(groups_of(world, run.layout, settings)),
        actions(parallel::pipeline_schedule(run.layout.schedule, run.layout.pipeline,
                                            static_cast<int>(run.micro_batches), groups.at.pipeline,
                                            run.layout.virtual_stages)),
        chunks(model::shards_of(run.model, groups)),
        parameters(model::local_parameters(run.model, chunks), settings.precision, true,
                   sharding_of(groups, settings.tree), run.model.layers),
        tree(settings.tree
                 ? std::make_unique<parallel::GradientTree>(*groups.data, gradients_to_sum(parameters),
                                                            std::span(&run.micro_batches, 1), settings.bucket_bytes)
                 : nullptr),
        data_parallel(*groups.data, gradients_to_sum(parameters), summed_alone(parameters),
                      reduction_of(run, settings, tree.get())),
        partial_sums(*groups.tensor,
                     as_summed(partial_gradients_of(parameters, settings), data_parallel, settings.tree)),
        optimizer(parameters, kOptimizer),
        model(stream, run.model, parameters, chunks,
              {.batch = run.micro_batch,
               .sequence = run.sequence_length,
               .training = true,
               .sets = run.layout.pipeline == 1 ? std::vector{1} : parallel::activation_sets(actions),
               .recompute = run.recompute}),
        layer_shards(share_layers(groups, parameters, reduction_of(run, settings, nullptr), model)),
        batch(run.micro_batches, run.micro_batch, run.sequence_length,
              {.vocabulary = run.model.vocabulary,
               .document_positions = settings.documents,
               .ignore_after = kMaskedToken}),
        loss_scale(settings.precision == tensor::DType::kF16 ? kLossScale : 1.0) {
    initialise(stream, parameters, settings.seed, optimizer);
    share_weights(context());
  }

  StepContext context() {
    return {stream,    groups, actions, parameters, model,      partial_sums,      data_parallel,
            optimizer, faults, &losses, loss_scale, tree.get(), layer_shards.get()};
  }
  StepValues values() const { return {groups, parameters, losses}; }

  device::Stream stream{ops::cpu_backend(), 1};
  parallel::Groups groups;
  std::vector<parallel::Action> actions;
  std::vector<model::Shard> chunks;
  model::Parameters parameters;
  std::unique_ptr<parallel::GradientTree> tree;
  parallel::DataParallel data_parallel;
  parallel::PartialSums partial_sums;
  optim::AdamW optimizer;
  model::Model model;
  std::unique_ptr<parallel::LayerShards> layer_shards;
  Faults faults;
  GlobalBatch batch;
  std::vector<double> losses;  // of the step's micro-batches, in the last stage
  double loss_scale;
};

// Trains, and shows each step's values to `seen` when they are there.
template <class Seen>
void train(RankState& state, const SmallRun& run, const CheckSettings& settings, Seen& seen) {
  seen.weights(0, state.values());
  for (int step = 1; step <= settings.steps; ++step) {
    const std::int64_t samples = state.batch.samples();
    state.batch.fill(made_up_tokens(run, settings.seed, step, state.groups.at.data * samples, samples));
    state.batch.draw({.seed = settings.seed, .step = step, .first_slot = state.groups.at.data * samples});
    state.losses.clear();
    ExactSum loss_sum;
    const std::int64_t targets = accumulate(state.context(), state.batch, loss_sum);
    seen.losses(step, state.values());
    seen.gradients(step, state.values());
    const StepResult result = judge(state.context(), targets, loss_sum, {});
    const double rate = settings.rate ? settings.rate(step) : settings.schedule.rate(step - 1);
    seen.totals(step, state.values(), result, rate);
    apply(state.context(), rate, step, result.grad_norm);
    seen.weights(step, state.values());
  }
}

}  // namespace

SmallRun small_run(const config::RunOptions& options) {
  const model::Config model = model_of(options.model);
  const std::int64_t ranks = ranks_of(options);
  if (ranks < 1 || ranks > kMostRanks) {
    throw ConfigError(
        fmt::format("{} ranks (--expect-world, or --tensor-parallel x --pipeline-parallel and two replicas): each is a "
                    "thread here, at least 1 and at most {}; check a smaller layout of the same kind",
                    ranks, kMostRanks));
  }
  config::Facts facts;
  config::ModelFacts& known = facts.model.emplace();
  known.vocabulary = model.vocabulary;
  known.positions = model.positions;
  known.layers = model.layers;
  known.heads = model.heads;
  known.key_value_heads = model.key_value_heads;
  known.ffn_width = model.ffn_width;
  facts.machine.world = static_cast<int>(ranks);
  std::vector<std::string> problems;
  config::validate_layout(options, facts, problems);
  if (!problems.empty()) throw ConfigError(problems);
  const config::Resolved resolved = config::resolve(options, facts);
  SmallRun run =
      cut_down(model, resolved.layout, resolved.sequence_length, resolved.micro_batch, resolved.micro_batches);
  run.recompute = model::parse_recompute(options.layout.recompute);
  return run;
}

Reference train_on_one_rank(const SmallRun& run, std::int64_t micro_batch, const CheckSettings& settings) {
  SmallRun whole = run;
  whole.layout = {};
  whole.recompute = model::Recompute::kNone;
  whole.micro_batches = run.micro_batches * run.layout.data * run.micro_batch / micro_batch;
  whole.micro_batch = micro_batch;
  CheckSettings plain = settings;
  plain.precision = tensor::DType::kF32;
  plain.interfere = {};
  plain.partial_gradients = {};
  plain.rate = {};
  const std::unique_ptr<comm::Communicator> self = comm::make_self();
  RankState state(*self, whole, plain);
  Reference reference(micro_batch);
  train(state, whole, plain, reference);
  return reference;
}

LayoutReport check_layout(const SmallRun& run, const CheckSettings& settings) {
  return check_layout(run, settings, train_on_one_rank(run, run.micro_batch, settings));
}

LayoutReport check_layout(const SmallRun& run, const CheckSettings& settings, const Reference& reference) {
  LayoutReport report;
  std::vector<HeldWeight> held;
  std::mutex mutex;
  comm::run_ranks(
      run.layout.world(),
      [&](comm::Communicator& world) {
        RankState state(world, run, settings);
        RankComparison comparison(run, reference, settings.early, settings.late, settings.early_steps);
        train(state, run, settings, comparison);
        const std::scoped_lock lock(mutex);
        comparison.add_to(report);
        held.insert(held.end(), comparison.held().begin(), comparison.held().end());
      },
      settings.watchdog_seconds);
  compare_copies(std::move(held), model::parameter_table(run.model), report);
  return report;
}

}  // namespace convoy::train

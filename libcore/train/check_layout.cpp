// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/check_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <tuple>

#include "libcore/base/error.h"
#include "libcore/base/random.h"
#include "libcore/comm/self.h"
#include "libcore/comm/threads.h"
#include "libcore/config/validate.h"
#include "libcore/model/shard.h"
#include "libcore/ops/backend.h"
#include "libcore/train/step.h"
#include "libcore/train/weights.h"

namespace convoy::train {
namespace {

// Differences beyond these are no rounding. fp32 has 6e-8 of relative rounding; sums over a few hundred elements in
// another order come to some 1e-6 of the largest value, and three updates carry that on.
constexpr double kLossTolerance = 1e-5;      // of the loss
constexpr double kGradientTolerance = 1e-4;  // of the tensor's largest gradient, or of kGradientFloor of all
constexpr double kNormTolerance = 1e-5;      // of the norm
constexpr double kWeightTolerance = 1e-3;    // of the learning rate: an update moves a weight by about that much
// A gradient that is zero but for rounding (of a bias before a softmax, say) has nothing of its own to be relative to.
constexpr double kGradientFloor = 1e-3;

constexpr std::int64_t kMostRanks = 64;  // threads

constexpr double kRate = 1e-2;
// A large epsilon keeps an update smooth where a gradient is zero but for rounding, a low clip lets the norm count.
constexpr optim::AdamWConstants kOptimizer{.epsilon = 1e-3, .clip_norm = 0.25};

constexpr std::int32_t kMaskedToken = 0;  // the target after it does not count: micro-batches count unlike numbers

model::Config model_of(const config::ModelOptions& options) {
  const std::string& source = options.model.empty() ? options.init_from : options.model;
  if (source.empty()) throw ConfigError("no model: add --model PRESET or --model config.json");
  model::Config config = model::resolve(source);
  if (options.tie_embeddings != "auto") config.tied_embeddings = options.tie_embeddings == "yes";
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

std::vector<tensor::MutableView> gradients_of(const model::Parameters& parameters) {
  std::vector<tensor::MutableView> gradients;
  for (std::size_t i = 0; i < parameters.size(); ++i) gradients.push_back(parameters.gradient(i));
  return gradients;
}

std::vector<parallel::Range> shares_of(const parallel::DataParallel& data_parallel, std::size_t parameters) {
  std::vector<parallel::Range> shares;
  for (std::size_t i = 0; i < parameters; ++i) shares.push_back(data_parallel.share(i));
  return shares;
}

parallel::Groups groups_of(comm::Communicator& world, const parallel::Layout& layout, const CheckSettings& settings) {
  parallel::Groups groups = parallel::make_groups(world, layout);
  if (settings.interfere && world.size() > 1) settings.interfere(groups);
  return groups;
}

// One rank's part of everything that a step works on.
struct RankState {
  RankState(comm::Communicator& world, const SmallRun& run, const CheckSettings& settings)
      : groups(groups_of(world, run.layout, settings)),
        actions(parallel::pipeline_schedule(run.layout.schedule, run.layout.pipeline,
                                            static_cast<int>(run.micro_batches), groups.at.pipeline,
                                            run.layout.virtual_stages)),
        chunks(model::shards_of(run.model, groups)),
        parameters(model::local_parameters(run.model, chunks), tensor::DType::kF32, true),
        partial_sums(*groups.tensor, model::partial_gradients(parameters)),
        data_parallel(*groups.data, gradients_of(parameters), tied_ends(parameters),
                      {.zero = run.layout.zero, .bucket_bytes = settings.bucket_bytes, .overlap = settings.overlap}),
        optimizer(parameters, kOptimizer, shares_of(data_parallel, parameters.size())),
        model(stream, run.model, parameters, chunks,
              {.batch = run.micro_batch,
               .sequence = run.sequence_length,
               .training = true,
               .sets = run.layout.pipeline == 1 ? std::vector{1} : parallel::activation_sets(actions)}),
        batch(run.micro_batches, run.micro_batch, run.sequence_length,
              {.vocabulary = run.model.vocabulary, .ignore_after = kMaskedToken}) {
    initialise(stream, parameters, settings.seed, optimizer);
    share_weights(context());
  }

  StepContext context() {
    return {stream, groups, actions, parameters, model, partial_sums, data_parallel, optimizer, faults, &losses};
  }

  device::Stream stream{ops::cpu_backend(), 1};
  parallel::Groups groups;
  std::vector<parallel::Action> actions;
  std::vector<model::Shard> chunks;
  model::Parameters parameters;
  parallel::PartialSums partial_sums;
  parallel::DataParallel data_parallel;
  optim::AdamW optimizer;
  model::Model model;
  Faults faults;
  GlobalBatch batch;
  std::vector<double> losses;  // of the step's micro-batches, in the last stage
};

// Trains, and shows each step's results to `seen` when they are there: losses, gradients, norm and weights of (step,
// state).
template <class Seen>
void train(RankState& state, const SmallRun& run, const CheckSettings& settings, Seen&& seen) {
  seen.weights(0, state);
  for (int step = 1; step <= settings.steps; ++step) {
    const std::int64_t samples = state.batch.samples();
    state.batch.fill(made_up_tokens(run, settings.seed, step, state.groups.at.data * samples, samples));
    state.losses.clear();
    double loss_sum = 0.0;
    const std::int64_t targets = accumulate(state.context(), state.batch, loss_sum);
    seen.losses(step, state);
    seen.gradients(step, state);
    const StepResult result = judge(state.context(), targets, loss_sum, {});
    seen.norm(step, state, result.grad_norm);
    apply(state.context(), kRate, step, result.grad_norm);
    seen.weights(step, state);
  }
}

std::vector<float> values_of(const tensor::View& view) {
  const float* values = view.as<float>();
  return {values, values + view.count()};
}

// What one rank did.
struct Reference {
  struct Step {
    std::vector<double> losses;  // of the global batch's micro-batches
    std::vector<std::vector<float>> gradients, weights;
    double largest_gradient = 0.0;
    double norm = 0.0;
  };

  void losses(int step, const RankState& state) { at(step).losses = state.losses; }
  void gradients(int step, const RankState& state) {
    for (std::size_t i = 0; i < state.parameters.size(); ++i) {
      at(step).gradients.push_back(values_of(state.parameters.gradient(i)));
      for (const float x : at(step).gradients.back())
        at(step).largest_gradient = std::max<double>(at(step).largest_gradient, std::abs(x));
    }
  }
  void norm(int step, const RankState&, double norm) { at(step).norm = norm; }
  void weights(int step, const RankState& state) {
    for (std::size_t i = 0; i < state.parameters.size(); ++i)
      at(step).weights.push_back(values_of(state.parameters.weight(i)));
  }

  Step& at(int step) {
    if (steps.size() <= static_cast<std::size_t>(step)) steps.resize(static_cast<std::size_t>(step) + 1);
    return steps[static_cast<std::size_t>(step)];
  }
  const Step& at(int step) const { return steps[static_cast<std::size_t>(step)]; }

  std::vector<Step> steps;  // the first one holds the initial weights
};

Reference train_on_one_rank(const SmallRun& run, const CheckSettings& settings) {
  SmallRun whole = run;
  whole.layout = {};
  whole.micro_batches *= run.layout.data;
  const std::unique_ptr<comm::Communicator> self = comm::make_self();
  RankState state(*self, whole, settings);
  Reference reference;
  train(state, whole, settings, reference);
  return reference;
}

// Where local element `element` of a parameter lies in the whole tensor.
std::vector<std::int64_t> place_of(const model::LocalParameter& parameter, std::int64_t element) {
  const int rank = parameter.shape.rank();
  std::vector<std::int64_t> place(static_cast<std::size_t>(rank));
  for (int d = rank - 1; d >= 0; --d) {
    const std::int64_t extent = parameter.box.extent[d];
    place[static_cast<std::size_t>(d)] = parameter.box.offset[d] + element % extent;
    element /= extent;
  }
  return place;
}

struct Found {
  Difference difference;
  std::int64_t order = 0;  // among those of the same step and kind
};

// Compares what a rank of the layout did with what one rank did.
class RankComparison {
 public:
  RankComparison(const SmallRun& run, const Reference& reference, const std::vector<model::Parameter>& table)
      : run_(run), reference_(reference), table_(table) {
    at(Compared::kLoss).tolerance = kLossTolerance;
    at(Compared::kGradient).tolerance = kGradientTolerance;
    at(Compared::kNorm).tolerance = kNormTolerance;
    at(Compared::kWeight).tolerance = kWeightTolerance;
  }

  void losses(int step, const RankState& state) {
    if (!state.groups.last_stage()) return;
    check(static_cast<std::int64_t>(state.losses.size()) == run_.micro_batches, "the last stage knows all losses");
    for (std::size_t i = 0; i < state.losses.size(); ++i) {
      const std::int64_t index = state.groups.at.data * run_.micro_batches + static_cast<std::int64_t>(i);
      const double expected = reference_.at(step).losses[static_cast<std::size_t>(index)];
      Difference difference = start(step, Compared::kLoss, state);
      difference.name = fmt::format("micro-batch {} of replica {}", i, state.groups.at.data);
      judge(difference, state.losses[i], expected, std::max(1.0, std::abs(expected)), index);
    }
  }

  void gradients(int step, const RankState& state) {
    const Reference::Step& expected = reference_.at(step);
    for (std::size_t i = 0; i < state.parameters.size(); ++i) {
      const std::size_t global = index_of(state.parameters.table()[i].name);
      double largest = kGradientFloor * expected.largest_gradient;
      for (const float x : expected.gradients[global]) largest = std::max<double>(largest, std::abs(x));
      compare(start(step, Compared::kGradient, state), state.parameters.table()[i], state.parameters.gradient(i),
              state.data_parallel.share(i), expected.gradients[global], largest, -static_cast<std::int64_t>(global));
    }
  }

  void norm(int step, const RankState& state, double norm) {
    Difference difference = start(step, Compared::kNorm, state);
    difference.name = "norm";
    judge(difference, norm, reference_.at(step).norm, reference_.at(step).norm, 0);
  }

  void weights(int step, const RankState& state) {
    for (std::size_t i = 0; i < state.parameters.size(); ++i) {
      const std::size_t global = index_of(state.parameters.table()[i].name);
      const tensor::View weight = state.parameters.weight(i);
      compare(start(step, Compared::kWeight, state), state.parameters.table()[i], weight, {0, weight.count()},
              reference_.at(step).weights[global], kRate, static_cast<std::int64_t>(global));
    }
  }

  const std::array<Comparison, kComparisons>& comparisons() const { return comparisons_; }
  const std::vector<Found>& found() const { return found_; }

 private:
  Comparison& at(Compared what) { return comparisons_[static_cast<std::size_t>(what)]; }

  std::size_t index_of(const std::string& name) const {
    const auto entry = std::find_if(table_.begin(), table_.end(), [&](const auto& one) { return one.name == name; });
    check(entry != table_.end(), fmt::format("'{}' is of the model's table", name));
    return static_cast<std::size_t>(entry - table_.begin());
  }

  static Difference start(int step, Compared what, const RankState& state) {
    Difference difference;
    difference.step = step;
    difference.what = what;
    difference.rank = state.groups.world->rank();
    difference.at = state.groups.at;
    return difference;
  }

  // The element of the share that differs most.
  void compare(Difference difference, const model::LocalParameter& parameter, const tensor::View& mine,
               const parallel::Range& share, const std::vector<float>& whole, double scale, std::int64_t order) {
    double largest = -1.0, found = 0.0, expected = 0.0;
    for (std::int64_t e = share.begin; e < share.end; ++e) {
      const float ours = mine.as<float>()[e],
                  theirs = whole[static_cast<std::size_t>(tensor::index_in_whole(parameter.shape, parameter.box, e))];
      const double distance = std::abs(static_cast<double>(ours) - theirs);
      if (distance <= largest) continue;
      difference.place = fmt::format("[{}]", fmt::join(place_of(parameter, e), ", "));
      found = ours, expected = theirs, largest = distance;
      if (std::isnan(distance)) break;
    }
    if (largest < 0.0) return;  // nothing is of this rank's share
    at(difference.what).compared += share.size() - 1;
    difference.name = parameter.name;
    judge(difference, found, expected, scale, order);
  }

  void judge(Difference& difference, double found, double expected, double scale, std::int64_t order) {
    Comparison& comparison = at(difference.what);
    const double relative = std::abs(found - expected) / scale;
    ++comparison.compared;
    comparison.largest =
        std::max(comparison.largest, std::isnan(relative) ? std::numeric_limits<double>::infinity() : relative);
    if (relative <= comparison.tolerance) return;
    ++comparison.different;
    difference.found = found;
    difference.expected = expected;
    difference.allowed = comparison.tolerance * scale;
    found_.push_back({difference, order});
  }

  const SmallRun& run_;
  const Reference& reference_;
  const std::vector<model::Parameter>& table_;
  std::array<Comparison, kComparisons> comparisons_;
  std::vector<Found> found_;
};

auto sort_key(const Found& found) {
  return std::tuple(found.difference.step, found.difference.what, found.order, found.difference.rank);
}

// Adds what rank after rank has found.
class Merged {
 public:
  void add(const RankComparison& rank) {
    for (std::size_t i = 0; i < kComparisons; ++i) {
      Comparison& total = report_.comparisons[i];
      const Comparison& part = rank.comparisons()[i];
      total.compared += part.compared;
      total.different += part.different;
      total.largest = std::max(total.largest, part.largest);
      total.tolerance = part.tolerance;
    }
    for (const Found& found : rank.found()) {
      if (!first_ || sort_key(found) < sort_key(*first_)) first_ = found;
    }
  }

  LayoutReport report() const {
    LayoutReport report = report_;
    if (first_) report.first = first_->difference;
    return report;
  }

 private:
  LayoutReport report_;
  std::optional<Found> first_;
};

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
  return cut_down(model, resolved.layout, resolved.sequence_length, resolved.micro_batch, resolved.micro_batches);
}

LayoutReport check_layout(const SmallRun& run, const CheckSettings& settings) {
  const std::vector<model::Parameter> table = model::parameter_table(run.model);
  const Reference reference = train_on_one_rank(run, settings);
  Merged merged;
  std::mutex mutex;
  comm::run_ranks(
      run.layout.world(),
      [&](comm::Communicator& world) {
        RankState state(world, run, settings);
        RankComparison comparison(run, reference, table);
        train(state, run, settings, comparison);
        const std::scoped_lock lock(mutex);
        merged.add(comparison);
      },
      settings.watchdog_seconds);
  return merged.report();
}

std::string text_of(Compared what) {
  switch (what) {
    case Compared::kLoss:
      return "losses of micro-batches";
    case Compared::kGradient:
      return "gradients after their reduction";
    case Compared::kNorm:
      return "gradient norm";
    case Compared::kWeight:
      return "weights after the update";
  }
  throw InternalError("unknown comparison");
}

std::string text_of(const Difference& difference) {
  const bool initial = difference.step == 0;
  const std::string place = difference.place.empty() ? "" : fmt::format(" at {}", difference.place);
  return fmt::format(
      "{}: {}: rank {} (dp {}, pp {}, tp {}) has {:.9g}{} where one rank has {:.9g}; allowed is {:.2g}",
      initial ? "initial weights" : fmt::format("step {}, {}", difference.step, text_of(difference.what)),
      difference.name, difference.rank, difference.at.data, difference.at.pipeline, difference.at.tensor,
      difference.found, place, difference.expected, difference.allowed);
}

}  // namespace convoy::train

// SPDX-License-Identifier: Apache-2.0
// How a trainer is put together from the run's settings.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "libcore/base/units.h"
#include "libcore/ops/backend.h"
#include "libcore/train/gradient_sums.h"
#include "libcore/train/layer_shards.h"
#include "libcore/train/states.h"
#include "libcore/train/trainer.h"
#include "libcore/train/weights.h"

namespace convoy::train {
namespace {

std::optional<optim::LossScaler> scaler_of(const PreparedRun& run) {
  if (run.options.device.precision != "fp16") return std::nullopt;
  return run.resolved.loss_scale ? optim::LossScaler(*run.resolved.loss_scale) : optim::LossScaler();
}

optim::AdamWConstants constants_of(const config::OptimizerOptions& options) {
  return {.beta1 = options.beta1,
          .beta2 = options.beta2,
          .epsilon = options.epsilon,
          .weight_decay = options.weight_decay,
          .clip_norm = options.clip_norm};
}

optim::ScheduleKind kind_of(const std::string& schedule) {
  if (schedule == "constant") return optim::ScheduleKind::kConstant;
  if (schedule == "linear") return optim::ScheduleKind::kLinear;
  return schedule == "wsd" ? optim::ScheduleKind::kWsd : optim::ScheduleKind::kCosine;
}

optim::LrSchedule schedule_of(const PreparedRun& run) {
  const config::OptimizerOptions& options = run.options.optimizer;
  return {.kind = kind_of(options.schedule),
          .peak = options.lr,
          .minimum = run.resolved.min_lr,
          .warmup_steps = options.warmup_steps,
          .decay_steps = run.resolved.decay_steps,
          .decay_start = config::wsd_decay_start(run.resolved.decay_steps, options.wsd_decay_share)};
}

SampleRules rules_of(const PreparedRun& run) {
  return {.vocabulary = run.model.vocabulary,
          .document_positions = run.options.model.attention_reset_at_document,
          .ignore_after = run.resolved.eos_id};
}

std::vector<EvaluationSet> evaluation_sets(const PreparedRun& run) {
  std::vector<EvaluationSet> sets;
  for (const NamedDataset& valid : run.valid) {
    data::Sampler sampler(valid.dataset.tokens(), run.resolved.sequence_length, data::DataOrder::kSequential, 0);
    std::int64_t limit = 0;
    // More than can be counted is more than there are.
    const bool is_all =
        __builtin_mul_overflow(run.options.output.eval_steps, run.resolved.global_batch, &limit) || limit == 0;
    const std::int64_t samples = is_all ? sampler.windows() : std::min(sampler.windows(), limit);
    sets.push_back({valid.name, &valid.dataset, sampler, samples});
  }
  return sets;
}

std::size_t bucket_bytes(const PreparedRun& run) {
  return static_cast<std::size_t>(run.options.layout.bucket_mib) << 20;
}

bool sums_in_tree(const PreparedRun& run) { return run.options.layout.reduction == "tree"; }

std::unique_ptr<parallel::GradientTree> tree_of(const PreparedRun& run, const parallel::Groups& groups,
                                                const model::Parameters& parameters) {
  if (!sums_in_tree(run)) return nullptr;
  std::vector<std::int64_t> micro_batches;
  for (const std::int64_t batch : run.resolved.batches.sizes())
    micro_batches.push_back(batch / groups.layout.data / run.resolved.micro_batch);
  return std::make_unique<parallel::GradientTree>(*groups.data, gradients_to_sum(parameters), micro_batches,
                                                  bucket_bytes(run));
}

parallel::DataParallelOptions reduction_of(const PreparedRun& run, parallel::GradientTree* tree,
                                           trace::Recorder& recorder) {
  return train::reduction_of(run.resolved.layout.zero, run.options.layout.overlap, bucket_bytes(run), tree, &recorder);
}

std::vector<parallel::Action> actions_of(const parallel::Groups& groups, std::int64_t micro_batches) {
  const parallel::Layout& layout = groups.layout;
  return parallel::pipeline_schedule(layout.schedule, layout.pipeline, static_cast<int>(micro_batches),
                                     groups.at.pipeline, layout.virtual_stages);
}

model::ModelSize size_of(const PreparedRun& run, const parallel::Groups& groups,
                         const std::vector<parallel::Action>& actions) {
  return {.batch = run.resolved.micro_batch,
          .sequence = run.resolved.sequence_length,
          .training = true,
          .sets = groups.layout.pipeline == 1 ? std::vector{1} : parallel::activation_sets(actions),
          .recompute = model::parse_recompute(run.options.layout.recompute)};
}

std::string file_of(const parallel::Groups& groups) {
  return checkpoint::shard_file_name(groups.at.tensor, groups.at.pipeline, groups.at.data);
}

}  // namespace

Trainer::Trainer(TrainerSetting setting, const checkpoint::Checkpoint* checkpoint)
    : setting_(std::move(setting)),
      stream_(ops::cpu_backend(), setting_.run.resolved.threads),
      actions_(actions_of(setting_.groups, setting_.run.resolved.micro_batches)),
      chunks_(model::shards_of(setting_.run.model, setting_.groups)),
      parameters_(model::local_parameters(setting_.run.model, chunks_),
                  compute_dtype(setting_.run.options.device.precision), true,
                  sharding_of(setting_.groups, sums_in_tree(setting_.run)), setting_.run.model.layers),
      tree_(tree_of(setting_.run, setting_.groups, parameters_)),
      data_parallel_(*setting_.groups.data, gradients_to_sum(parameters_), summed_alone(parameters_),
                     reduction_of(setting_.run, tree_.get(), setting_.recorder)),
      partial_sums_(*setting_.groups.tensor,
                    as_summed(model::partial_gradients(parameters_), data_parallel_, tree_ != nullptr)),
      optimizer_(parameters_, constants_of(setting_.run.options.optimizer)),
      model_(stream_, setting_.run.model, parameters_, chunks_, size_of(setting_.run, setting_.groups, actions_)),
      layer_shards_(
          share_layers(setting_.groups, parameters_, reduction_of(setting_.run, nullptr, setting_.recorder), model_)),
      schedule_(schedule_of(setting_.run)),
      scaler_(scaler_of(setting_.run)),
      rules_(rules_of(setting_.run)),
      batch_(setting_.run.resolved.micro_batches, setting_.run.resolved.micro_batch,
             setting_.run.resolved.sequence_length, rules_),
      evaluation_sets_(evaluation_sets(setting_.run)),
      evaluation_batch_(setting_.run.resolved.micro_batch, setting_.run.resolved.sequence_length,
                        rules_.document_positions),
      saver_(*setting_.groups.world, file_of(setting_.groups), setting_.run.resolved.threads, {&setting_.recorder}),
      faults_(setting_.run.resolved.faults, setting_.groups.world->rank(), setting_.directory.debug()) {
  stream_.set_lane({&setting_.recorder});
  if (setting_.run.options.layout.check_replicas_every > 0)
    replicas_.emplace(setting_.run.model, setting_.groups.layout, parameters_.compute_dtype());
  if (checkpoint != nullptr) {
    restore(*checkpoint);
  } else if (setting_.run.init_from) {
    load(stream_, parameters_, *setting_.run.init_from, optimizer_);
  } else {
    initialise(stream_, parameters_, static_cast<std::uint64_t>(setting_.run.options.data.seed), optimizer_);
  }
}

void Trainer::restore(const checkpoint::Checkpoint& checkpoint) {
  load_states(stream_, checkpoint, parameters_, optimizer_);
  const checkpoint::Progress& progress = checkpoint.manifest().description.progress;
  step_ = progress.step;
  update_ = progress.update;
  consumed_samples_ = progress.consumed_samples;
  skipped_in_a_row_ = progress.skipped_in_a_row;
  // A scale that the run was told is not the checkpoint's; nor is there one in a checkpoint of another precision.
  if (const auto& history = progress.loss_scale_history; scaler_ && scaler_->is_dynamic() && history)
    scaler_.emplace(optim::LossScaler::State{.scale = progress.loss_scale.value_or(optim::kInitialLossScale),
                                             .finite_steps = history->finite_steps,
                                             .overflows_left = history->overflows_left});
  first_skipped_sample_ =
      std::min(consumed_samples_, setting_.run.resolved.batches.advance(0, step_ - skipped_in_a_row_));
}

void Trainer::plan_micro_batches(std::int64_t global_batch) {
  const std::int64_t count = global_batch / setting_.groups.layout.data / setting_.run.resolved.micro_batch;
  if (count == static_cast<std::int64_t>(batch_.micro_batches().size())) return;
  batch_.use(count);
  if (tree_) tree_->plan(count);
  actions_ = actions_of(setting_.groups, count);
}

std::string Trainer::memory_summary() const {
  const std::size_t gradients = parameters_.kept_gradient_bytes();
  std::vector<std::pair<const char*, std::size_t>> parts = {{"weights", parameters_.kept_weight_bytes()},
                                                            {"gradients", gradients},
                                                            {"reduction tree", tree_ ? tree_->copies() * gradients : 0},
                                                            {"optimizer", optimizer_.bytes()},
                                                            {"layers at hand", parameters_.room_bytes()},
                                                            {"activations", model_.activation_bytes()},
                                                            {"packed weights", model_.packed_bytes()}};
  std::erase_if(parts, [](const auto& part) { return part.second == 0; });
  std::size_t total = 0;
  std::vector<std::string> texts;
  for (const auto& [name, bytes] : parts) {
    total += bytes;
    texts.push_back(fmt::format("{} {}", name, format_bytes(static_cast<double>(bytes))));
  }
  return fmt::format("{} = {}", format_bytes(static_cast<double>(total)), fmt::join(texts, ", "));
}

}  // namespace convoy::train

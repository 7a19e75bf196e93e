// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/model/sharded_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "libcore/ops/backend.h"
#include "libcore/parallel/pipeline_schedule.h"
#include "tests/unit/model/forward_backward.h"

namespace convoy::model {
namespace {

using tensor::DType;
using tensor::MutableView;
using tensor::View;

// Calls row(whole, part, count) for the rows of a box: element indices in the whole tensor and in the box.
template <class Row>
void over_rows(const LocalParameter& parameter, Row&& row) {
  const tensor::Box& box = parameter.box;
  const bool matrix = parameter.shape.rank() == 2;
  const std::int64_t columns = box.extent.back(), rows = matrix ? box.extent[0] : 1;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t whole = matrix ? (box.offset[0] + r) * parameter.shape[1] + box.offset[1] : box.offset[0];
    row(whole, r * columns, columns);
  }
}

std::size_t float_bytes(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); }

struct StageOfRun : parallel::PipelineStage {
  device::Stream& stream;
  Model& model;
  const std::vector<Batch>& batches;
  std::vector<int> sets;
  float scale = 1.0f;
  std::function<GradientsReady(int micro_batch)> ready = {};
  LossSum loss = {};

  StageOfRun(device::Stream& on, Model& of, const std::vector<Batch>& all, std::vector<int> in_flight)
      : stream(on), model(of), batches(all), sets(std::move(in_flight)) {}
  const Batch& at(int i) const { return batches[static_cast<std::size_t>(i)]; }

  int set(int i, int c) const { return i % sets[static_cast<std::size_t>(c)]; }

  void forward(int i, int c) override {
    model.forward(stream, at(i), set(i, c), c);
    if (model.has_loss(c) && !ready) loss += model.loss(stream, at(i), set(i, c), c);
  }
  void backward_input(int i, int c) override {
    loss += model.backward_input(stream, at(i), set(i, c), scale, c, ready(i));
  }
  void backward_weight(int i, int c) override { model.backward_weight(stream, at(i), set(i, c), ready(i), c); }
  MutableView input(int i, int c) override { return model.input(at(i), set(i, c), c); }
  View output(int i, int c) override { return model.output(at(i), set(i, c), c); }
  MutableView output_gradient(int i, int c) override { return model.output_gradient(at(i), c); }
  View input_gradient(int i, int c) override { return model.input_gradient(at(i), c); }
};

std::vector<parallel::Action> actions_of(const ShardedOptions& options, const parallel::Groups& groups) {
  return parallel::pipeline_schedule(options.layout.schedule, options.layout.pipeline, options.micro_batches,
                                     groups.at.pipeline, options.layout.virtual_stages);
}

}  // namespace

void Gathered::put(const LocalParameter& parameter, const View& values) {
  const std::lock_guard lock(mutex_);
  auto [it, is_new] = tensors_.try_emplace(parameter.name);
  if (is_new) it->second = tensor::Tensor(parameter.shape, DType::kF32);
  over_rows(parameter, [&](std::int64_t whole, std::int64_t part, std::int64_t count) {
    std::memcpy(it->second.as<float>() + whole, values.as<float>() + part, float_bytes(count));
  });
}

void Gathered::expect_same(const LocalParameter& parameter, const View& values) const {
  const std::lock_guard lock(mutex_);
  const tensor::Tensor& primary = tensors_.at(parameter.name);
  bool same = true;
  over_rows(parameter, [&](std::int64_t whole, std::int64_t part, std::int64_t count) {
    same = same && std::memcmp(primary.as<float>() + whole, values.as<float>() + part, float_bytes(count)) == 0;
  });
  EXPECT_TRUE(same) << parameter.name << " differs between its copies";
}

std::vector<checkpoint::NamedTensor> Gathered::in_order(const std::vector<Parameter>& table) const {
  std::vector<checkpoint::NamedTensor> list;
  for (const Parameter& parameter : table) list.push_back({parameter.name, tensors_.at(parameter.name).view()});
  return list;
}

ShardedRun::ShardedRun(comm::Communicator& world, const Config& config, const ShardedOptions& options,
                       const optim::AdamWConstants& constants)
    : world_(world),
      options_(options),
      stream_(ops::cpu_backend(), 1),
      groups_(parallel::make_groups(world, options.layout)),
      chunks_(shards_of(config, groups_)),
      parameters_(local_parameters(config, chunks_), options.dtype, true),
      partial_sums_(*groups_.tensor, partial_gradients(parameters_)),
      optimizer_(parameters_, constants),
      actions_(actions_of(options, groups_)),
      model_(stream_, config, parameters_, chunks_,
             {.batch = options.batch,
              .sequence = options.sequence,
              .sets = parallel::activation_sets(actions_),
              .recompute = options.recompute}) {}

void ShardedRun::publish() {
  optimizer_.publish(stream_);
  model_.pack(stream_);
}

LossSum ShardedRun::agreed(const LossSum& mine) {
  const bool counts = groups_.last_stage() && groups_.at.tensor == 0;
  double sums[] = {counts ? mine.sum : 0.0, counts ? static_cast<double>(mine.targets) : 0.0};
  world_.all_reduce(stream_, {sums, DType::kF64, {2}, 0}, comm::Reduction::kSum);
  return {sums[0], static_cast<std::int64_t>(sums[1])};
}

LossSum ShardedRun::evaluate(const std::vector<Batch>& batches) {
  LossSum loss;
  if (options_.layout.pipeline == 1) {
    for (const Batch& batch : batches) loss += model_.evaluate(stream_, batch);
    return agreed(loss);
  }
  StageOfRun stage(stream_, model_, batches, parallel::activation_sets(actions_));
  parallel::execute(stream_,
                    parallel::forward_schedule(options_.layout.pipeline, options_.micro_batches, groups_.at.pipeline,
                                               options_.layout.virtual_stages),
                    stage, *groups_.pipeline);
  return agreed(stage.loss);
}

GradientsReady ShardedRun::counting(bool last) {
  if (!last) return {};
  return [this](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) ++reports_[i];
    if (options_.sum_partial) partial_sums_.sum(stream_, begin, end);
  };
}

LossSum ShardedRun::accumulate(const std::vector<Batch>& batches, float gradient_scale) {
  parameters_.zero_gradients(stream_);
  reports_.assign(parameters_.size(), 0);
  const int last = options_.micro_batches - 1;
  StageOfRun stage(stream_, model_, batches, parallel::activation_sets(actions_));
  if (options_.layout.pipeline == 1) {
    for (int i = 0; i <= last; ++i) {
      stage.loss += forward_backward(model_, stream_, stage.at(i), gradient_scale, counting(i == last));
    }
  } else {
    stage.scale = gradient_scale;
    stage.ready = [&](int i) { return counting(i == last); };
    parallel::execute(stream_, actions_, stage, *groups_.pipeline);
  }
  for (std::size_t i = 0; i < parameters_.size() && options_.sum_tied_ends; ++i) {
    if (!parameters_.table()[i].tied_end) continue;
    groups_.pipeline_ends->all_reduce(stream_, parameters_.gradient(i), comm::Reduction::kSum);
  }
  return agreed(stage.loss);
}

double ShardedRun::gradient_norm() {
  double squares = optimizer_.gradient_squares(stream_).value();
  world_.all_reduce(stream_, {&squares, DType::kF64, {1}, 0}, comm::Reduction::kSum);
  return std::sqrt(squares);
}

void ShardedRun::step(double rate, std::int64_t update, double norm) {
  optimizer_.step(stream_, rate, update, norm);
  model_.pack(stream_);
}

void ShardedRun::gather_gradients(Gathered& all) {
  for (const bool primary : {true, false}) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const LocalParameter& parameter = parameters_.table()[i];
      if (parameter.primary != primary) continue;
      primary ? all.put(parameter, parameters_.gradient(i)) : all.expect_same(parameter, parameters_.gradient(i));
    }
    world_.barrier();
  }
}

void ShardedRun::gather_weights(Gathered& all) {
  for (const bool primary : {true, false}) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const LocalParameter& parameter = parameters_.table()[i];
      if (parameter.primary != primary) continue;
      primary ? all.put(parameter, optimizer_.master(i)) : all.expect_same(parameter, optimizer_.master(i));
    }
    world_.barrier();
  }
}

}  // namespace convoy::model

// SPDX-License-Identifier: Apache-2.0
// One rank of a model that thread ranks share: what train/ does in a step, small enough to be read beside it.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "libcore/checkpoint/hf_folder.h"
#include "libcore/comm/communicator.h"
#include "libcore/model/model.h"
#include "libcore/optim/adamw.h"
#include "libcore/parallel/groups.h"
#include "libcore/parallel/pipeline.h"
#include "libcore/tensor/tensor.h"

namespace convoy::model {

// Whole tensors that the ranks fill with their boxes.
class Gathered {
 public:
  // The box's values, fp32 dense. A replica's must be bit for bit those of the primary copy: call with all primary ones
  // first.
  void put(const LocalParameter& parameter, const tensor::View& values);
  void expect_same(const LocalParameter& parameter, const tensor::View& values) const;
  std::vector<checkpoint::NamedTensor> in_order(const std::vector<Parameter>& table) const;
  const std::map<std::string, tensor::Tensor>& tensors() const { return tensors_; }

 private:
  std::map<std::string, tensor::Tensor> tensors_;
  mutable std::mutex mutex_;
};

struct ShardedOptions {
  parallel::Layout layout;
  tensor::DType dtype = tensor::DType::kF32;
  std::int64_t batch = 1, sequence = 1;  // of a micro-batch
  int micro_batches = 1;
  Recompute recompute = Recompute::kNone;
  bool sum_tied_ends = true, sum_partial = true;  // false: the mistake that the tests must see
};

class ShardedRun {
 public:
  ShardedRun(comm::Communicator& world, const Config& config, const ShardedOptions& options,
             const optim::AdamWConstants& constants);

  Parameters& parameters() { return parameters_; }
  optim::AdamW& optimizer() { return optimizer_; }
  device::Stream& stream() { return stream_; }
  // After the masters were filled.
  void publish();

  // The sums over all micro-batches, the same on every rank.
  LossSum evaluate(const std::vector<Batch>& batches);
  LossSum accumulate(const std::vector<Batch>& batches, float gradient_scale);
  double gradient_norm();
  void step(double rate, std::int64_t update, double norm);

  // Every rank calls it.
  void gather_gradients(Gathered& all);
  void gather_weights(Gathered& all);
  // How often each index of the table was reported in the last micro-batch of the last accumulate().
  const std::vector<int>& reports() const { return reports_; }

 private:
  LossSum agreed(const LossSum& mine);
  GradientsReady counting(bool last);

  comm::Communicator& world_;
  ShardedOptions options_;
  device::Stream stream_;
  parallel::Groups groups_;
  std::vector<Shard> chunks_;
  Parameters parameters_;
  parallel::PartialSums partial_sums_;
  optim::AdamW optimizer_;
  std::vector<parallel::Action> actions_;
  Model model_;
  std::vector<int> reports_;
};

}  // namespace convoy::model

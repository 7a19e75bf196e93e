// SPDX-License-Identifier: Apache-2.0
#include "tests/equivalence/seeded_faults.h"

#include <functional>
#include <map>
#include <memory>

#include "libcore/base/error.h"
#include "libcore/model/shard.h"
#include "tests/support/passing_communicator.h"

namespace convoy::equivalence {
namespace {

class WithoutSums final : public support::PassingCommunicator {
 public:
  using PassingCommunicator::PassingCommunicator;

 private:
  void do_all_reduce(device::Stream&, const tensor::MutableView&, comm::Reduction) override {}
};

// Of a count that is summed, every rank believes that the others have what it has itself.
class WithEqualCounts final : public support::PassingCommunicator {
 public:
  using PassingCommunicator::PassingCommunicator;

 private:
  void do_all_reduce(device::Stream& stream, const tensor::MutableView& data, comm::Reduction reduction) override {
    if (data.dtype != tensor::DType::kI64) return PassingCommunicator::do_all_reduce(stream, data, reduction);
    for (std::int64_t i = 0; i < data.count(); ++i) data.as<std::int64_t>()[i] *= size();
  }
};

void drop_tied_sum(train::CheckSettings& settings) {
  settings.interfere = [](parallel::Groups& groups) {
    if (groups.pipeline_ends) groups.pipeline_ends = std::make_unique<WithoutSums>(std::move(groups.pipeline_ends));
  };
}

void average_averages(train::CheckSettings& settings) {
  settings.interfere = [](parallel::Groups& groups) {
    groups.data = std::make_unique<WithEqualCounts>(std::move(groups.data));
  };
}

void double_count_replicated(train::CheckSettings& settings) {
  settings.partial_gradients = [](const model::Parameters& parameters) {
    std::map<std::size_t, parallel::PartialGradient> sums;
    for (const parallel::PartialGradient& partial : model::partial_gradients(parameters))
      sums[partial.parameter] = partial;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters.table()[i].split == model::Split::kReplicated)
        sums.insert({i, {.parameter = i, .gradient = parameters.gradient(i), .part = 0, .parts = 1}});
    }
    std::vector<parallel::PartialGradient> all;
    for (const auto& [index, partial] : sums) all.push_back(partial);
    return all;
  };
}

void skip_partial_sums(train::CheckSettings& settings) {
  settings.partial_gradients = [](const model::Parameters&) { return std::vector<parallel::PartialGradient>{}; };
}

void shift_learning_rate(train::CheckSettings& settings) {
  settings.rate = [schedule = settings.schedule](int update) { return schedule.rate(update); };
}

using Seed = std::function<void(train::CheckSettings&)>;

const std::map<std::string, Seed>& seeds() {
  static const std::map<std::string, Seed> all = {{"average-of-averages", average_averages},
                                                  {"double-count-replicated", double_count_replicated},
                                                  {"drop-tied-sum", drop_tied_sum},
                                                  {"shift-learning-rate", shift_learning_rate},
                                                  {"skip-partial-sums", skip_partial_sums}};
  return all;
}

}  // namespace

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const auto& [name, seed] : seeds()) names.push_back(name);
  return names;
}

void seed_fault(const std::string& name, train::CheckSettings& settings) {
  const auto seed = seeds().find(name);
  check(seed != seeds().end(), "a fault is one of fault_names()");
  seed->second(settings);
}

}  // namespace convoy::equivalence

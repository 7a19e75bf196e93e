// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/tensor_problems.h"

#include <fmt/format.h>

#include "libcore/base/error.h"

namespace convoy::checkpoint {
namespace {

constexpr std::size_t kListed = 8;  // names of a message, so that it stays readable

}  // namespace

void TensorProblems::add(std::string problem) {
  if (problems_.size() < kListed) problems_.push_back(std::move(problem));
  ++count_;
}

void TensorProblems::raise(const Path& folder) const {
  if (count_ == 0) return;
  std::string text =
      fmt::format("{}: the tensors are not those of the model that config.json describes:", folder.string());
  for (const std::string& problem : problems_) text += "\n  - " + problem;
  if (count_ > problems_.size()) text += fmt::format("\n  - and {} more", count_ - problems_.size());
  throw DataError(text);
}

}  // namespace convoy::checkpoint

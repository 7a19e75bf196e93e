// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/weight_source.h"

#include <fmt/format.h>

#include <set>

#include "libcore/base/error.h"
#include "libcore/checkpoint/step_directory.h"
#include "libcore/checkpoint/tensor_problems.h"

namespace convoy::checkpoint {
namespace {

constexpr const char* kHead = "lm_head.weight";

// A tied model's head that is stored all the same: equal digests are equal bits.
bool is_copy_of_embedding(const Checkpoint& checkpoint, const StoredTensor& head, const std::string& embedding) {
  const StoredTensor* original = checkpoint.find(embedding, kWeight);
  return original != nullptr && original->dtype == head.dtype && original->shape == head.shape &&
         original->digest == head.digest;
}

void expect_tensors(const Checkpoint& checkpoint, const std::vector<ExpectedTensor>& expected, bool tied_head) {
  TensorProblems problems;
  std::set<std::string> wanted;
  for (const ExpectedTensor& tensor : expected) {
    wanted.insert(tensor.name);
    const StoredTensor* stored = checkpoint.find(tensor.name, kWeight);
    if (stored == nullptr) {
      problems.add(fmt::format("{} is missing (expected {})", tensor.name, tensor.shape.text()));
    } else if (!(stored->shape == tensor.shape)) {
      problems.add(fmt::format("{} is {}, expected {}", tensor.name, stored->shape.text(), tensor.shape.text()));
    }
  }
  for (const StoredTensor& stored : checkpoint.manifest().tensors) {
    if (stored.state != kWeight || wanted.contains(stored.name)) continue;
    if (tied_head && stored.name == kHead && is_copy_of_embedding(checkpoint, stored, expected.front().name)) continue;
    problems.add(fmt::format("{} has no place in the model; dropping it would change the model", stored.name));
  }
  problems.raise(checkpoint.path());
}

}  // namespace

struct WeightSource::Content {
  Path folder;
  std::optional<Checkpoint> checkpoint;
  std::optional<HfFolder> hf;  // from expect() on
  std::string hf_config, config_name;
  std::vector<ExpectedTensor> expected;

  const tensor::Shape& shape_of(const std::string& name) const {
    for (const ExpectedTensor& tensor : expected) {
      if (tensor.name == name) return tensor.shape;
    }
    throw InternalError(fmt::format("{} is one of the tensors that the weights were opened for", name));
  }
};

WeightSource::WeightSource(const Path& path) : content_(std::make_unique<Content>()) {
  content_->folder = resolve_checkpoint(path);
  if (is_step_directory(content_->folder)) {
    content_->checkpoint.emplace(content_->folder);
    content_->config_name = (content_->folder / "manifest.json").string() + ": model configuration";
    return;
  }
  const Path config = content_->folder / "config.json";
  content_->hf_config = read_file(config, "model configuration");
  content_->config_name = config.string();
}

WeightSource::~WeightSource() = default;
WeightSource::WeightSource(WeightSource&&) noexcept = default;
WeightSource& WeightSource::operator=(WeightSource&&) noexcept = default;

const Path& WeightSource::folder() const { return content_->folder; }

std::optional<std::int64_t> WeightSource::step() const {
  if (!content_->checkpoint) return std::nullopt;
  return content_->checkpoint->manifest().description.progress.step;
}

const std::string& WeightSource::model_config() const {
  return content_->checkpoint ? content_->checkpoint->manifest().description.model_config : content_->hf_config;
}

const std::string& WeightSource::config_name() const { return content_->config_name; }

const Checkpoint* WeightSource::checkpoint() const { return content_->checkpoint ? &*content_->checkpoint : nullptr; }

void WeightSource::expect(const std::vector<ExpectedTensor>& expected, bool tied_head) {
  check(!expected.empty(), "a model has tensors");
  content_->expected = expected;
  if (content_->checkpoint) return expect_tensors(*content_->checkpoint, expected, tied_head);
  content_->hf.emplace(content_->folder, expected, tied_head);
}

void WeightSource::read(const std::string& name, const tensor::Box& box, tensor::MutableView out) const {
  if (content_->checkpoint) return content_->checkpoint->read(name, kWeight, box, out);
  check(content_->hf.has_value(), "expect() comes before the first read");
  content_->hf->read(name, box, out);
}

void WeightSource::read(const std::string& name, tensor::MutableView out) const {
  read(name, tensor::whole(content_->shape_of(name)), out);
}

tensor::DType WeightSource::dtype(const std::string& name) const {
  if (!content_->checkpoint) return content_->hf->dtype(name);
  const StoredTensor* stored = content_->checkpoint->find(name, kWeight);
  check(stored != nullptr, "dtypes are asked for tensors that expect() has found");
  return stored->dtype;
}

}  // namespace convoy::checkpoint

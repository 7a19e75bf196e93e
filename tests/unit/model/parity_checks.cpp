// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/model/parity_checks.h"

#include <filesystem>
#include <map>

#include "tests/support/tmp_dir.h"

namespace convoy::model {
namespace {

using nlohmann::json;
using tensor::DType;
using Values = std::vector<double>;

Values determined(const tensor::View& view, const json& skipped) {
  Values values;
  const auto* data = view.as<float>();
  std::int64_t position = 0;
  for (const json& range : skipped) {
    values.insert(values.end(), data + position, data + range[0].get<std::int64_t>());
    position = range[1].get<std::int64_t>();
  }
  values.insert(values.end(), data + position, data + view.count());
  return values;
}

double relative_distance(const Values& got, const Values& expected) {
  double difference = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += (got[i] - expected[i]) * (got[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(difference) / std::max(std::sqrt(norm), 1e-300);
}

void check_statistics(Checks& checks, const std::string& name, const Values& values, const json& expected) {
  double squares = 0.0, sum = 0.0, largest = 0.0;
  for (const double x : values) {
    squares += x * x;
    sum += x;
    largest = std::max(largest, std::abs(x));
  }
  checks.close(name + " l2", std::sqrt(squares), expected["l2"]);
  checks.close(name + " sum", sum, expected["sum"]);
  checks.close(name + " absmax", largest, expected["absmax"]);
}

}  // namespace

void check_tensors(Checks& checks, const std::string& group, const std::vector<checkpoint::NamedTensor>& ours,
                   const json& expected, const Path& reference, const json& undetermined) {
  const support::TmpDir dir;
  checkpoint::write_hf_tensors(dir / "got.safetensors", ours, DType::kF32);
  const checkpoint::SafetensorsFile got(dir / "got.safetensors");
  ASSERT_EQ(got.tensors().size(), expected.size());
  std::map<std::string, Values> wanted;
  if (std::filesystem::exists(reference)) {
    const checkpoint::SafetensorsFile file(reference);
    for (const auto& tensor : file.tensors())
      wanted[tensor.name] = determined(tensor.view, undetermined.value(tensor.name, json::array()));
  }
  for (const auto& tensor : got.tensors()) {
    const std::string name = group + " " + tensor.name;
    ASSERT_TRUE(expected.contains(tensor.name)) << name;
    const Values values = determined(tensor.view, undetermined.value(tensor.name, json::array()));
    check_statistics(checks, name, values, expected[tensor.name]);
    if (wanted.empty()) continue;
    ASSERT_EQ(values.size(), wanted[tensor.name].size()) << name;
    checks.close(name + " distance", relative_distance(values, wanted[tensor.name]), 0.0,
                 expected[tensor.name]["relative_distance"]["tolerance"].get<double>());
  }
}

}  // namespace convoy::model

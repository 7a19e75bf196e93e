// SPDX-License-Identifier: Apache-2.0
// Comparison with what PyTorch computed, in the tolerances that a case brings.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/checkpoint/hf_folder.h"

namespace convoy::model {

// Collects the largest error as a share of its tolerance.
class Checks {
 public:
  void close(const std::string& what, double got, const nlohmann::json& expected,
             const char* tolerance_key = "tolerance") {
    close(what, got, expected["fp64"].get<double>(), expected[tolerance_key].get<double>());
  }
  void close(const std::string& what, double got, double expected, double tolerance) {
    const double error = std::abs(got - expected);
    EXPECT_LE(error, tolerance) << what << ": got " << got << ", expected " << expected;
    if (!(error / tolerance <= worst_)) {
      worst_ = error / tolerance;
      worst_name_ = what;
    }
  }
  void report(const std::string& name) const {
    std::printf("%s: largest error %.3f of its tolerance (%s)\n", name.c_str(), worst_, worst_name_.c_str());
  }

 private:
  double worst_ = 0.0;
  std::string worst_name_;
};

// Every tensor under Hugging Face's names: its statistics and, if the case has the file, its distance from the
// reference's.
void check_tensors(Checks& checks, const std::string& group, const std::vector<checkpoint::NamedTensor>& ours,
                   const nlohmann::json& expected, const Path& reference, const nlohmann::json& undetermined);

}  // namespace convoy::model

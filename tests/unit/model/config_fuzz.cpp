// SPDX-License-Identifier: Apache-2.0
// Whatever bytes a config.json holds, reading it gives a model that we can describe and write again, or an error of the
// user's.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "libcore/base/error.h"
#include "libcore/model/parameters.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace convoy;
  model::Config config;
  try {
    config = model::parse_config(std::string_view(reinterpret_cast<const char*>(data), size), "fuzzed.json");
  } catch (const Error&) {
    return 0;
  }
  const std::string written = model::to_json(config, "float32");
  check(model::to_json(model::parse_config(written, "written.json"), "float32") == written,
        "what we write reads back to the same model");
  check(std::isfinite(model::training_flops_per_token(config, config.positions)),
        "the FLOPs of an accepted model are a number");
  constexpr std::int64_t kManyLayers = 64;  // a table of more takes longer than it teaches
  if (config.layers <= kManyLayers) {
    check(model::parameter_count(model::parameter_table(config)) > 0,
          "an accepted model has parameters, and their count fits");
  }
  return 0;
}

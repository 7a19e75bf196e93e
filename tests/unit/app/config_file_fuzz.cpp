// SPDX-License-Identifier: Apache-2.0
// Whatever bytes a configuration file holds, reading it gives settings, problems or a ConfigError.
#include <cstdint>

#include "libcore/app/config_file.h"
#include "libcore/base/error.h"
#include "tests/support/tmp_dir.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace convoy;
  static const support::TmpDir dir;
  const Path file = dir.write("fuzzed.toml", std::string_view(reinterpret_cast<const char*>(data), size));
  std::int64_t steps = 1, memory = 1;
  double rate = 0, stop_after = 0;
  bool deterministic = false;
  std::vector<std::string> sources, given;
  std::vector<double> weights;
  const std::vector<app::Option> options = {app::count("steps", steps, {1}, ""),
                                            app::bytes("memory", memory, {1}, ""),
                                            app::real("rate", rate, {0}, ""),
                                            app::seconds("stop-after", stop_after, {0}, ""),
                                            app::yes_no("deterministic", deterministic, ""),
                                            app::texts("data", "PREFIX", sources, ""),
                                            app::reals("weights", weights, {0}, "")};
  try {
    const auto problems = app::read_config(file, {"train", "run", {"run"}, {}}, options, given);
    check(!problems.empty() || steps >= 1, "a setting that was taken is legal");
    if (problems.empty()) {
      // What was taken can be written and read back to the same settings.
      const std::string written = app::write_config("train", options);
      given.clear();
      check(app::read_config(dir.write("written.toml", written), {"train", "run", {"run"}, {}}, options, given).empty(),
            "a written configuration has no problems");
      check(app::write_config("train", options) == written, "a written configuration reads back to the same settings");
    }
  } catch (const ConfigError&) {
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// The commands of convoy-profile. Each takes the struct that its options are parsed into, which must outlive the
// program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcore/analysis/synth.h"
#include "libcore/analysis/trace_set.h"
#include "libcore/app/run.h"

namespace convoy::apps::profile {

struct SynthArguments {
  std::string out;
  std::optional<std::int64_t> ranks;
  std::string layout;               // as given
  std::vector<std::string> faults;  // likewise
  std::int64_t seed = 1;
  analysis::StepRange window = {.first = 1, .last = 4};
  analysis::SynthOptions options;
};

struct CheckArguments {
  std::string run;
};

struct ExportArguments {
  std::string run, to, out;
  analysis::StepRange steps;
  std::vector<int> ranks;
  std::int64_t max_size = std::int64_t{256} << 20;
};

struct ImportArguments {
  std::string format, file, out;
  bool skip_bad_rows = false;
};

app::Command check_command(CheckArguments& arguments);
app::Command export_command(ExportArguments& arguments);
app::Command import_command(ImportArguments& arguments);
app::Command synth_command(SynthArguments& arguments);

}  // namespace convoy::apps::profile

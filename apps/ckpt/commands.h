// SPDX-License-Identifier: Apache-2.0
// The commands of convoy-ckpt. Each takes the struct that its options are parsed into, which must outlive the program.
#pragma once

#include <string>

#include "libcore/app/run.h"

namespace convoy::apps::ckpt {

struct InspectArguments {
  std::string checkpoint;
};

struct ExportArguments {
  std::string checkpoint;
  std::string out;
  std::string to = "hf";
  std::string dtype = "fp32";
};

app::Command inspect_command(InspectArguments& arguments);
app::Command export_command(ExportArguments& arguments);

}  // namespace convoy::apps::ckpt

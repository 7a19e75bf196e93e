// SPDX-License-Identifier: Apache-2.0
// The commands of convoy-ckpt. Each takes the struct that its options are parsed into, which must outlive the program.
#pragma once

#include <cstdint>
#include <string>

#include "apps/ckpt/convert.h"
#include "libcore/app/run.h"

namespace convoy::apps::ckpt {

struct InspectArguments {
  std::string checkpoint;
  std::string tensors = "*";
  bool statistics = false;
};

struct VerifyArguments {
  std::string checkpoint;
  bool deep = false;
};

struct DiffArguments {
  std::string a, b;
  std::string states;  // "weights", "all"; empty: all where both sides have them
  double absolute = 0.0, relative = 0.0;
};

struct ReshardArguments {
  std::string checkpoint;
  ConvertArguments convert;
};

struct ImportArguments {
  std::string folder;
  ConvertArguments convert;
};

struct ExportArguments {
  std::string checkpoint;
  std::string out;
  std::string to = "hf";
  std::string dtype;  // empty: as stored
  std::int64_t max_shard_size = 5'000'000'000;
  std::string tokenizer;
};

app::Command inspect_command(InspectArguments& arguments);
app::Command verify_command(VerifyArguments& arguments);
app::Command diff_command(DiffArguments& arguments);
app::Command reshard_command(ReshardArguments& arguments);
app::Command merge_command(ReshardArguments& arguments);
app::Command import_command(ImportArguments& arguments);
app::Command export_command(ExportArguments& arguments);

}  // namespace convoy::apps::ckpt

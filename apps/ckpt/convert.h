// SPDX-License-Identifier: Apache-2.0
// Writes what a source holds as a checkpoint of a layout: what reshard, merge and import have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/ckpt/layout.h"
#include "apps/ckpt/source.h"
#include "libcore/app/run.h"

namespace convoy::apps::ckpt {

struct ConvertArguments {
  std::string out;
  LayoutArguments layout;
  std::int64_t max_memory = std::int64_t{256} << 20;
  int threads = 0;  // 0: as many as the machine has, at most four
  bool dry_run = false;
};

std::vector<app::Option> convert_options(ConvertArguments& arguments);  // all but the layout

// Commits --out as one step directory, or prints what would be copied. `description`: of the result, but for the
// layout.
int convert(const Source& source, const checkpoint::Description& description, const ConvertArguments& arguments,
            const app::Session& session);

// Creates the folders above `out`, which itself must be new.
void prepare_place(const std::string& out);

}  // namespace convoy::apps::ckpt

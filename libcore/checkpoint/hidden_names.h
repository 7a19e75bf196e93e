// SPDX-License-Identifier: Apache-2.0
// The hidden siblings of a step directory: what a save fills before it is renamed, and what is on its way out. Their
// names say who made them: ".step_000001000.HOST.PID-N.tmp", ".step_000001000.HOST.PID-N.trash". Private to the module.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "libcore/base/file.h"

namespace convoy::checkpoint {

enum class Hidden { kTemporary, kTrash };

// A name that no other thread, process or host takes.
Path hidden_sibling(const Path& step_directory, Hidden kind);

struct HiddenName {
  std::string host;
  long pid = 0;
  Hidden kind = Hidden::kTemporary;
};
std::optional<HiddenName> parse_hidden_name(std::string_view name);  // empty for any other name

}  // namespace convoy::checkpoint

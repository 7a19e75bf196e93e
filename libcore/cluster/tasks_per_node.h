// SPDX-License-Identifier: Apache-2.0
// Slurm's compressed list of tasks a node, "4(x2),3": two nodes with four tasks, one with three. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace convoy::cluster {

// The number for node `node` (from 0); nothing if the text is no such list or is too short.
std::optional<int> tasks_on_node(std::string_view list, int node);

}  // namespace convoy::cluster

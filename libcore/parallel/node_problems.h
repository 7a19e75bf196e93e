// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a mesh are, and what is wrong with that. Pure.
#pragma once

#include <string>
#include <vector>

#include "libcore/parallel/mesh.h"

namespace convoy::parallel {

// Tensor-parallel ranks exchange the results of every product, which a network between nodes is too slow for. If a
// group of them spans nodes, why that is refused, with the group, its nodes and the nearest legal value; else empty.
// `nodes` has the name of each rank's node.
std::string tensor_across_nodes_problem(const Layout& layout, const std::vector<std::string>& nodes);

}  // namespace convoy::parallel

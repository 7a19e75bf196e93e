// SPDX-License-Identifier: Apache-2.0
// Asking the kernel for a part of a mapped file before it is read.
#pragma once

#include <cstddef>
#include <span>

namespace convoy {

// The pages of `part`, memory of a MappedFile, are read in the background. Does not wait, and never fails: whoever
// reads them sooner waits for the disk as without it.
void prefetch(std::span<const std::byte> part);

}  // namespace convoy

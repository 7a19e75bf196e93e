// SPDX-License-Identifier: Apache-2.0
// The names of files that are being written: hidden, next to their targets (rename works within a file system only), with the
// host and the process that writes them, so that what a killed one leaves can be told from work in progress.
#pragma once

#include <string_view>

#include "libcore/base/file.h"

namespace convoy {

// ".NAME.HOST.PID-N.tmp" beside `path`, N new at each call.
Path temporary_sibling(const Path& path);

// Removes the temporary files of `folder` whose targets' names begin with `start` and whose process, one of this host, is no
// more. Those of other hosts stay: from here nobody can see whether they still grow. What cannot be removed is left.
void remove_abandoned(const Path& folder, std::string_view start);

}  // namespace convoy

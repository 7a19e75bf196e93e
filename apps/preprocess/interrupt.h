// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM as an exception, so that temporary files are removed before the program ends.
#pragma once

#include <functional>

namespace convoy::apps::preprocess {

// Runs `work` with a function that throws once a signal has come. If one did, the temporary files are gone by then, and the
// process ends by that signal, as its parent expects.
int run_interruptible(const std::function<int(const std::function<void()>& poll)>& work);

}  // namespace convoy::apps::preprocess

// SPDX-License-Identifier: Apache-2.0
// The table of functions that a backend fills. The functions declared by the op headers check shapes and dtypes once
// and call through the stream's table; a backend may rely on those checks.
#pragma once

#include <string_view>

#include "libcore/ops/activation.h"
#include "libcore/ops/attention.h"
#include "libcore/ops/classifier.h"
#include "libcore/ops/dropout.h"
#include "libcore/ops/embedding.h"
#include "libcore/ops/linear.h"
#include "libcore/ops/norm.h"
#include "libcore/ops/optimizer.h"
#include "libcore/ops/rotary.h"

namespace convoy::ops {

struct Backend {
  std::string_view name;  // "cpu"
  LinearTable linear;
  NormTable norm;
  RotaryTable rotary;
  AttentionTable attention;
  ActivationTable activation;
  DropoutTable dropout;
  EmbeddingTable embedding;
  ClassifierTable classifier;
  OptimizerTable optimizer;
};

// The host's table, its kernels chosen for this processor on first use.
const Backend& cpu_backend();

}  // namespace convoy::ops

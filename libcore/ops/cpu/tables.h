// SPDX-License-Identifier: Apache-2.0
// The parts of the host's table, each defined in the source file of its op (ops/cpu/linear.cpp defines linear_table).
#pragma once

#include "libcore/ops/backend.h"

namespace convoy::ops::cpu {

LinearTable linear_table();
NormTable norm_table();
RotaryTable rotary_table();
AttentionTable attention_table();
ActivationTable activation_table();
DropoutTable dropout_table();
EmbeddingTable embedding_table();
ClassifierTable classifier_table();
OptimizerTable optimizer_table();

}  // namespace convoy::ops::cpu

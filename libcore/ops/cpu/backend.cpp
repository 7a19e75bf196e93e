// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/backend.h"

#include "libcore/ops/cpu/tables.h"

namespace convoy::ops {
namespace {

Backend make_backend() {
  Backend backend{};
  backend.name = "cpu";
  backend.norm = cpu::norm_table();
  backend.rotary = cpu::rotary_table();
  backend.activation = cpu::activation_table();
  backend.dropout = cpu::dropout_table();
  backend.embedding = cpu::embedding_table();
  backend.classifier = cpu::classifier_table();
  backend.attention = cpu::attention_table();
  backend.linear = cpu::linear_table();
  backend.optimizer = cpu::optimizer_table();
  return backend;
}

}  // namespace

const Backend& cpu_backend() {
  static const Backend backend = make_backend();
  return backend;
}

}  // namespace convoy::ops

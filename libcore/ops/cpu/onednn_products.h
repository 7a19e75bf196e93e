// SPDX-License-Identifier: Apache-2.0
// Matrix products of oneDNN on one thread, made once for a shape and kept, so that a step creates none.
// (oneDNN's own execute takes a few small objects from the heap and gives them back.)
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>

#include "libcore/ops/linear.h"

namespace convoy::ops::cpu {

// c [m, n] fp32 = a b, or c += a b. a and b are bf16 (or fp32) with rows lda and ldb apart; a transposed a is [k, m] in
// memory. With ldb = 0, b is in the form that pack() writes.
struct ProductKey {
  DType dtype = DType::kBF16;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  bool a_transposed = false;
  bool accumulate = false;
  auto operator<=>(const ProductKey&) const = default;
};

// Packs b [k, n] out of memory with dense rows, [k, n] or, transposed, [n, k].
struct PackKey {
  DType dtype = DType::kBF16;
  std::int64_t n = 0, k = 0;
  bool transposed = false;
  auto operator<=>(const PackKey&) const = default;
};

class OneDnnProducts {
 public:
  explicit OneDnnProducts(int threads);
  ~OneDnnProducts();

  // What the stream keeps, made on first use.
  static OneDnnProducts& of(Stream& stream);

  // Makes what is missing. One thread at a time, and not while others execute.
  void prepare(const ProductKey& key);
  void prepare(const PackKey& key);
  std::size_t packed_bytes(DType dtype, std::int64_t n, std::int64_t k);

  // Of prepared keys, by thread `thread` of the team.
  void multiply(const ProductKey& key, int thread, const void* a, const void* b, float* c) const;
  void pack(const PackKey& key, int thread, const void* b, void* packed) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

// Whether this processor multiplies bf16 numbers itself (AVX-512 BF16, AMX), as oneDNN sees it.
bool has_bf16_products();

}  // namespace convoy::ops::cpu

// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/digest.h"

#include <algorithm>
#include <cstring>

#include "libcore/base/error.h"

namespace convoy::checkpoint {
namespace {

// splitmix64's finaliser, in the caller's translation unit so that the loop below can be vectorised.
inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// The elements at consecutive indices of the whole tensor.
template <class Bits>
inline __attribute__((always_inline)) std::uint64_t sum_run(const std::byte* bytes, std::int64_t count,
                                                            std::uint64_t index) {
  std::uint64_t sum = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    Bits bits;
    std::memcpy(&bits, bytes + static_cast<std::size_t>(k) * sizeof bits, sizeof bits);
    sum += mix(mix(index + static_cast<std::uint64_t>(k) + 0x9E3779B97F4A7C15u) ^ bits);
  }
  return sum;
}

using RunSum = std::uint64_t (*)(const std::byte*, std::int64_t, std::uint64_t);

template <class Bits>
std::uint64_t run_portable(const std::byte* bytes, std::int64_t count, std::uint64_t index) {
  return sum_run<Bits>(bytes, count, index);
}

#if defined(__x86_64__)
template <class Bits>
__attribute__((target("avx2"))) std::uint64_t run_avx2(const std::byte* bytes, std::int64_t count,
                                                       std::uint64_t index) {
  return sum_run<Bits>(bytes, count, index);
}

template <class Bits>
__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))) std::uint64_t run_avx512(const std::byte* bytes,
                                                                                       std::int64_t count,
                                                                                       std::uint64_t index) {
  return sum_run<Bits>(bytes, count, index);
}

template <class Bits>
RunSum best_run() {
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    return run_avx512<Bits>;
  if (__builtin_cpu_supports("avx2")) return run_avx2<Bits>;
  return run_portable<Bits>;
}
#else
template <class Bits>
RunSum best_run() {
  return run_portable<Bits>;
}
#endif

RunSum run_of(std::size_t size) {
  static const RunSum two = best_run<std::uint16_t>(), four = best_run<std::uint32_t>();
  check(size == 2 || size == 4, "stored elements have 2 or 4 bytes");
  return size == 2 ? two : four;
}

// The box's elements in runs that are consecutive in the whole tensor too.
class Runs {
 public:
  Runs(const tensor::Shape& shape, const tensor::Box& box) : shape_(shape), box_(box) {
    for (dimension_ = box.extent.rank(); dimension_ > 0;) {
      --dimension_;
      length_ *= box.extent[dimension_];
      if (box.extent[dimension_] != shape[dimension_]) break;
    }
  }
  std::int64_t length() const { return length_; }
  // The index in the whole tensor of the first element of run `number`.
  std::uint64_t start(std::int64_t number) const {
    return static_cast<std::uint64_t>(tensor::index_in_whole(shape_, box_, number * length_));
  }

 private:
  const tensor::Shape& shape_;
  const tensor::Box& box_;
  int dimension_ = 0;  // the outermost that a run covers
  std::int64_t length_ = 1;
};

}  // namespace

std::uint64_t digest_part(std::span<const std::byte> bytes, tensor::DType dtype, const tensor::Shape& shape,
                          const tensor::Box& box, std::int64_t first) {
  const std::size_t size = tensor::size_of(dtype);
  const RunSum sum_of_run = run_of(size);
  const Runs runs(shape, box);
  const auto end = first + static_cast<std::int64_t>(bytes.size() / size);
  check(first >= 0 && end <= box.count() && bytes.size() % size == 0, "the bytes are whole elements of the box");
  std::uint64_t sum = 0;
  for (std::int64_t element = first; element < end;) {
    const std::int64_t within = element % runs.length();
    const std::int64_t count = std::min(runs.length() - within, end - element);
    sum += sum_of_run(bytes.data() + static_cast<std::size_t>(element - first) * size, count,
                      runs.start(element / runs.length()) + static_cast<std::uint64_t>(within));
    element += count;
  }
  return sum;
}

}  // namespace convoy::checkpoint

// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <numeric>

#include "libcore/comm/self.h"
#include "libcore/comm/threads.h"
#include "libcore/ops/backend.h"
#include "tests/dist/ranks.h"

namespace convoy::dist {
namespace {

using comm::Communicator;
using comm::Reduction;
using tensor::DType;
using tensor::MutableView;
using Bytes = std::vector<std::byte>;

constexpr double kWatchdog = 60;

struct Case {
  DType dtype = DType::kF32;
  Reduction reduction = Reduction::kSum;
  std::int64_t count = 0;
  std::string text() const { return std::to_string(count) + " " + std::string(tensor::name_of(dtype)); }
};

// Badly scaled numbers: a sum in another order has other bits.
float value_of(int rank, std::int64_t i) {
  const auto mixed = static_cast<std::uint32_t>(i * 7 + rank * 13 + 1) * 2654435761u;
  return std::ldexp(static_cast<float>(mixed % 2001) - 1000.0f, static_cast<int>(mixed >> 20) % 40 - 20);
}

template <class T, class Make>
void fill(Bytes& bytes, Make make) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    const T value = make(static_cast<std::int64_t>(i));
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof value);
  }
}

Bytes input_of(const Case& what, int rank) {
  Bytes bytes(static_cast<std::size_t>(what.count) * tensor::size_of(what.dtype));
  switch (what.dtype) {
    case DType::kF32:
      fill<float>(bytes, [rank](std::int64_t i) { return value_of(rank, i); });
      break;
    case DType::kF64:
      fill<double>(bytes, [rank](std::int64_t i) { return value_of(rank, i) / 3.0; });
      break;
    case DType::kI64:
      fill<std::int64_t>(bytes, [rank](std::int64_t i) { return i * 1000003 - rank * 17; });
      break;
    default:
      fill<tensor::Bf16>(bytes, [rank](std::int64_t i) { return tensor::to_bf16(value_of(rank, i)); });
  }
  return bytes;
}

MutableView view(Bytes& bytes, const Case& what) { return {bytes.data(), what.dtype, {what.count}, 0}; }

// Uneven parts, one of them empty.
std::vector<std::int64_t> parts_of(std::int64_t count, int ranks) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks), 0);
  for (std::size_t r = 1; r + 1 < counts.size(); ++r) counts[r] = count / 5;
  counts[0] = count - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  return counts;
}

// Every collective once; the results one behind the other.
std::vector<Bytes> results(Communicator& group, const Case& what) {
  device::Stream host(ops::cpu_backend(), 1);
  const std::vector<std::int64_t> counts = parts_of(what.count, group.size());
  const auto begin = std::accumulate(counts.begin(), counts.begin() + group.rank(), std::int64_t{0});
  const std::int64_t end = begin + counts[static_cast<std::size_t>(group.rank())];
  Bytes reduced = input_of(what, group.rank()), scattered = reduced, gathered = reduced, told = reduced;
  group.all_reduce(host, view(reduced, what), what.reduction);
  const MutableView whole = view(scattered, what);
  group.reduce_scatter(host, whole, tensor::flat_part(whole, begin, end), counts, what.reduction);
  const std::size_t size = tensor::size_of(what.dtype);
  scattered = Bytes(scattered.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(begin) * size),
                    scattered.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(end) * size));
  group.all_gather(host, tensor::flat_part(view(gathered, what), begin, end), view(gathered, what), counts);
  group.broadcast(host, view(told, what), group.size() - 1);
  group.barrier();
  return {reduced, scattered, gathered, told};
}

// Of rank `rank` of `ranks` threads.
std::vector<Bytes> results_of_threads(int ranks, int rank, const Case& what) {
  std::vector<Bytes> mine;
  comm::run_ranks(
      ranks,
      [&](Communicator& world) {
        std::vector<Bytes> all = results(world, what);
        if (world.rank() == rank) mine = std::move(all);
      },
      kWatchdog);
  return mine;
}

void compare(Communicator& group, const Case& what, Verdict& verdict) {
  const char* const names[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast"};
  const std::vector<Bytes> got = results(group, what);
  const std::vector<Bytes> expected = results_of_threads(group.size(), group.rank(), what);
  for (std::size_t i = 0; i < got.size(); ++i) {
    verdict.expect(got[i] == expected[i], std::string(names[i]) + " of " + what.text() + " in a group of " +
                                              std::to_string(group.size()) + " has other bits than with threads");
  }
}

}  // namespace

void compare_with_threads(Communicator& world, Verdict& verdict) {
  for (int ranks = 1; ranks <= world.size(); ++ranks) {
    const std::unique_ptr<Communicator> group = world.split(world.rank() < ranks ? 0 : -1, world.rank(), "first");
    if (!group) continue;
    verdict.expect(group->size() == ranks && group->rank() == world.rank(), "a group of the first ranks");
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kI64, DType::kBF16}) {
      for (const Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin}) {
        for (const std::int64_t count : {0, 1, 5, 1031, 40009}) compare(*group, {dtype, reduction, count}, verdict);
      }
    }
    const Case large{DType::kF32, Reduction::kSum, 3000017};
    compare(*group, large, verdict);
    if (ranks == 1) {
      verdict.expect(results(*group, large) == results(*comm::make_self(), large), "a group of one is as self");
    }
  }
}

void exchange_messages(Communicator& world, Verdict& verdict) {
  device::Stream host(ops::cpu_backend(), 1);
  const int next = (world.rank() + 1) % world.size(), before = (world.rank() + world.size() - 1) % world.size();
  const std::vector<std::int64_t> counts = {3, 100000, 0, 1, 70001, 12};
  // All are sent before the first is received: a send does not wait.
  for (int round = 0; round < 3; ++round) {
    for (const std::int64_t count : counts) {
      const Case what{DType::kF32, Reduction::kSum, count};
      Bytes data = input_of(what, world.rank() + round);
      world.send(host, view(data, what), next);
      std::fill(data.begin(), data.end(), std::byte{0});  // a send has copied
    }
    for (const std::int64_t count : counts) {
      const Case what{DType::kF32, Reduction::kSum, count};
      Bytes data(static_cast<std::size_t>(count) * sizeof(float));
      world.receive(host, view(data, what), before);
      verdict.expect(data == input_of(what, before + round), "the message of " + what.text());
    }
  }
}

}  // namespace convoy::dist

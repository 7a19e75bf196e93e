// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"
#include "tests/dist/ranks.h"

namespace convoy::dist {
namespace {

using comm::Communicator;

constexpr double kWatchdog = 1.5;
constexpr auto kHang = std::chrono::seconds(60);

void sum(Communicator& group) {
  device::Stream host(ops::cpu_backend(), 1);
  float one = 1.0f;
  group.all_reduce(host, {&one, tensor::DType::kF32, {1}, 0}, comm::Reduction::kSum);
}

// As a program does: what happened is told, then the job ends.
template <class Body>
int told(Communicator& world, Body body) {
  try {
    body();
  } catch (const Error& error) {
    fmt::print(stderr, "rank {} says: {}\n", world.rank(), error.what());
    world.end_job(static_cast<int>(error.code()));
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {} caught an error of another type: {}\n", world.rank(), error.what());
    world.end_job(1);
  }
  return 0;
}

}  // namespace

// Rank 2 does not come to the second sum of its group.
int hang(Communicator& world) {
  return told(world, [&world] {
    world.set_watchdog(kWatchdog);
    world.set_nodes({"n01", "n01", "n02", "n02"});
    const std::unique_ptr<Communicator> group = world.split(world.rank() % 2, world.rank(), "data");
    sum(*group);
    if (world.rank() == 2) std::this_thread::sleep_for(kHang);
    sum(*group);
    world.barrier();
  });
}

// Rank 3 hangs; rank 2 waits for it in another group than the one in which rank 0 waits for rank 2.
int hang_elsewhere(Communicator& world) {
  return told(world, [&world] {
    world.set_watchdog(kWatchdog);
    const std::unique_ptr<Communicator> rows = world.split(world.rank() / 2, world.rank(), "tensor");
    const std::unique_ptr<Communicator> columns = world.split(world.rank() % 2, world.rank(), "data");
    if (world.rank() == 3) std::this_thread::sleep_for(kHang);
    if (world.rank() == 2) sum(*rows);
    sum(*columns);
  });
}

int wait_for_a_message(Communicator& world) {
  return told(world, [&world] {
    world.set_watchdog(kWatchdog);
    device::Stream host(ops::cpu_backend(), 1);
    float one = 1.0f;
    if (world.rank() == 0) world.receive(host, {&one, tensor::DType::kF32, {1}, 0}, 1);
    std::this_thread::sleep_for(kHang);
  });
}

int end_job(Communicator& world) {
  if (world.rank() == 1) world.end_job(75);
  world.barrier();
  return 0;
}

// The exception destroys the world while the others sit in a collective.
int throw_alone(std::unique_ptr<Communicator> world) {
  const std::unique_ptr<Communicator> mine = std::move(world);
  if (mine->rank() == 1) throw DataError("only rank 1 found this");
  mine->barrier();
  return 0;
}

int die(Communicator& world) {
  sum(world);
  if (world.rank() == 1) ::kill(::getpid(), SIGKILL);
  world.barrier();
  return 0;
}

}  // namespace convoy::dist

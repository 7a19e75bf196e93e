// SPDX-License-Identifier: Apache-2.0
#include "tests/dist/ranks.h"

#include <fmt/format.h>

#include <cstdio>

#include "libcore/base/error.h"
#include "libcore/comm/load.h"
#include "libcore/comm/mpi/world.h"

namespace convoy::dist {

void Verdict::expect(bool holds, const std::string& what) {
  if (holds) return;
  ++wrong_;
  fmt::print("rank {}: {}\n", rank_, what);
}

namespace {

int collectives(comm::Communicator& world) {
  Verdict verdict(world.rank());
  compare_with_threads(world, verdict);
  exchange_messages(world, verdict);
  return verdict.exit_code();
}

// Tiny pieces and chunks, neither a multiple of the elements' size.
int pieces() {
  const std::unique_ptr<comm::Communicator> world =
      comm::make_mpi_world({.piece_bytes = 4999, .chunk_bytes = 30011, .small_bytes = 64, .listen_seconds = 1.0});
  world->set_watchdog(60.0);
  return collectives(*world);
}

int run(const std::string& what, int ranks) {
  if (what == "pieces") return pieces();
  std::unique_ptr<comm::Communicator> world = comm::make_world(ranks);
  if (what == "collectives") {
    world->set_watchdog(60.0);
    return collectives(*world);
  }
  if (what == "hang") return hang(*world);
  if (what == "hang-elsewhere") return hang_elsewhere(*world);
  if (what == "message") return wait_for_a_message(*world);
  if (what == "end-job") return end_job(*world);
  if (what == "throw") return throw_alone(std::move(world));
  if (what == "die") return die(*world);
  fmt::print(stderr, "unknown case {}\n", what);
  return 2;
}

}  // namespace
}  // namespace convoy::dist

int main(int argc, char** argv) {
  try {
    return argc == 3 ? convoy::dist::run(argv[1], std::stoi(argv[2])) : 2;
  } catch (const convoy::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return static_cast<int>(error.code());
  }
}

// SPDX-License-Identifier: Apache-2.0
// Seconds of one save of fp32 states by thread ranks, and of the floor: the same bytes copied, checksummed, written and
// synced by as many threads, with no format at all. The first save of the process is not counted: it touches the
// staging memory, which later saves find ready.
//
//   save_bench FOLDER MIB RANKS ROUNDS      prints {"save": s, "stage": s, "write": s, "floor": s} a round
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/checkpoint/save.h"
#include "libcore/checkpoint/step_directory.h"
#include "libcore/comm/threads.h"

namespace convoy::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kColumns = 1024;
constexpr std::int64_t kTensors = 24;  // of each state
constexpr std::size_t kPiece = std::size_t{1} << 20;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Settings {
  Path folder;
  std::int64_t mib = 1024;
  int ranks = 2, rounds = 3;
};

// One rank's part of every tensor, a range of its rows.
struct States {
  std::vector<float> values;
  std::vector<LocalState> states;
};

States make_states(const Settings& settings, int rank) {
  States made;
  const std::int64_t rows = settings.mib * (1 << 20) / (3 * kTensors * kColumns * 4) / settings.ranks;  // a rank's
  made.values.resize(static_cast<std::size_t>(3 * kTensors * rows * kColumns));
  for (std::size_t i = 0; i < made.values.size(); ++i) made.values[i] = static_cast<float>(i % 1000003) * 1e-6F;
  std::int64_t number = 0;
  for (const std::string_view state : {kWeight, kFirstMoment, kSecondMoment}) {
    for (std::int64_t i = 0; i < kTensors; ++i, ++number) {
      const float* data = made.values.data() + number * rows * kColumns;
      made.states.push_back({.name = fmt::format("layer.{}.weight", i),
                             .state = std::string(state),
                             .shape = tensor::Shape{rows * settings.ranks, kColumns},
                             .boxes = {{tensor::Shape{rank * rows, 0}, tensor::Shape{rows, kColumns}}},
                             .data = tensor::View(data, tensor::DType::kF32, tensor::Shape{rows * kColumns})});
    }
  }
  return made;
}

// Copy, CRC-32C, pwrite, fsync of one rank's bytes.
void write_floor(const Path& file, const std::vector<float>& values, std::vector<std::byte>& staging) {
  const std::size_t size = values.size() * sizeof(float);
  std::memcpy(staging.data(), values.data(), size);
  const int descriptor = ::open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0666);
  std::uint32_t crc = 0;
  for (std::size_t at = 0; at < size; at += kPiece) {
    const std::span<const std::byte> piece(staging.data() + at, std::min(kPiece, size - at));
    crc = crc32c(piece, crc);
    check(
        ::pwrite(descriptor, piece.data(), piece.size(), static_cast<off_t>(at)) == static_cast<ssize_t>(piece.size()),
        "the disk takes the bytes");
  }
  check(::fsync(descriptor) == 0 && ::close(descriptor) == 0 && crc != 1, "the disk keeps the bytes");
}

void run_rank(comm::Communicator& world, const Settings& settings) {
  const States made = make_states(settings, world.rank());
  std::vector<std::byte> staging(made.values.size() * sizeof(float));
  Saver saver(world, shard_file_name(0, 0, world.rank()), 1);
  for (int round = 0; round <= settings.rounds; ++round) {
    world.barrier();
    Clock::time_point start = Clock::now();
    const Path step = settings.folder / step_directory_name(round);
    Description description;
    description.progress.step = round;
    description.model_config = "{}";
    saver.stage(step, description, made.states);
    saver.write();
    const SaveReport report = saver.commit();
    const double save = seconds_since(start);
    if (world.rank() == 0) std::filesystem::remove_all(step);
    const Path file = settings.folder / fmt::format("floor-{}", world.rank());
    world.barrier();
    start = Clock::now();
    write_floor(file, made.values, staging);
    world.barrier();
    const double floor = seconds_since(start);
    std::filesystem::remove(file);
    if (world.rank() == 0 && round > 0) {
      fmt::print("{{\"save\": {:.4f}, \"stage\": {:.4f}, \"write\": {:.4f}, \"floor\": {:.4f}, \"bytes\": {}}}\n", save,
                 report.stall_seconds, report.write_seconds, floor, report.bytes);
    }
  }
}

}  // namespace
}  // namespace convoy::checkpoint

int main(int argc, char** argv) {
  using namespace convoy;
  if (argc != 5) {
    std::fputs("usage: save_bench FOLDER MIB RANKS ROUNDS\n", stderr);
    return 2;
  }
  const checkpoint::Settings settings{
      .folder = argv[1], .mib = std::atoll(argv[2]), .ranks = std::atoi(argv[3]), .rounds = std::atoi(argv[4])};
  comm::run_ranks(
      settings.ranks, [&](comm::Communicator& world) { checkpoint::run_rank(world, settings); }, 600);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/trace_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "libcore/base/error.h"
#include "libcore/trace/block.h"
#include "libcore/trace/descriptor.h"
#include "libcore/trace/record_check.h"

namespace convoy::trace {
namespace {

std::size_t record_bytes(BlockKind kind) { return kind == BlockKind::kSteps ? sizeof(StepRecord) : sizeof(Event); }

// What a header alone can show to be wrong; `available` bytes of its block are in the file.
bool is_plausible(const BlockHeader& header, std::uint64_t index, std::uint64_t available) {
  if (header.magic != kBlockMagic || header.index != index) return false;
  if (header.kind != BlockKind::kSteps && header.kind != BlockKind::kEvents) return false;
  return header.bytes <= kBlockPayload && sizeof header + header.bytes <= available &&
         header.bytes % record_bytes(header.kind) == 0;
}

BlockHeader header_at_front(std::span<const std::byte> block) {
  BlockHeader header;
  std::memcpy(&header, block.data(), sizeof header);
  return header;
}

std::span<const std::byte> payload_of(const BlockHeader& header, std::span<const std::byte> block) {
  return block.subspan(sizeof header, header.bytes);
}

bool has_its_crc(const BlockHeader& header, std::span<const std::byte> block) {
  return header.crc == crc_of(header, crc32c(payload_of(header, block)));
}

Descriptor open_regular(const Path& path) {
  // Of a FIFO nobody may ever write, the opening would wait.
  Descriptor file(path, O_RDONLY | O_NONBLOCK);
  if (!file) throw EnvironmentError(fmt::format("cannot open trace '{}': {}", path.string(), std::strerror(errno)));
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw EnvironmentError(fmt::format("cannot read trace '{}': it is not a regular file", path.string()));
  return file;
}

}  // namespace

struct TraceReader::State {
  Path path;
  Descriptor file;
  Header header;
  std::uint64_t index = 1;  // of the block that comes next
  Damage damage;
  std::vector<std::byte> buffer = std::vector<std::byte>(kBlockBytes);

  std::span<const std::byte> read(std::size_t bytes) {
    const std::int64_t got = file.read_at(index * kBlockBytes, std::span(buffer).first(bytes));
    if (got < 0) {
      throw EnvironmentError(fmt::format("cannot read trace '{}' at byte {}: {}", path.string(), index * kBlockBytes,
                                         std::strerror(errno)));
    }
    return std::span(buffer).first(static_cast<std::size_t>(got));
  }

  std::uint64_t available() const {
    struct stat status = {};
    if (::fstat(file.get(), &status) != 0 || status.st_size < 0) return 0;
    const std::uint64_t size = static_cast<std::uint64_t>(status.st_size), from = index * kBlockBytes;
    return size <= from ? 0 : std::min<std::uint64_t>(size - from, kBlockBytes);
  }

  void count_damage(std::uint64_t bytes) {
    ++damage.blocks;
    damage.bytes += bytes;
  }

  void read_header();
  std::optional<BlockHeader> sound_block(bool steps_only, std::span<const std::byte>& payload);
  bool next(bool steps_only, std::vector<StepRecord>& steps, std::vector<Event>* events);
  template <class Record, class Problem>
  void take(std::span<const std::byte> payload, std::vector<Record>& records, const Problem& problem);
};

void TraceReader::State::read_header() {
  index = 0;
  const std::span<const std::byte> block = read(kBlockBytes);
  index = 1;
  const auto refuse = [&](std::string_view problem) {
    throw DataError(fmt::format("'{}' is not a trace that can be read: {}", path.string(), problem));
  };
  if (block.size() < sizeof(BlockHeader)) refuse(fmt::format("it has {} bytes, which is no header", block.size()));
  const BlockHeader front = header_at_front(block);
  if (front.magic != kBlockMagic) refuse("it does not begin as a trace does");
  if (front.kind != BlockKind::kHeader || front.index != 0) refuse("its first block is not the header");
  if (front.bytes > block.size() - sizeof front) refuse("it ends within its header");
  if (!has_its_crc(front, block)) refuse("its header is damaged (the checksum differs)");
  const std::span<const std::byte> text = payload_of(front, block);
  header = header_of({reinterpret_cast<const char*>(text.data()), text.size()}, path.string());
}

// The block at `index`, if it is sound and wanted; otherwise it is counted.
std::optional<BlockHeader> TraceReader::State::sound_block(bool steps_only, std::span<const std::byte>& payload) {
  // Twice: the header of the last block may be rewritten while it is read.
  for (const bool again : {false, true}) {
    if (steps_only) {
      const std::span<const std::byte> front = read(sizeof(BlockHeader));
      if (front.size() == sizeof(BlockHeader) && header_at_front(front).kind == BlockKind::kEvents &&
          is_plausible(header_at_front(front), index, available()))
        return std::nullopt;
    }
    const std::span<const std::byte> block = read(kBlockBytes);
    if (block.size() >= sizeof(BlockHeader)) {
      const BlockHeader front = header_at_front(block);
      if (is_plausible(front, index, block.size()) && has_its_crc(front, block)) {
        if (steps_only && front.kind == BlockKind::kEvents) return std::nullopt;
        payload = payload_of(front, block);
        return front;
      }
    }
    if (again) count_damage(block.size());
  }
  return std::nullopt;
}

// Records that are not sound, under a right CRC, are nothing that our writer wrote: they are left out one by one.
template <class Record, class Problem>
void TraceReader::State::take(std::span<const std::byte> payload, std::vector<Record>& records,
                              const Problem& problem) {
  records.resize(payload.size() / sizeof(Record));
  std::memcpy(records.data(), payload.data(), payload.size());
  const std::size_t left_out = std::erase_if(records, [&](const Record& record) {
    const std::string_view found = problem(record);
    if (damage.problem.empty()) damage.problem = found;
    return !found.empty();
  });
  damage.records += left_out;
  if (left_out > 0) count_damage(left_out * sizeof(Record));
}

bool TraceReader::State::next(bool steps_only, std::vector<StepRecord>& steps, std::vector<Event>* events) {
  steps.clear();
  if (events != nullptr) events->clear();
  for (; available() > 0; ++index) {
    std::span<const std::byte> payload;
    const std::optional<BlockHeader> block = sound_block(steps_only, payload);
    if (!block || payload.empty()) continue;
    if (block->kind == BlockKind::kSteps) {
      take(payload, steps, [](const StepRecord& record) { return problem_of(record); });
    } else {
      take(payload, *events, [this](const Event& event) { return problem_of(event, header); });
    }
    if (steps.empty() && (events == nullptr || events->empty())) continue;
    ++index;
    return true;
  }
  return false;
}

TraceReader::TraceReader(const Path& file) : state_(std::make_unique<State>()) {
  state_->path = file;
  state_->file = open_regular(file);
  state_->read_header();
}

TraceReader::~TraceReader() = default;
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;

const Header& TraceReader::header() const { return state_->header; }

bool TraceReader::next(std::vector<StepRecord>& steps, std::vector<Event>& events) {
  return state_->next(false, steps, &events);
}

bool TraceReader::next_steps(std::vector<StepRecord>& steps) { return state_->next(true, steps, nullptr); }

void TraceReader::rewind() {
  state_->index = 1;
  state_->damage = {};
}

const Damage& TraceReader::damage() const { return state_->damage; }

}  // namespace convoy::trace

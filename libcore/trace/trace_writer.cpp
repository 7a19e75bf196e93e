// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/trace_writer.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "libcore/base/error.h"
#include "libcore/trace/block.h"
#include "libcore/trace/descriptor.h"

namespace convoy::trace {
namespace {

// A block that still has room. Each kind of record fills one of its own, so that blocks of both stay dense.
struct OpenBlock {
  BlockHeader header;
  std::uint32_t payload_crc = 0;

  bool is_open() const { return header.index > 0; }
  std::size_t room(std::size_t record) const { return is_open() ? (kBlockPayload - header.bytes) / record : 0; }
};

}  // namespace

struct TraceWriter::State {
  Path path;
  Descriptor file;
  std::uint64_t blocks = 0;  // begun
  OpenBlock steps, events;

  void write(std::uint64_t offset, std::span<const std::byte> bytes) const {
    if (file.write_at(offset, bytes)) return;
    const int error = errno;
    throw EnvironmentError(fmt::format("cannot write trace '{}': {}{}", path.string(), std::strerror(error),
                                       error == ENOSPC || error == EDQUOT ? "; free some space" : ""));
  }

  // A block is sound before it holds anything: its header comes first.
  OpenBlock begin_block(BlockKind kind) {
    OpenBlock block;
    block.header.kind = kind;
    block.header.index = blocks;
    seal(block);
    ++blocks;
    return block;
  }

  void seal(OpenBlock& block) const {
    block.header.crc = crc_of(block.header, block.payload_crc);
    write(block.header.index * kBlockBytes, std::as_bytes(std::span(&block.header, 1)));
  }

  // What is behind the payload that counts is nothing to a reader, until the header says otherwise.
  void extend(OpenBlock& block, std::span<const std::byte> bytes) const {
    write(block.header.index * kBlockBytes + sizeof(BlockHeader) + block.header.bytes, bytes);
    OpenBlock extended = block;
    extended.header.bytes += static_cast<std::uint32_t>(bytes.size());
    extended.payload_crc = crc32c(bytes, block.payload_crc);
    seal(extended);
    block = extended;
  }

  template <class Record>
  void append(OpenBlock& block, BlockKind kind, std::span<const Record> records) {
    while (!records.empty()) {
      if (block.room(sizeof(Record)) == 0) block = begin_block(kind);
      const std::size_t count = std::min(records.size(), block.room(sizeof(Record)));
      extend(block, std::as_bytes(records.first(count)));
      records = records.subspan(count);
    }
  }
};

TraceWriter::TraceWriter(const Path& file, const Header& header) : state_(std::make_unique<State>()) {
  const std::string json = to_json(header);
  if (json.size() > kBlockPayload) {
    throw DataError(fmt::format("trace '{}': its header has {} bytes, at most {} fit into a block", file.string(),
                                json.size(), kBlockPayload));
  }
  header_of(json, file.string());  // what no reader would take is refused now
  state_->path = file;
  state_->file = Descriptor(file, O_WRONLY | O_CREAT | O_TRUNC);
  if (!state_->file) {
    throw EnvironmentError(fmt::format("cannot create trace '{}': {}", file.string(), std::strerror(errno)));
  }
  OpenBlock block = state_->begin_block(BlockKind::kHeader);
  state_->extend(block, std::as_bytes(std::span(json)));
}

TraceWriter::~TraceWriter() = default;

void TraceWriter::append(std::span<const StepRecord> steps) { state_->append(state_->steps, BlockKind::kSteps, steps); }

void TraceWriter::append(std::span<const Event> events) { state_->append(state_->events, BlockKind::kEvents, events); }

}  // namespace convoy::trace

// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/tensorboard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <protozero/pbf_writer.hpp>
#include <vector>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"

namespace convoy::train {
namespace {

// Field numbers of tensorflow/core/util/event.proto and framework/summary.proto.
constexpr protozero::pbf_tag_type kEventWallTime = 1, kEventStep = 2, kEventFileVersion = 3, kEventSummary = 5;
constexpr protozero::pbf_tag_type kSummaryValue = 1, kValueTag = 1, kValueSimple = 2;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

template <class Unsigned>
void append_little_endian(std::string& out, Unsigned value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(bytes)));
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::string version_event(double wall_time) {
  std::string bytes;
  protozero::pbf_writer event(bytes);
  event.add_double(kEventWallTime, wall_time);
  event.add_string(kEventFileVersion, "brain.Event:2");
  return bytes;
}

}  // namespace

std::string tensorboard_record(std::string_view bytes) {
  std::string record;
  append_little_endian(record, static_cast<std::uint64_t>(bytes.size()));
  append_little_endian(record, masked_crc(record));
  record.append(bytes);
  append_little_endian(record, masked_crc(bytes));
  return record;
}

std::string tensorboard_event(double wall_time, std::int64_t step, std::span<const Scalar> scalars) {
  std::string bytes;
  protozero::pbf_writer event(bytes);
  event.add_double(kEventWallTime, wall_time);
  event.add_int64(kEventStep, step);
  protozero::pbf_writer summary(event, kEventSummary);
  for (const Scalar& scalar : scalars) {
    protozero::pbf_writer value(summary, kSummaryValue);
    value.add_string(kValueTag, scalar.tag);
    value.add_float(kValueSimple, static_cast<float>(scalar.value));
  }
  return bytes;
}

TensorBoardWriter::TensorBoardWriter(const Path& folder, std::string_view host, std::int64_t pid) {
  ensure_directory(folder);
  const double now = seconds_now();
  path_ = folder / fmt::format("events.out.tfevents.{}.{}.{}.0", static_cast<std::int64_t>(now), host, pid);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0)
    throw EnvironmentError(fmt::format("cannot create {}: {}", path_.string(), std::strerror(errno)));
  append(tensorboard_record(version_event(now)));
}

TensorBoardWriter::~TensorBoardWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void TensorBoardWriter::add(std::int64_t step, std::span<const Scalar> scalars) {
  std::vector<Scalar> finite;
  for (const Scalar& scalar : scalars) {
    if (std::isfinite(scalar.value)) finite.push_back(scalar);
  }
  if (!finite.empty()) append(tensorboard_record(tensorboard_event(seconds_now(), step, finite)));
}

void TensorBoardWriter::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ::ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw EnvironmentError(fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace convoy::train

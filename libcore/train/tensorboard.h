// SPDX-License-Identifier: Apache-2.0
// Scalars as TensorBoard reads them: a file of records, each an Event message in protobuf's wire format, framed with
// masked CRC-32C (TensorFlow's record format, tensorflow/core/lib/io/record_writer.h). The proto is written by hand
// because libprotobuf cannot share a process with SentencePiece's copy.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "libcore/base/file.h"

namespace convoy::train {

struct Scalar {
  std::string tag;
  double value = 0.0;
};

// One framed record: u64 length, u32 masked CRC of the length, the bytes, u32 masked CRC of the bytes.
std::string tensorboard_record(std::string_view bytes);
// An Event message with the scalars of one step.
std::string tensorboard_event(double wall_time, std::int64_t step, std::span<const Scalar> scalars);

class TensorBoardWriter {
 public:
  // Creates `folder`/events.out.tfevents.SECONDS.HOST.PID.0.
  TensorBoardWriter(const Path& folder, std::string_view host, std::int64_t pid);
  ~TensorBoardWriter();
  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;

  // One write(2) a call. Values that are not finite are left out: the reader draws them as gaps.
  void add(std::int64_t step, std::span<const Scalar> scalars);

 private:
  void append(std::string_view bytes);

  Path path_;
  int descriptor_ = -1;
};

}  // namespace convoy::train

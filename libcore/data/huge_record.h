// SPDX-License-Identifier: Apache-2.0
// Records that come in parts because they are too large for memory (RecordPart): encoded part by part, the ids in a scratch file
// until the record's end, where it is known whether it is good, which split it is of, and how many tokens it has. What comes out is
// what BatchEncoder makes of a record that is whole.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/checksum.h"
#include "libcore/base/scratch_file.h"
#include "libcore/base/utf8.h"
#include "libcore/data/encode_batch.h"
#include "libcore/data/json_parts.h"

namespace convoy::data {

// The ids of a document, on disk.
class SpooledIds {
 public:
  explicit SpooledIds(const Path& sibling) : file_(sibling) {}
  void add(const std::vector<std::int32_t>& ids);
  void clear();
  std::int64_t size() const { return static_cast<std::int64_t>(file_.size() / sizeof(std::int32_t)); }
  std::int32_t first() const { return first_; }  // of at least one
  std::int32_t last() const { return last_; }
  void for_each_part(const std::function<void(std::span<const std::int32_t>)>& take);

 private:
  ScratchFile file_;
  std::int32_t first_ = -1, last_ = -1;
};

// A document of a batch, whose ids are elsewhere.
struct HugeDocument {
  std::int64_t tokens = 0;  // with BOS and EOS
  std::size_t split = 0;
  TextKey key = {};
  std::function<void(const std::function<void(std::span<const std::int32_t>)>& take)> for_each_part;  // of its ids, all in order
};

class HugeRecords {
 public:
  // `poll` throws to stop. Scratch files lie beside options.out. All that is given lives as long.
  HugeRecords(const BatchEncoder& encoder, const EncodeOptions& options, const std::function<void()>& poll);
  ~HugeRecords();

  // The parts in order, from one thread. Returns what they count for; a document of the last part is in `document`, good until close().
  EncodedBatch take(const EncodedBatch& part, std::optional<HugeDocument>& document);
  // After a record's last part: gives back what it took, its scratch files above all.
  void close();

 private:
  struct Record;

  const BatchEncoder& encoder_;
  const EncodeOptions& options_;
  const std::function<void()>& poll_;
  std::unique_ptr<Record> record_;  // that is open
};

}  // namespace convoy::data

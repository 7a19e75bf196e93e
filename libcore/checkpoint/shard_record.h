// SPDX-License-Identifier: Apache-2.0
// What a rank tells rank 0 of the shard that it wrote, and the manifest that rank 0 makes of all. Private to the
// module.
#pragma once

#include <string>
#include <vector>

#include "libcore/checkpoint/manifest.h"
#include "libcore/checkpoint/shard_writer.h"

namespace convoy::checkpoint {

struct ShardRecord {
  StoredFile file;
  std::vector<FragmentPlan> plans;
  std::vector<WrittenFragment> written;  // of each plan
};

std::string to_bytes(const ShardRecord& record);
ShardRecord parse_shard_record(std::string_view bytes);

// Tensors, fragments and files of the records, all but those without fragments. InternalError if two ranks disagree
// about a tensor.
Manifest merge_records(const std::vector<ShardRecord>& records);

}  // namespace convoy::checkpoint

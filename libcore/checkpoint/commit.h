// SPDX-License-Identifier: Apache-2.0
// The last steps of a save, and the first of an open: manifest.json, and the COMMIT that vouches for it. Private to the
// module.
#pragma once

#include <string>

#include "libcore/base/file.h"
#include "libcore/checkpoint/manifest.h"

namespace convoy::checkpoint {

constexpr const char* kManifestFile = "manifest.json";
constexpr const char* kCommitFile = "COMMIT";

// What all files of one save carry, and no other's.
std::string random_save_id();

// Adds common.h5 to the files of the manifest and writes it, manifest.json and, last, COMMIT, each synced. `manifest`
// is complete but for that file: sizes and checksums of the shards are known. Returns the bytes of all files.
std::uint64_t write_commit(const Path& folder, Manifest manifest);

// Reads COMMIT and the manifest that it belongs to. DataError naming file and field.
Manifest read_committed(const Path& folder);

// "step_X/COMMIT" is there: cheap, no promise that the rest is sound.
bool has_commit(const Path& folder);

}  // namespace convoy::checkpoint

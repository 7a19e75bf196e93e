// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/commit.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/checkpoint/hdf5_file.h"
#include "libcore/checkpoint/manifest_check.h"
#include "libcore/checkpoint/save.h"
#include "libcore/checkpoint/shard_io.h"

namespace convoy::checkpoint {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLargestCommit = 4096;

std::uint64_t total_bytes(const Manifest& manifest) {
  std::uint64_t bytes = 0;
  for (const StoredFile& file : manifest.files) bytes += file.size;
  return bytes;
}

struct Vouched {
  const char* field;
  std::string json;  // the value
};

// What COMMIT says of a manifest, in the order of the file.
std::vector<Vouched> vouched_of(const Manifest& manifest, std::string_view text) {
  return {{"format_version", fmt::format("{}", kFormatVersion)},
          {"step", fmt::format("{}", manifest.description.progress.step)},
          {"files", fmt::format("{}", manifest.files.size())},
          {"bytes", fmt::format("{}", total_bytes(manifest))},
          {"manifest_sha256", json_quoted(sha256_hex(text))}};
}

StoredFile write_common(const Path& folder, const Manifest& manifest) {
  const Path path = folder / kCommonFile;
  create_common_file(path, manifest.save_id, manifest.description);
  const FileHandle file(path, FileHandle::Mode::kWrite);
  const std::uint64_t size = file.size();
  const std::string text = user_block(manifest.save_id);
  file.write(0, std::as_bytes(std::span(text)), size);
  file.sync();
  return {.name = kCommonFile, .size = size, .crc32c = crc32c_outside(file, size, {})};
}

Json parse_commit(const Path& path) {
  const std::uint64_t size = FileHandle(path, FileHandle::Mode::kRead).size();
  if (size > kLargestCommit)
    throw DataError(fmt::format("{}: has {} bytes, expected a few lines of JSON", path.string(), size));
  const std::string text = read_file(path, "commit marker");
  try {
    Json tree = Json::parse(text);
    if (!tree.is_object()) throw DataError(fmt::format("{}: expected a JSON object", path.string()));
    return tree;
  } catch (const Json::exception&) {
    throw DataError(fmt::format("{}: is not valid JSON; use another checkpoint", path.string()));
  }
}

void expect(const Path& path, const Json& commit, const Vouched& vouched) {
  const auto it = commit.find(vouched.field);
  if (it == commit.end())
    throw DataError(fmt::format("{}: {} is missing; use another checkpoint", path.string(), vouched.field));
  const std::string found = it->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (found != vouched.json) {
    throw DataError(
        fmt::format("{}: {}: expected {}, as {} has it, found {}; one of the two files is not of this "
                    "checkpoint or was changed",
                    path.string(), vouched.field, vouched.json, kManifestFile, found));
  }
}

}  // namespace

std::string random_save_id() {
  std::random_device source;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", static_cast<std::uint32_t>(source()));
  return id;
}

std::uint64_t write_commit(const Path& folder, Manifest manifest) {
  manifest.files.push_back(write_common(folder, manifest));
  const std::string text = to_json(manifest);
  write_file_atomically(folder / kManifestFile, text);
  JsonObject commit;
  for (const Vouched& vouched : vouched_of(manifest, text)) commit.add_raw(vouched.field, vouched.json);
  write_file_atomically(folder / kCommitFile, commit.text() + "\n");
  return total_bytes(manifest);
}

Manifest read_committed(const Path& folder) {
  const Path commit_path = folder / kCommitFile, path = folder / kManifestFile;
  if (!is_there(commit_path)) {
    throw DataError(
        fmt::format("'{}' has no {}: its save was not finished, or it is no checkpoint", folder.string(), kCommitFile));
  }
  const Json commit = parse_commit(commit_path);
  if (!is_there(path)) throw DataError(fmt::format("'{}' is missing; the checkpoint is incomplete", path.string()));
  (void)FileHandle(path, FileHandle::Mode::kRead).size();  // refuses what is no regular file, and may have no end
  const std::string text = read_file(path, "manifest");
  // The hash before the content: a changed manifest is named as such, not by what its change broke.
  const std::string sha = json_quoted(sha256_hex(text));
  if (commit.contains("manifest_sha256") && commit["manifest_sha256"].is_string() &&
      json_quoted(commit["manifest_sha256"].get<std::string>()) != sha) {
    throw DataError(
        fmt::format("{}: does not belong to {}, whose manifest_sha256 is {} where this file's is {}; one of "
                    "the two was changed; use another checkpoint",
                    path.string(), kCommitFile,
                    commit["manifest_sha256"].dump(-1, ' ', false, Json::error_handler_t::replace), sha));
  }
  Manifest manifest = parse_manifest(text, path.string());
  for (const Vouched& vouched : vouched_of(manifest, text)) expect(commit_path, commit, vouched);
  return manifest;
}

bool has_commit(const Path& folder) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder / kCommitFile, ignored);
}

void write_manifest(const Path& folder, const Manifest& manifest) {
  Manifest complete = manifest;
  std::vector<std::vector<ByteRange>> ranges(complete.files.size());
  for (const StoredFragment& fragment : complete.fragments)
    ranges.at(fragment.file).push_back({fragment.offset, bytes_of(complete, fragment)});
  for (std::size_t i = 0; i < complete.files.size(); ++i) {
    const FileHandle file(folder / complete.files[i].name, FileHandle::Mode::kRead);
    complete.files[i].size = file.size();
    complete.files[i].crc32c = crc32c_outside(file, complete.files[i].size, std::move(ranges[i]));
  }
  check_manifest(complete, (folder / kManifestFile).string());
  write_commit(folder, std::move(complete));
}

}  // namespace convoy::checkpoint

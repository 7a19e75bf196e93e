// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/plan_inputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/base/utf8.h"
#include "libcore/data/byte_stream.h"
#include "libcore/data/encode_checks.h"
#include "libcore/data/tokenizer.h"

namespace convoy::data {
namespace {

constexpr std::size_t kEndBytes = std::size_t{64} << 10;
constexpr std::int64_t kNanoseconds = 1'000'000'000;

// A file opened for a look.
class OpenFile {
 public:
  OpenFile(const std::string& path, const std::string& name) : name_(name), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) throw EnvironmentError(fmt::format("cannot open input '{}': {}", name, std::strerror(errno)));
    if (::fstat(descriptor_, &status_) != 0) status_ = {};
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::int64_t bytes() const { return status_.st_size; }
  std::int64_t modified_ns() const { return status_.st_mtim.tv_sec * kNanoseconds + status_.st_mtim.tv_nsec; }

  std::string read(std::int64_t offset, std::size_t size) const {
    std::string bytes(size, '\0');
    std::size_t have = 0;
    while (have < size) {
      const ssize_t got = ::pread(descriptor_, bytes.data() + have, size - have, offset + static_cast<std::int64_t>(have));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw EnvironmentError(fmt::format("cannot read input '{}': {}", name_, std::strerror(errno)));
      if (got == 0) break;
      have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
  }

  std::string ends_xxh3_128() const {
    const std::string head = read(0, kEndBytes);
    return xxh3_128_hex(head + read(std::max<std::int64_t>(0, bytes() - static_cast<std::int64_t>(kEndBytes)), kEndBytes));
  }

 private:
  std::string name_;
  int descriptor_;
  struct stat status_ {};
};

// Why a file cannot be an input of a plan (a clause), or empty.
std::string problem_of(const InputFile& file) {
  if (file.name == "-") return "standard input can be read once, by one process; write it to a file";
  if (find_invalid_utf8(file.name) != std::string_view::npos) return "the name is no UTF-8, which a plan cannot hold; rename the file";
  std::error_code error;
  if (!std::filesystem::is_regular_file(file.name, error)) return "no regular file: an element could not read it again; copy it to one";
  return "";
}

void check_inputs(const std::vector<InputFile>& files) {
  std::vector<std::string> problems;
  for (const InputFile& file : files) {
    if (const std::string problem = problem_of(file); !problem.empty()) problems.push_back(fmt::format("'{}': {}", file.name, problem));
  }
  if (!problems.empty()) throw ConfigError(problems);
}

PlannedInput planned(const std::string& name) {
  const std::string path = std::filesystem::absolute(name).string();
  const OpenFile file(path, name);
  return {.name = name, .path = path, .bytes = file.bytes(), .modified_ns = file.modified_ns(), .ends_xxh3_128 = file.ends_xxh3_128()};
}

bool is_divisible(const PlannedInput& input, const ReadOptions& options) {
  const bool is_document = format_of_file(input.name, options) == RecordFormat::kText && options.separator == DocumentSeparator::kFile;
  return !is_document && !is_compressed(input.name, OpenFile(input.path, input.name).read(0, 4));
}

// A line of JSON is a record whatever separates the documents of a text.
DocumentSeparator separator_of(const PlannedInput& input, const ReadOptions& options) {
  return format_of_file(input.name, options) == RecordFormat::kJsonl ? DocumentSeparator::kLine : options.separator;
}

std::int64_t next_record(const PlannedInput& input, DocumentSeparator separator, std::int64_t offset) {
  ByteStream stream({.name = input.name, .bytes = input.bytes, .path = input.path, .range = ByteRange{offset - 1, input.bytes}});
  RecordSearch search(separator);
  std::string block(kEndBytes, '\0');
  for (std::int64_t at = offset - 1; at < input.bytes;) {
    const std::size_t got = stream.read(block);
    if (const auto found = search.find(std::string_view(block).substr(0, got))) return at + static_cast<std::int64_t>(*found);
    at += static_cast<std::int64_t>(got);
  }
  return input.bytes;
}

std::vector<Shard> cut(const std::vector<PlannedInput>& inputs, const ReadOptions& options, std::int64_t shards) {
  std::vector<CuttableInput> cuttable;
  for (const PlannedInput& input : inputs) cuttable.push_back({input.bytes, is_divisible(input, options)});
  return cut_shards(cuttable, shards, [&](std::size_t i, std::int64_t offset) {
    return next_record(inputs[i], separator_of(inputs[i], options), offset);
  });
}

std::string seconds_text(std::int64_t ns) { return fmt::format("{}.{:09}", ns / kNanoseconds, std::abs(ns % kNanoseconds)); }

// What is no longer as planned (a clause), or empty.
std::string change_of(const PlannedInput& input, Look look) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(input.path, error)) {
    const bool is_gone = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
    if (error && !is_gone) throw EnvironmentError(fmt::format("cannot look at input '{}': {}", input.name, error.message()));
    return fmt::format("expected {} bytes, found {}", input.bytes, error ? error.message() : "no regular file");
  }
  const OpenFile file(input.path, input.name);
  if (file.bytes() != input.bytes) return fmt::format("expected {} bytes, found {}", input.bytes, file.bytes());
  if (look == Look::kInside) {
    if (const std::string ends = file.ends_xxh3_128(); ends != input.ends_xxh3_128) {
      return fmt::format("expected the checksum {} of its first and last 64 KiB, found {}", input.ends_xxh3_128, ends);
    }
  }
  if (file.modified_ns() != input.modified_ns) {
    return fmt::format("expected the time of modification {}, found {} (seconds since 1970)", seconds_text(input.modified_ns),
                       seconds_text(file.modified_ns()));
  }
  return "";
}

}  // namespace

ShardPlan make_plan(const EncodeOptions& options, std::int64_t shards) {
  const Tokenizer tokenizer(options.tokenizer, options.split_special_tokens);
  check_options(options, tokenizer);
  const std::vector<InputFile> files = expand_inputs(options.inputs);
  check_inputs(files);
  warn_if_lossy(options, tokenizer);
  ShardPlan plan;
  plan.options = options;
  plan.options.inputs.clear();
  plan.tokenizer_path = std::filesystem::absolute(options.tokenizer).string();
  plan.tokenizer_sha256 = tokenizer.sha256();
  for (const InputFile& file : files) plan.inputs.push_back(planned(file.name));
  plan.shards = cut(plan.inputs, options.read, shards);
  plan.id = plan_id(plan);
  return plan;
}

ShardPlan read_plan(const Path& path) { return parse_plan(read_file(path, "plan"), path.string()); }

std::vector<InputFile> files_of(const ShardPlan& plan, const Shard& shard) {
  std::vector<InputFile> files;
  for (const ShardPiece& piece : shard) {
    const PlannedInput& input = plan.inputs[static_cast<std::size_t>(piece.input)];
    InputFile file{.name = input.name, .bytes = input.bytes, .path = input.path};
    if (piece.range.size() < input.bytes) file.range = piece.range;
    files.push_back(std::move(file));
  }
  return files;
}

void check_unchanged(const ShardPlan& plan, const Shard& shard, Look look) {
  std::vector<std::string> changes;
  for (const ShardPiece& piece : shard) {
    const PlannedInput& input = plan.inputs[static_cast<std::size_t>(piece.input)];
    if (const std::string change = change_of(input, look); !change.empty()) {
      changes.push_back(fmt::format("{}: changed since it was planned: {}", input.name, change));
    }
  }
  if (changes.empty()) return;
  throw DataError(fmt::format("{}; bring the old file back, or make a new plan", fmt::join(changes, "\n")));
}

}  // namespace convoy::data

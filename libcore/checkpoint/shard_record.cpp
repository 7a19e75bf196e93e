// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/shard_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "libcore/base/error.h"

namespace convoy::checkpoint {
namespace {

// The bytes stay between ranks of one program, so they are plain: numbers of 8 bytes, texts after their size.
class Packer {
 public:
  void number(std::uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  void shape(const tensor::Shape& value) {
    number(static_cast<std::uint64_t>(value.rank()));
    for (int d = 0; d < value.rank(); ++d) number(static_cast<std::uint64_t>(value[d]));
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number())); }
  tensor::Shape shape() {
    std::vector<std::int64_t> extents(number());
    for (std::int64_t& extent : extents) extent = static_cast<std::int64_t>(number());
    return tensor::Shape(extents);
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view take(std::size_t size) {
    check(size <= rest_.size(), "a shard's record is whole");
    const std::string_view part = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return part;
  }
  std::string_view rest_;
};

}  // namespace

std::string to_bytes(const ShardRecord& record) {
  Packer packer;
  packer.text(record.file.name);
  packer.number(record.file.size);
  packer.number(record.file.crc32c);
  packer.number(record.plans.size());
  for (std::size_t i = 0; i < record.plans.size(); ++i) {
    const FragmentPlan& plan = record.plans[i];
    const WrittenFragment& written = record.written[i];
    packer.text(plan.name);
    packer.text(plan.state);
    packer.number(static_cast<std::uint64_t>(plan.dtype));
    packer.shape(plan.shape);
    packer.shape(plan.box.offset);
    packer.shape(plan.box.extent);
    packer.number(written.offset);
    packer.number(written.digest);
    packer.number(written.crc32c.size());
    for (const std::uint32_t crc : written.crc32c) packer.number(crc);
  }
  return packer.take();
}

ShardRecord parse_shard_record(std::string_view bytes) {
  Unpacker unpacker(bytes);
  ShardRecord record;
  record.file.name = unpacker.text();
  record.file.size = unpacker.number();
  record.file.crc32c = static_cast<std::uint32_t>(unpacker.number());
  for (std::uint64_t left = unpacker.number(); left > 0; --left) {
    FragmentPlan& plan = record.plans.emplace_back();
    plan.name = unpacker.text();
    plan.state = unpacker.text();
    plan.dtype = static_cast<tensor::DType>(unpacker.number());
    plan.shape = unpacker.shape();
    plan.box.offset = unpacker.shape();
    plan.box.extent = unpacker.shape();
    WrittenFragment& written = record.written.emplace_back();
    written.offset = unpacker.number();
    written.digest = unpacker.number();
    for (std::uint64_t count = unpacker.number(); count > 0; --count)
      written.crc32c.push_back(static_cast<std::uint32_t>(unpacker.number()));
  }
  check(unpacker.empty(), "a shard's record has nothing behind its end");
  return record;
}

Manifest merge_records(const std::vector<ShardRecord>& records) {
  std::map<std::pair<std::string, std::string>, StoredTensor> tensors;
  for (const ShardRecord& record : records) {
    for (std::size_t i = 0; i < record.plans.size(); ++i) {
      const FragmentPlan& plan = record.plans[i];
      StoredTensor& tensor =
          tensors.try_emplace({plan.name, plan.state}, StoredTensor{plan.name, plan.state, plan.dtype, plan.shape, 0})
              .first->second;
      check(tensor.dtype == plan.dtype && tensor.shape == plan.shape,
            fmt::format("all ranks know {} {} as the same", plan.name, plan.state));
      tensor.digest += record.written[i].digest;
    }
  }
  Manifest manifest;
  std::map<std::pair<std::string, std::string>, std::size_t> numbers;
  for (auto& [key, tensor] : tensors) {
    numbers[key] = manifest.tensors.size();
    manifest.tensors.push_back(std::move(tensor));
  }
  for (const ShardRecord& record : records) {
    if (record.plans.empty()) continue;
    for (std::size_t i = 0; i < record.plans.size(); ++i) {
      manifest.fragments.push_back({.tensor = numbers.at({record.plans[i].name, record.plans[i].state}),
                                    .file = manifest.files.size(),
                                    .box = record.plans[i].box,
                                    .offset = record.written[i].offset,
                                    .crc32c = record.written[i].crc32c});
    }
    manifest.files.push_back(record.file);
  }
  std::stable_sort(manifest.fragments.begin(), manifest.fragments.end(),
                   [](const StoredFragment& a, const StoredFragment& b) { return a.tensor < b.tensor; });
  return manifest;
}

}  // namespace convoy::checkpoint

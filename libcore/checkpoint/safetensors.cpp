// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/checkpoint/safetensors_header.h"

namespace convoy::checkpoint {
namespace {

using tensor::DType;

constexpr std::size_t kSizeField = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the reference reader's limit

// The format's types: bits an element, and our type for it if there is one.
struct FormatType {
  std::string_view name;
  std::uint64_t bits;
  std::optional<DType> ours;
};
constexpr std::array kTypes = {
    FormatType{"F64", 64, DType::kF64}, FormatType{"F32", 32, DType::kF32},
    FormatType{"F16", 16, DType::kF16}, FormatType{"BF16", 16, DType::kBF16},
    FormatType{"I64", 64, DType::kI64}, FormatType{"I32", 32, DType::kI32},
    FormatType{"U16", 16, DType::kU16}, FormatType{"U8", 8, DType::kU8},
    FormatType{"I16", 16, {}},          FormatType{"I8", 8, {}},
    FormatType{"U32", 32, {}},          FormatType{"U64", 64, {}},
    FormatType{"BOOL", 8, {}},          FormatType{"C64", 64, {}},
    FormatType{"F8_E4M3", 8, {}},       FormatType{"F8_E5M2", 8, {}},
    FormatType{"F8_E8M0", 8, {}},       FormatType{"F8_E4M3FNUZ", 8, {}},
    FormatType{"F8_E5M2FNUZ", 8, {}},   FormatType{"F6_E2M3", 6, {}},
    FormatType{"F6_E3M2", 6, {}},       FormatType{"F4", 4, {}},
};

const FormatType* find_type(std::string_view name) {
  const auto it = std::find_if(kTypes.begin(), kTypes.end(), [&](const FormatType& t) { return t.name == name; });
  return it == kTypes.end() ? nullptr : &*it;
}

std::string_view format_name(DType dtype) {
  const auto it = std::find_if(kTypes.begin(), kTypes.end(), [&](const FormatType& t) { return t.ours == dtype; });
  check(it != kTypes.end(), "every type of ours is one of safetensors'");
  return it->name;
}

std::uint64_t header_size(std::span<const std::byte> bytes) {
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < kSizeField; ++i) size |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return size;
}

std::string shape_text(const std::vector<std::uint64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

// Bytes of the entry's elements, or a DataError if shape or type make no sense.
std::uint64_t expected_bytes(const SafetensorsEntry& entry, std::string_view where) {
  const FormatType* type = find_type(entry.dtype);
  if (type == nullptr)
    throw DataError(fmt::format("{}: tensor {}: unknown dtype {}", where, entry.name, json_quoted(entry.dtype)));
  std::uint64_t bits = type->bits;
  bool overflow = false;
  for (const std::uint64_t extent : entry.shape) overflow |= __builtin_mul_overflow(bits, extent, &bits);
  if (overflow) {
    throw DataError(fmt::format("{}: tensor {}: shape {} of {} overflows 64 bits; the header is damaged", where,
                                entry.name, shape_text(entry.shape), entry.dtype));
  }
  if (bits % 8 != 0)
    throw DataError(fmt::format("{}: tensor {}: {} of {} is not a whole number of bytes", where, entry.name,
                                shape_text(entry.shape), entry.dtype));
  return bits / 8;
}

void check_entry(const SafetensorsEntry& entry, std::uint64_t data_size, std::string_view where) {
  const std::uint64_t expected = expected_bytes(entry, where);
  if (entry.end < entry.begin) {
    throw DataError(fmt::format("{}: tensor {}: data_offsets [{}, {}] end before they begin", where, entry.name,
                                entry.begin, entry.end));
  }
  if (entry.end - entry.begin != expected) {
    throw DataError(fmt::format(
        "{}: tensor {}: {} of {} takes {} bytes, but data_offsets [{}, {}] hold {}; the header is damaged", where,
        entry.name, shape_text(entry.shape), entry.dtype, expected, entry.begin, entry.end, entry.end - entry.begin));
  }
  if (entry.end > data_size) {
    throw DataError(
        fmt::format("{}: truncated: tensor {} ends at byte {} of the data, the file holds {}; copy the file again",
                    where, entry.name, entry.end, data_size));
  }
}

// Entries sorted by place must cover [0, data_size) once.
void check_tiling(const std::vector<SafetensorsEntry>& entries, std::uint64_t data_size, std::string_view where) {
  std::uint64_t position = 0;
  std::string_view previous = "the start of the data";
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin > position) {
      throw DataError(fmt::format("{}: hole: {} bytes at byte {} of the data, between {} and {}, belong to no tensor",
                                  where, entry.begin - position, position, previous, entry.name));
    }
    if (entry.begin < position) {
      throw DataError(fmt::format("{}: overlap: {} begins at byte {} of the data, inside {}, which ends at {}", where,
                                  entry.name, entry.begin, previous, position));
    }
    position = entry.end;
    previous = entry.name;
  }
  if (position != data_size) {
    throw DataError(
        fmt::format("{}: {} bytes after the last tensor, {}, belong to none", where, data_size - position, previous));
  }
}

std::optional<tensor::Shape> our_shape(const std::vector<std::uint64_t>& shape) {
  if (shape.size() > static_cast<std::size_t>(tensor::kMaxRank)) return std::nullopt;
  std::array<std::int64_t, tensor::kMaxRank> extents{};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    extents[i] = static_cast<std::int64_t>(shape[i]);
  }
  switch (shape.size()) {
    case 0:
      return tensor::Shape{};
    case 1:
      return tensor::Shape{extents[0]};
    case 2:
      return tensor::Shape{extents[0], extents[1]};
    case 3:
      return tensor::Shape{extents[0], extents[1], extents[2]};
    default:
      return tensor::Shape{extents[0], extents[1], extents[2], extents[3]};
  }
}

std::string header_of(const std::vector<TensorSource>& tensors) {
  std::string header = R"({"__metadata__":{"format":"pt"})";
  std::uint64_t position = 0;
  for (const TensorSource& tensor : tensors) {
    const std::uint64_t end =
        position + static_cast<std::uint64_t>(tensor.shape.count()) * tensor::size_of(tensor.dtype);
    std::vector<std::int64_t> extents;
    for (int i = 0; i < tensor.shape.rank(); ++i) extents.push_back(tensor.shape[i]);
    header += fmt::format(R"(,{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", json_quoted(tensor.name),
                          format_name(tensor.dtype), fmt::join(extents, ","), position, end);
    position = end;
  }
  header += '}';
  header.append((kSizeField - header.size() % kSizeField) % kSizeField, ' ');
  return header;
}

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors(std::span<const std::byte> bytes, std::string_view where) {
  if (bytes.size() < kSizeField) {
    throw DataError(
        fmt::format("{}: {} bytes, too short for a safetensors file, which begins with the 8-byte size of its header",
                    where, bytes.size()));
  }
  const std::uint64_t size = header_size(bytes), available = bytes.size() - kSizeField;
  if (size > kMaxHeader) {
    throw DataError(fmt::format(
        "{}: the header size is {} bytes, more than the format's limit of {}; this is no safetensors file, or a "
        "damaged one",
        where, size, kMaxHeader));
  }
  if (size > available) {
    throw DataError(fmt::format("{}: truncated: the header is {} bytes long, the file holds {} after its size", where,
                                size, available));
  }
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + kSizeField, size);
  if (header.empty() || header.front() != '{')
    throw DataError(fmt::format("{}: the header is not JSON: it does not begin with {{", where));
  std::vector<SafetensorsEntry> entries = parse_safetensors_header(header, where);
  for (const SafetensorsEntry& entry : entries) check_entry(entry, available - size, where);
  std::stable_sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_tiling(entries, available - size, where);
  return entries;
}

SafetensorsFile::SafetensorsFile(const Path& path) : file_(path, "safetensors file") {
  entries_ = parse_safetensors(file_.bytes(), path.string());
  data_offset_ = kSizeField + header_size(file_.bytes());
  for (const SafetensorsEntry& entry : entries_) {
    const FormatType* type = find_type(entry.dtype);
    const std::optional<tensor::Shape> shape = our_shape(entry.shape);
    if (type->ours && shape) tensors_.push_back({entry.name, tensor::View(data() + entry.begin, *type->ours, *shape)});
  }
}

void write_safetensors(const Path& path, std::vector<TensorSource> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorSource& a, const TensorSource& b) {
    const std::size_t left = tensor::size_of(a.dtype), right = tensor::size_of(b.dtype);
    return left != right ? left > right : a.name < b.name;
  });
  const std::string header = header_of(tensors);
  AtomicFile file(path);
  std::array<std::byte, kSizeField> size{};
  for (std::size_t i = 0; i < kSizeField; ++i) size[i] = static_cast<std::byte>(header.size() >> (8 * i));
  file.write(size);
  file.write(header);
  for (const TensorSource& tensor : tensors) {
    const std::uint64_t begin = file.size();
    tensor.produce([&](std::span<const std::byte> bytes) { file.write(bytes); });
    check(file.size() - begin == static_cast<std::uint64_t>(tensor.shape.count()) * tensor::size_of(tensor.dtype),
          fmt::format("the source of {} hands over as many bytes as its shape says", tensor.name));
  }
  file.commit();
}

void write_safetensors(const Path& path, const std::vector<NamedTensor>& tensors) {
  std::vector<TensorSource> sources;
  for (const NamedTensor& named : tensors) {
    check(named.view.dense(), "a tensor to be stored is dense");
    const std::size_t bytes = static_cast<std::size_t>(named.view.count()) * tensor::size_of(named.view.dtype);
    sources.push_back(
        {named.name, named.view.dtype, named.view.shape, [view = named.view, bytes](const ByteSink& sink) {
           sink({static_cast<const std::byte*>(view.data), bytes});
         }});
  }
  write_safetensors(path, std::move(sources));
}

}  // namespace convoy::checkpoint

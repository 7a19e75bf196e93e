// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/hf_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "libcore/base/error.h"
#include "libcore/checkpoint/hf_files.h"
#include "libcore/checkpoint/hf_names.h"
#include "libcore/checkpoint/tensor_problems.h"
#include "libcore/checkpoint/widen.h"

namespace convoy::checkpoint {
namespace {

using tensor::DType;

constexpr const char* kHead = "lm_head.weight";
constexpr std::string_view kPrefix = "transformer.";
// Bytes of a mapping that are read before their memory is given back.
constexpr std::ptrdiff_t kReleased = std::ptrdiff_t{1} << 20;
constexpr std::size_t kCompared = std::size_t{4} << 20;

// Where one of our tensors lies: columns [first, first + own) of the rows of a stored tensor.
struct Place {
  const SafetensorsFile* file = nullptr;
  const std::byte* data = nullptr;
  DType dtype = DType::kF32;
  std::int64_t row = 0;  // elements of a stored row
  std::int64_t first = 0;
  tensor::Shape shape;  // ours
};

std::optional<DType> weight_type(const std::string& dtype) {
  if (dtype == "F32") return DType::kF32;
  if (dtype == "BF16") return DType::kBF16;
  if (dtype == "F16") return DType::kF16;
  return std::nullopt;
}

bool equal_shape(const std::vector<std::uint64_t>& stored, const tensor::Shape& expected) {
  if (stored.size() != static_cast<std::size_t>(expected.rank())) return false;
  for (int i = 0; i < expected.rank(); ++i) {
    if (stored[static_cast<std::size_t>(i)] != static_cast<std::uint64_t>(expected[i])) return false;
  }
  return true;
}

}  // namespace

struct HfFolder::Content {
  Path folder;
  HfFiles files;
  std::map<std::string, Place> places;  // by our names

  const std::byte* bytes(const HfEntry& stored) const { return files.files[stored.file].data() + stored.entry->begin; }
  std::string file_of(const HfEntry& stored) const { return files.files[stored.file].path().filename().string(); }
  // Notes where the parts of `tensor` lie, or what is wrong with it.
  void place(const HfTensor& tensor, const std::string& name, const std::vector<NamedShape>& ours,
             TensorProblems& problems);
  const Place& at(const std::string& name) const;
  bool equal(const HfEntry& a, const HfEntry& b) const;
  void check_tied_head(const std::string& embedding) const;
};

void HfFolder::Content::place(const HfTensor& tensor, const std::string& name, const std::vector<NamedShape>& ours,
                              TensorProblems& problems) {
  const auto it = files.tensors.find(name);
  if (it == files.tensors.end())
    return problems.add(fmt::format("{} is missing (expected {})", name, tensor.shape.text()));
  const SafetensorsEntry& entry = *it->second.entry;
  if (!equal_shape(entry.shape, tensor.shape)) {
    return problems.add(fmt::format("{} in {} is [{}], expected {}", name, file_of(it->second),
                                    fmt::join(entry.shape, ", "), tensor.shape.text()));
  }
  const std::optional<DType> dtype = weight_type(entry.dtype);
  if (!dtype) {
    return problems.add(
        fmt::format("{} in {} is of dtype {}, expected F32, BF16 or F16", name, file_of(it->second), entry.dtype));
  }
  std::int64_t first = 0;
  for (const std::size_t part : tensor.parts) {
    places[ours[part].name] = {
        &files.files[it->second.file], bytes(it->second), *dtype, tensor.shape.back(), first, ours[part].shape};
    first += ours[part].shape.back();
  }
}

bool HfFolder::Content::equal(const HfEntry& a, const HfEntry& b) const {
  if (a.entry->dtype != b.entry->dtype || a.entry->shape != b.entry->shape) return false;
  const std::span<const std::byte> left(bytes(a), a.entry->end - a.entry->begin), right(bytes(b), left.size());
  for (std::size_t begin = 0; begin < left.size(); begin += kCompared) {
    const std::size_t size = std::min(kCompared, left.size() - begin);
    if (std::memcmp(left.data() + begin, right.data() + begin, size) != 0) return false;
    files.files[a.file].release(left.subspan(begin, size));
    files.files[b.file].release(right.subspan(begin, size));
  }
  return true;
}

void HfFolder::Content::check_tied_head(const std::string& embedding) const {
  const auto head = files.tensors.find(kHead);
  if (head == files.tensors.end()) return;
  const HfEntry& other = files.tensors.at(embedding);
  if (equal(head->second, other)) return;
  throw DataError(fmt::format(
      "{}: config.json says tie_word_embeddings, but {} in {} differs from {}; set tie_word_embeddings to false if "
      "the head is its own, or remove the tensor",
      folder.string(), kHead, file_of(head->second), embedding));
}

namespace {

// The stored form of a name: the first public GPT-2 files lack "transformer.".
std::string stored_name(const std::string& name, bool prefixed) {
  return !prefixed && std::string_view(name).starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

bool has_prefix(const HfFiles& files) {
  return std::any_of(files.tensors.begin(), files.tensors.end(),
                     [](const auto& item) { return item.first.starts_with(kPrefix); });
}

}  // namespace

HfFolder::HfFolder(const Path& folder, const std::vector<ExpectedTensor>& expected, bool tied_head)
    : content_(std::make_unique<Content>()) {
  content_->folder = folder;
  content_->files = open_hf_files(folder);
  const auto& stored = content_->files.tensors;
  const bool prefixed = has_prefix(content_->files);
  std::vector<NamedShape> ours;
  for (const ExpectedTensor& tensor : expected) ours.push_back({tensor.name, tensor.shape});
  TensorProblems problems;
  std::set<std::string> wanted;  // stored names that the model has a place for
  for (const HfTensor& tensor : hf_tensors(ours)) {
    const std::string name = stored_name(tensor.name, prefixed);
    wanted.insert(name);
    content_->place(tensor, name, ours, problems);
  }
  for (const auto& [name, where] : stored) {
    if (wanted.contains(name) || is_ignorable_buffer(name) || (tied_head && name == kHead)) continue;
    problems.add(fmt::format("{} in {} has no place in the model; dropping it would change the model", name,
                             content_->file_of(where)));
  }
  problems.raise(folder);
  if (tied_head) content_->check_tied_head(stored_name(expected.front().name, prefixed));
}

HfFolder::~HfFolder() = default;

const Path& HfFolder::folder() const { return content_->folder; }

const Place& HfFolder::Content::at(const std::string& name) const {
  const auto it = places.find(name);
  check(it != places.end(), fmt::format("{} is one of the tensors that the folder was opened for", name));
  return it->second;
}

tensor::DType HfFolder::dtype(const std::string& name) const { return content_->at(name).dtype; }

void HfFolder::read(const std::string& name, tensor::MutableView out) const {
  read(name, tensor::whole(content_->at(name).shape), out);
}

namespace {

// The row-major number, among all rows of a tensor, of row `row` of a box of it.
std::int64_t row_in_tensor(const tensor::Shape& shape, const tensor::Box& box, std::int64_t row) {
  std::int64_t number = 0, stride = 1;
  for (int d = shape.rank() - 2; d >= 0; --d) {
    number += (box.offset[d] + row % box.extent[d]) * stride;
    row /= box.extent[d];
    stride *= shape[d];
  }
  return number;
}

}  // namespace

void HfFolder::read(const std::string& name, const tensor::Box& box, tensor::MutableView out) const {
  const Place& place = content_->at(name);
  tensor::expect(out, box.extent, out.dtype == place.dtype ? place.dtype : DType::kF32, name);
  if (box.count() == 0) return;
  const std::size_t size = tensor::size_of(place.dtype), out_size = tensor::size_of(out.dtype);
  const std::int64_t columns = out.columns(), first = box.extent.rank() == 0 ? 0 : box.offset.back();
  const std::byte *begin = nullptr, *end = nullptr;
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    const std::int64_t element = row_in_tensor(place.shape, box, row) * place.row + place.first + first;
    const std::byte* source = place.data + static_cast<std::size_t>(element) * size;
    std::byte* target = out.as<std::byte>() + static_cast<std::size_t>(row * columns) * out_size;
    copy_or_widen(source, place.dtype, columns, out.dtype, target);
    end = source + static_cast<std::size_t>(columns) * size;
    if (begin == nullptr) begin = source;
    if (end - begin < kReleased && row + 1 < out.rows()) continue;
    place.file->release({begin, end});
    begin = nullptr;
  }
}

}  // namespace convoy::checkpoint

// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/manifest_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "libcore/base/error.h"
#include "libcore/checkpoint/tiling.h"

namespace convoy::checkpoint {
namespace {

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

class Checker {
 public:
  Checker(const Manifest& manifest, std::string_view where) : manifest_(manifest), where_(where) {}

  void run() {
    tensors();
    aliases();
    files();
    for (std::size_t i = 0; i < manifest_.fragments.size(); ++i) fragment(i);
    tiling();
    ranges();
  }

 private:
  template <class... Values>
  [[noreturn]] void refuse(fmt::format_string<Values...> format, Values&&... values) const {
    throw DataError(fmt::format("{}: {}", where_, fmt::format(format, std::forward<Values>(values)...)));
  }

  void tensors() const {
    const StoredTensor* before = nullptr;
    for (std::size_t i = 0; i < manifest_.tensors.size(); ++i) {
      const StoredTensor& tensor = manifest_.tensors[i];
      if (!is_plain_name(tensor.name) || !is_plain_name(tensor.state))
        refuse("tensors[{}]: a name and a state are not empty and have no '/'", i);
      if (before && std::tie(before->name, before->state) >= std::tie(tensor.name, tensor.state))
        refuse("tensors[{}]: {} {} follows {} {}, expected ascending order, each once", i, tensor.name, tensor.state,
               before->name, before->state);
      before = &tensor;
    }
  }

  bool has_tensor(const std::string& name) const {
    const auto it =
        std::lower_bound(manifest_.tensors.begin(), manifest_.tensors.end(), name,
                         [](const StoredTensor& tensor, const std::string& key) { return tensor.name < key; });
    return it != manifest_.tensors.end() && it->name == name;
  }
  void aliases() const {
    for (const auto& [alias, target] : manifest_.description.aliases) {
      if (has_tensor(alias)) refuse("aliases.{}: is a tensor itself", alias);
      if (!has_tensor(target)) refuse("aliases.{}: stands for {}, which is no tensor", alias, target);
    }
  }

  void files() const {
    std::set<std::string> names;
    for (std::size_t i = 0; i < manifest_.files.size(); ++i) {
      const std::string& name = manifest_.files[i].name;
      if (!is_plain_name(name)) refuse("files[{}].name: expected a file of this folder, without a path", i);
      if (!names.insert(name).second) refuse("files[{}].name: {} is there already", i, name);
    }
  }

  void fragment(std::size_t i) const {
    const StoredFragment& fragment = manifest_.fragments[i];
    if (fragment.tensor >= manifest_.tensors.size())
      refuse("fragments[{}].tensor: {} of {} tensors", i, fragment.tensor, manifest_.tensors.size());
    if (fragment.file >= manifest_.files.size())
      refuse("fragments[{}].file: {} of {} files", i, fragment.file, manifest_.files.size());
    const StoredTensor& tensor = manifest_.tensors[fragment.tensor];
    const StoredFile& file = manifest_.files[fragment.file];
    const tensor::Box& box = fragment.box;
    bool inside = box.offset.rank() == tensor.shape.rank() && box.extent.rank() == tensor.shape.rank();
    for (int d = 0; inside && d < tensor.shape.rank(); ++d)
      inside = box.extent[d] <= tensor.shape[d] && box.offset[d] <= tensor.shape[d] - box.extent[d];
    if (!inside) refuse("fragments[{}]: the box leaves {} {} of {}", i, tensor.name, tensor.state, tensor.shape.text());
    const std::uint64_t bytes = bytes_of(manifest_, fragment);
    if (fragment.offset > file.size || bytes > file.size - fragment.offset)
      refuse("fragments[{}]: {} bytes at {} leave {}, which has {}", i, bytes, fragment.offset, file.name, file.size);
    if (fragment.crc32c.size() != blocks_of(bytes))
      refuse("fragments[{}].crc32c: expected {} for {} bytes, found {}", i, blocks_of(bytes), bytes,
             fragment.crc32c.size());
  }

  void tiling() const {
    std::vector<std::vector<tensor::Box>> boxes(manifest_.tensors.size());
    for (const StoredFragment& fragment : manifest_.fragments) boxes[fragment.tensor].push_back(fragment.box);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const StoredTensor& tensor = manifest_.tensors[i];
      const std::string problem = tiling_problem(tensor.shape, boxes[i]);
      if (!problem.empty()) refuse("tensor {} {} of {}: {}", tensor.name, tensor.state, tensor.shape.text(), problem);
    }
  }

  void ranges() const {
    std::vector<const StoredFragment*> order;
    for (const StoredFragment& fragment : manifest_.fragments) order.push_back(&fragment);
    std::sort(order.begin(), order.end(), [](const StoredFragment* a, const StoredFragment* b) {
      return std::tie(a->file, a->offset) < std::tie(b->file, b->offset);
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const StoredFragment &a = *order[i - 1], &b = *order[i];
      if (a.file == b.file && a.offset + bytes_of(manifest_, a) > b.offset)
        refuse("the fragments at {} and {} of {} share bytes", a.offset, b.offset, manifest_.files[a.file].name);
    }
  }

  const Manifest& manifest_;
  std::string_view where_;
};

}  // namespace

std::uint64_t bytes_of(const Manifest& manifest, const StoredFragment& fragment) {
  return static_cast<std::uint64_t>(fragment.box.count()) * tensor::size_of(manifest.tensors[fragment.tensor].dtype);
}

std::size_t blocks_of(std::uint64_t bytes) {
  return static_cast<std::size_t>((bytes + static_cast<std::uint64_t>(kChecksumBlock) - 1) /
                                  static_cast<std::uint64_t>(kChecksumBlock));
}

void check_manifest(const Manifest& manifest, std::string_view where) { Checker(manifest, where).run(); }

}  // namespace convoy::checkpoint

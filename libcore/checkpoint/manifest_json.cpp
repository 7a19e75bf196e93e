// SPDX-License-Identifier: Apache-2.0
// Reads manifest.json. Entries of the long lists are converted and dropped one by one as they are parsed, so that the
// tree of JSON values never holds more than one.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "libcore/base/error.h"
#include "libcore/checkpoint/manifest.h"
#include "libcore/checkpoint/manifest_check.h"

namespace convoy::checkpoint {
namespace {

using Json = nlohmann::json;
using tensor::DType;
using tensor::Shape;

constexpr int kDeepestNesting = 8;
constexpr std::size_t kLongestShown = 60;
constexpr std::int64_t kMostElements = std::int64_t{1} << 60;  // of a tensor, so that its bytes can be counted

// A JSON object with its place, for messages.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) wrong("", "an object", object_);
  }

  bool contains(const char* key) const { return object_.contains(key); }
  const Json& at(const char* key) const {
    const auto it = object_.find(key);
    if (it == object_.end()) throw DataError(fmt::format("{}{} is missing", where_, key));
    return *it;
  }
  Fields object(const char* key) const { return {at(key), where_ + key + "."}; }
  std::string text(const char* key) const {
    const Json& value = at(key);
    if (!value.is_string()) wrong(key, "a string", value);
    return value.get<std::string>();
  }
  std::int64_t count(const char* key, std::int64_t least = 0,
                     std::int64_t most = std::numeric_limits<std::int64_t>::max()) const {
    return whole_number(at(key), key, least, most);
  }
  Shape shape(const char* key, std::int64_t least) const {
    const Json& list = array(key);
    if (list.size() > static_cast<std::size_t>(tensor::kMaxRank))
      wrong(key, fmt::format("at most {} dimensions", tensor::kMaxRank), list);
    std::vector<std::int64_t> extents;
    std::int64_t count = 1;
    for (const Json& value : list) {
      extents.push_back(whole_number(value, key, least, std::numeric_limits<std::int64_t>::max()));
      const std::int64_t factor = std::max<std::int64_t>(extents.back(), 1);
      if (factor > kMostElements / count) wrong(key, "fewer than 2^60 elements", list);
      count *= factor;
    }
    return Shape(extents);
  }
  std::vector<std::uint32_t> checksums(const char* key) const {
    std::vector<std::uint32_t> list;
    for (const Json& value : array(key))
      list.push_back(
          static_cast<std::uint32_t>(whole_number(value, key, 0, std::numeric_limits<std::uint32_t>::max())));
    return list;
  }
  std::vector<std::pair<std::string, std::string>> pairs(const char* key) const {
    const Fields object = this->object(key);
    std::vector<std::pair<std::string, std::string>> list;
    for (const auto& [name, value] : object.object_.items()) {
      if (!value.is_string()) object.wrong(name, "a string", value);
      list.emplace_back(name, value.get<std::string>());
    }
    return list;
  }
  [[noreturn]] void wrong(const std::string& key, const std::string& expected, const Json& found) const {
    std::string shown = found.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (shown.size() > kLongestShown) shown = shown.substr(0, kLongestShown) + "..";
    throw DataError(fmt::format("{}{}: expected {}, found {}", where_, key, expected, shown));
  }

 private:
  const Json& array(const char* key) const {
    const Json& value = at(key);
    if (!value.is_array()) wrong(key, "a list", value);
    return value;
  }
  std::int64_t whole_number(const Json& value, const char* key, std::int64_t least, std::int64_t most) const {
    const bool fits =
        value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
    if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
      wrong(key, fmt::format("a whole number from {} to {}", least, most), value);
    return value.get<std::int64_t>();
  }

  const Json& object_;
  std::string where_;
};

DType dtype_of(const Fields& fields) {
  const std::string name = fields.text("dtype");
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    if (tensor::name_of(dtype) == name) return dtype;
  fields.wrong("dtype", "fp32, bf16 or fp16", fields.at("dtype"));
}

std::uint64_t digest_of_text(const Fields& fields) {
  const std::string text = fields.text("digest");
  std::uint64_t digest = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), digest, 16);
  if (error != std::errc() || text != fmt::format("{:016x}", digest))
    fields.wrong("digest", "16 hexadecimal digits", fields.at("digest"));
  return digest;
}

StoredTensor tensor_of(const Fields& fields) {
  return {.name = fields.text("name"),
          .state = fields.text("state"),
          .dtype = dtype_of(fields),
          .shape = fields.shape("shape", 1),
          .digest = digest_of_text(fields)};
}

StoredFile file_of(const Fields& fields) {
  return {.name = fields.text("name"),
          .size = static_cast<std::uint64_t>(fields.count("size")),
          .crc32c = static_cast<std::uint32_t>(fields.count("crc32c", 0, std::numeric_limits<std::uint32_t>::max()))};
}

StoredFragment fragment_of(const Fields& fields) {
  return {.tensor = static_cast<std::size_t>(fields.count("tensor")),
          .file = static_cast<std::size_t>(fields.count("file")),
          .box = {fields.shape("start", 0), fields.shape("extent", 1)},
          .offset = static_cast<std::uint64_t>(fields.count("offset")),
          .crc32c = fields.checksums("crc32c")};
}

Progress progress_of(const Fields& fields) {
  Progress progress{.step = fields.count("step"),
                    .update = fields.count("update"),
                    .consumed_samples = fields.count("consumed_samples"),
                    .skipped_in_a_row = fields.count("skipped_in_a_row"),
                    .loss_scale = std::nullopt};
  const Json& scale = fields.at("loss_scale");
  if (!scale.is_null() && !scale.is_number()) fields.wrong("loss_scale", "a number or null", scale);
  if (scale.is_number()) progress.loss_scale = scale.get<double>();
  if (fields.contains("loss_scale_history")) {
    const Fields history = fields.object("loss_scale_history");
    progress.loss_scale_history = {.finite_steps = history.count("finite_steps"),
                                   .overflows_left = history.count("overflows_left")};
  }
  return progress;
}

StoredLayout layout_of(const Fields& fields) {
  const auto size = [&fields](const char* key) {
    return static_cast<int>(fields.count(key, 1, std::numeric_limits<int>::max()));
  };
  return {.tensor = size("tensor"), .pipeline = size("pipeline"), .zero_shards = size("zero_shards")};
}

// Follows the parser: takes the entries of the long lists as they end.
class Reader {
 public:
  Reader(std::string_view where, Manifest& manifest) : where_(where), manifest_(manifest) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDeepestNesting)
      throw DataError(fmt::format("{}: values are nested more than {} deep", where_, kDeepestNesting));
    if (event == Json::parse_event_t::key && depth == 1) {
      list_ = parsed.get<std::string>();
      if (!keys_.insert(list_).second) throw DataError(fmt::format("{}: key \"{}\" occurs twice", where_, list_));
      index_ = 0;
    }
    if (depth != 2 || !in_list()) return true;
    if (event == Json::parse_event_t::value) Fields(parsed, entry());  // throws: entries are objects
    if (event != Json::parse_event_t::object_end && event != Json::parse_event_t::array_end) return true;
    take(Fields(parsed, entry()));
    ++index_;
    return false;
  }

 private:
  bool in_list() const { return list_ == "tensors" || list_ == "files" || list_ == "fragments"; }
  std::string entry() const { return fmt::format("{}: {}[{}].", where_, list_, index_); }
  void take(const Fields& fields) {
    if (list_ == "tensors") manifest_.tensors.push_back(tensor_of(fields));
    if (list_ == "files") manifest_.files.push_back(file_of(fields));
    if (list_ == "fragments") manifest_.fragments.push_back(fragment_of(fields));
  }

  std::string_view where_;
  Manifest& manifest_;
  std::string list_;
  std::size_t index_ = 0;
  std::set<std::string> keys_;
};

void expect_format(const Fields& root) {
  if (root.text("format") != "convoy-checkpoint") root.wrong("format", "\"convoy-checkpoint\"", root.at("format"));
  if (root.count("format_version") != kFormatVersion)
    root.wrong("format_version", fmt::format("{}, which this version reads", kFormatVersion),
               root.at("format_version"));
}

void expect_list(const Fields& root, const char* key) {
  if (!root.at(key).is_array()) root.wrong(key, "a list", root.at(key));
}

}  // namespace

Manifest parse_manifest(std::string_view json, std::string_view where) {
  Manifest manifest;
  Json tree;
  try {
    tree = Json::parse(json, Reader(where, manifest));
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("{}: is not valid JSON: {}", where, error.what()));
  }
  const Fields root(tree, fmt::format("{}: ", where));
  expect_format(root);
  for (const char* key : {"tensors", "files", "fragments"}) expect_list(root, key);
  manifest.save_id = root.text("save_id");
  manifest.description = {.progress = progress_of(root.object("progress")),
                          .layout = layout_of(root.object("layout")),
                          .model_config = root.text("model_config"),
                          .fingerprint = root.pairs("fingerprint"),
                          .aliases = root.pairs("aliases"),
                          .origin = root.text("origin")};
  check_manifest(manifest, where);
  if (const std::string digest = digest_of(manifest); root.text("digest") != digest)
    root.wrong("digest", fmt::format("{}, as the tensors have it", digest), root.at("digest"));
  return manifest;
}

}  // namespace convoy::checkpoint

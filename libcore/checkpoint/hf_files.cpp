// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/hf_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "libcore/base/error.h"

namespace convoy::checkpoint {
namespace {

using nlohmann::json;

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

using WeightMap = std::map<std::string, std::string>;  // tensor -> file

json parse_unique(const std::string& text, const std::string& where) {
  std::vector<std::set<std::string>> open;
  std::string twice;
  try {
    json value = json::parse(text, [&](int, json::parse_event_t event, json& parsed) {
      if (event == json::parse_event_t::object_start) open.emplace_back();
      if (event == json::parse_event_t::object_end) open.pop_back();
      if (event == json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
        twice = parsed.get<std::string>();
      return true;
    });
    if (!twice.empty()) throw DataError(fmt::format("{}: {} occurs twice, names must be unique", where, twice));
    return value;
  } catch (const json::exception& error) {
    throw DataError(fmt::format("{}: is not valid JSON: {}", where, error.what()));
  }
}

// A file of the folder itself: an index that names "../x" or "/x" must not make us read elsewhere.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

WeightMap read_index(const Path& path) {
  const std::string where = path.string();
  const json index = parse_unique(read_file(path, "index of safetensors files"), where);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object() ||
      index["weight_map"].empty()) {
    throw DataError(fmt::format("{}: has no weight_map, an object that says which file holds each tensor", where));
  }
  WeightMap map;
  for (const auto& [name, file] : index["weight_map"].items()) {
    if (!file.is_string())
      throw DataError(fmt::format("{}: weight_map.{}: expected a file name, found {}", where, name, file.type_name()));
    if (!is_plain_name(file.get<std::string>())) {
      throw DataError(fmt::format("{}: weight_map.{} names {}, expected a file of this folder, without a path", where,
                                  name, file.dump()));
    }
    map[name] = file.get<std::string>();
  }
  return map;
}

void add_file(HfFiles& content, const Path& path) {
  content.files.emplace_back(path);
  const std::size_t number = content.files.size() - 1;
  for (const SafetensorsEntry& entry : content.files.back().entries()) {
    const auto [it, added] = content.tensors.emplace(entry.name, HfEntry{number, &entry});
    if (!added) {
      throw DataError(fmt::format("{}: tensor {} is also in {}, names must be unique", path.string(), entry.name,
                                  content.files[it->second.file].path().filename().string()));
    }
  }
}

// Index and files must name the same tensors in the same places.
void check_index(const HfFiles& content, const WeightMap& map, const std::string& where) {
  for (const auto& [name, file] : map) {
    const auto stored = content.tensors.find(name);
    if (stored == content.tensors.end()) {
      throw DataError(fmt::format("{}: says that {} holds tensor {}, which it does not", where, file, name));
    }
    const std::string found = content.files[stored->second.file].path().filename().string();
    if (found != file)
      throw DataError(fmt::format("{}: says that tensor {} is in {}, it is in {}", where, name, file, found));
  }
  for (const auto& [name, stored] : content.tensors) {
    if (!map.contains(name)) {
      throw DataError(
          fmt::format("{}: leaves out tensor {}, which {} holds; make the index anew, or remove it from the file",
                      where, name, content.files[stored.file].path().filename().string()));
    }
  }
}

[[noreturn]] void refuse_folder(const Path& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw ConfigError(
        fmt::format("{}: is no folder; expected a Hugging Face model folder with {}", folder.string(), kSingle));
  }
  for (const auto& item : std::filesystem::directory_iterator(folder, ignored)) {
    const Path extension = item.path().extension();
    if (extension == ".bin" || extension == ".pt" || extension == ".pth" || extension == ".ckpt") {
      throw DataError(fmt::format(
          "{}: the weights are a pickle, {}, which can run code when it is read and is not supported; convert them "
          "with transformers: AutoModelForCausalLM.from_pretrained(...).save_pretrained(..., "
          "safe_serialization=True), which writes {}",
          folder.string(), item.path().filename().string(), kSingle));
    }
  }
  throw DataError(fmt::format("{}: holds neither {} nor {}", folder.string(), kSingle, kIndex));
}

}  // namespace

HfFiles open_hf_files(const Path& folder) {
  HfFiles content;
  std::error_code ignored;
  if (std::filesystem::exists(folder / kSingle, ignored)) {
    add_file(content, folder / kSingle);
    return content;
  }
  const Path index = folder / kIndex;
  if (!std::filesystem::exists(index, ignored)) refuse_folder(folder);
  const WeightMap map = read_index(index);
  std::set<std::string> names;
  for (const auto& [tensor, file] : map) names.insert(file);
  content.files.reserve(names.size());  // entries are referred to by address
  for (const std::string& name : names) {
    if (!std::filesystem::exists(folder / name, ignored)) {
      throw DataError(fmt::format("{}: names {}, which is not in the folder; the model is incomplete: copy it again",
                                  index.string(), name));
    }
    add_file(content, folder / name);
  }
  check_index(content, map, index.string());
  return content;
}

}  // namespace convoy::checkpoint

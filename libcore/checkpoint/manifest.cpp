// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "libcore/base/checksum.h"
#include "libcore/base/json.h"

namespace convoy::checkpoint {
namespace {

std::string list_of(const tensor::Shape& shape) {
  std::string text = "[";
  for (int d = 0; d < shape.rank(); ++d) text += fmt::format("{}{}", d > 0 ? "," : "", shape[d]);
  return text + "]";
}

std::string progress_json(const Progress& progress) {
  JsonObject object;
  object.add("step", progress.step).add("update", progress.update).add("consumed_samples", progress.consumed_samples);
  object.add("skipped_in_a_row", progress.skipped_in_a_row);
  object.add_raw("loss_scale", progress.loss_scale ? json_number(*progress.loss_scale) : "null");
  if (const auto& history = progress.loss_scale_history) {
    object.add_raw(
        "loss_scale_history",
        JsonObject().add("finite_steps", history->finite_steps).add("overflows_left", history->overflows_left).text());
  }
  return object.text();
}

std::string pairs_json(const std::vector<std::pair<std::string, std::string>>& pairs) {
  JsonObject object;
  for (const auto& [key, value] : pairs) object.add(key, value);
  return object.text();
}

std::string tensor_json(const StoredTensor& tensor) {
  return JsonObject()
      .add("name", tensor.name)
      .add("state", tensor.state)
      .add("dtype", tensor::name_of(tensor.dtype))
      .add_raw("shape", list_of(tensor.shape))
      .add("digest", fmt::format("{:016x}", tensor.digest))
      .text();
}

std::string file_json(const StoredFile& file) {
  return fmt::format(R"({{"name":{},"size":{},"crc32c":{}}})", json_quoted(file.name), file.size, file.crc32c);
}

std::string fragment_json(const StoredFragment& fragment) {
  return fmt::format(R"({{"tensor":{},"file":{},"start":{},"extent":{},"offset":{},"crc32c":[{}]}})", fragment.tensor,
                     fragment.file, list_of(fragment.box.offset), list_of(fragment.box.extent), fragment.offset,
                     fmt::join(fragment.crc32c, ","));
}

// One entry a line, so that people can read and compare the text.
template <class Items, class ToJson>
std::string lines_json(const Items& items, ToJson to_json_of) {
  std::string text = "[";
  for (const auto& item : items) {
    text += text.size() > 1 ? ",\n" : "\n";
    text += to_json_of(item);
  }
  return text + "\n]";
}

}  // namespace

std::string to_json(const Manifest& manifest) {
  const Description& description = manifest.description;
  std::string text = "{\n";
  const auto add = [&text](std::string_view key, const std::string& value, bool last = false) {
    text += fmt::format("\"{}\": {}{}\n", key, value, last ? "" : ",");
  };
  add("format", json_quoted("convoy-checkpoint"));
  add("format_version", fmt::format("{}", kFormatVersion));
  add("save_id", json_quoted(manifest.save_id));
  add("digest", json_quoted(digest_of(manifest)));
  add("progress", progress_json(description.progress));
  add("layout", JsonObject()
                    .add("tensor", description.layout.tensor)
                    .add("pipeline", description.layout.pipeline)
                    .add("zero_shards", description.layout.zero_shards)
                    .text());
  add("origin", json_quoted(description.origin));
  add("model_config", json_quoted(description.model_config));
  add("fingerprint", pairs_json(description.fingerprint));
  add("aliases", pairs_json(description.aliases));
  add("tensors", lines_json(manifest.tensors, tensor_json));
  add("files", lines_json(manifest.files, file_json));
  add("fragments", lines_json(manifest.fragments, fragment_json), true);
  return text + "}\n";
}

std::string digest_of(const Manifest& manifest) {
  std::vector<std::string> lines;
  const auto add = [&lines](const std::string& name, const StoredTensor& tensor, const std::string& digest) {
    lines.push_back(fmt::format("{} {} {} {} {}\n", name, tensor.state, tensor::name_of(tensor.dtype),
                                list_of(tensor.shape), digest));
  };
  for (const StoredTensor& tensor : manifest.tensors) {
    add(tensor.name, tensor, fmt::format("{:016x}", tensor.digest));
    for (const auto& [alias, target] : manifest.description.aliases)
      if (target == tensor.name) add(alias, tensor, "alias:" + target);
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  const Progress& progress = manifest.description.progress;
  text += fmt::format("step {}\nupdate {}\nconsumed_samples {}\nloss_scale {}\n", progress.step, progress.update,
                      progress.consumed_samples, progress.loss_scale ? json_number(*progress.loss_scale) : "none");
  if (const auto& history = progress.loss_scale_history)
    text += fmt::format("loss_scale_finite_steps {}\nloss_scale_overflows_left {}\n", history->finite_steps,
                        history->overflows_left);
  return sha256_hex(text);
}

}  // namespace convoy::checkpoint

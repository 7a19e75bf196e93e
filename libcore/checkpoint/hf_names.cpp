// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/hf_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "libcore/base/error.h"

namespace convoy::checkpoint {
namespace {

constexpr std::array<std::string_view, 3> kFusedParts = {".attn.q_attn.", ".attn.k_attn.", ".attn.v_attn."};

struct FusedName {
  std::string name;
  std::size_t part;
};

std::optional<FusedName> fused_name(std::string_view ours) {
  for (std::size_t part = 0; part < kFusedParts.size(); ++part) {
    const std::size_t at = ours.rfind(kFusedParts[part]);
    if (at == std::string_view::npos) continue;
    return FusedName{fmt::format("{}.attn.c_attn.{}", ours.substr(0, at), ours.substr(at + kFusedParts[part].size())),
                     part};
  }
  return std::nullopt;
}

tensor::Shape widened(const tensor::Shape& shape, std::int64_t extra) {
  return shape.rank() == 1 ? tensor::Shape{shape[0] + extra} : tensor::Shape{shape[0], shape[1] + extra};
}

// The name of layer `N` after `prefix`: what follows "h.N.", or nothing if `name` is not of that form.
std::optional<std::string_view> within_layer(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  if (digits == 0 || digits == name.size() || name[digits] != '.') return std::nullopt;
  return name.substr(digits + 1);
}

}  // namespace

std::vector<HfTensor> hf_tensors(const std::vector<NamedShape>& ours) {
  std::vector<HfTensor> tensors;
  std::map<std::string, std::size_t> place;  // of a fused tensor
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::optional<FusedName> fused = fused_name(ours[i].name);
    if (!fused) {
      tensors.push_back({ours[i].name, ours[i].shape, {i}});
      continue;
    }
    const auto [it, first] = place.try_emplace(fused->name, tensors.size());
    if (first) tensors.push_back({fused->name, ours[i].shape, {}});
    HfTensor& tensor = tensors[it->second];
    check(tensor.parts.size() == fused->part, fmt::format("q, k and v of {} are listed in this order", fused->name));
    if (!first) tensor.shape = widened(tensor.shape, ours[i].shape.back());
    tensor.parts.push_back(i);
  }
  for (const auto& [name, index] : place) {
    check(tensors[index].parts.size() == kFusedParts.size(), fmt::format("q, k and v of {} are all listed", name));
  }
  return tensors;
}

bool is_ignorable_buffer(std::string_view name) {
  for (const char* prefix : {"h.", "transformer.h."}) {
    const std::optional<std::string_view> rest = within_layer(name, prefix);
    if (rest && (*rest == "attn.bias" || *rest == "attn.masked_bias")) return true;
  }
  const std::optional<std::string_view> rest = within_layer(name, "model.layers.");
  return (rest && *rest == "self_attn.rotary_emb.inv_freq") || name == "model.rotary_emb.inv_freq";
}

}  // namespace convoy::checkpoint

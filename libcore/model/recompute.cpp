// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/recompute.h"

#include "libcore/base/error.h"

namespace convoy::model {
namespace {

constexpr Recompute kAll[] = {Recompute::kNone, Recompute::kSelective, Recompute::kFull};

}  // namespace

std::string_view name_of(Recompute recompute) {
  switch (recompute) {
    case Recompute::kNone:
      return "none";
    case Recompute::kSelective:
      return "selective";
    case Recompute::kFull:
      return "full";
  }
  throw InternalError("unknown kind of recomputation");
}

Recompute parse_recompute(std::string_view text) {
  for (const Recompute recompute : kAll) {
    if (name_of(recompute) == text) return recompute;
  }
  throw InternalError("the kinds of recomputation are none, selective and full");
}

}  // namespace convoy::model

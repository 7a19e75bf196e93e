// SPDX-License-Identifier: Apache-2.0
// Documents of a dataset in parts, so that one of any size can be shown.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "libcore/data/indexed_dataset.h"
#include "libcore/data/tokenizer.h"

namespace convoy::data {

constexpr std::int64_t kPartTokens = 1 << 18;

// Calls `take` with the ids of a document, in order, up to `part_tokens` at once.
void for_each_ids(const IndexedDataset& dataset, std::int64_t document, const std::function<void(std::span<const std::int32_t>)>& take,
                  std::int64_t part_tokens = kPartTokens);

// Calls `take` with the text of a document in parts of whole characters: together they are Tokenizer::decode of all ids. DataError
// as there.
void for_each_text(const IndexedDataset& dataset, std::int64_t document, const Tokenizer& tokenizer,
                   const std::function<void(std::string_view)>& take, std::int64_t part_tokens = kPartTokens);

}  // namespace convoy::data

// SPDX-License-Identifier: Apache-2.0
// What of encode's options a tokenizer can serve, and what it makes of them.
#pragma once

#include <vector>

#include "libcore/data/encode_options.h"
#include "libcore/data/indexed_dataset.h"
#include "libcore/data/tokenizer.h"

namespace convoy::data {

// ConfigError with every option that this tokenizer, or another option, rules out.
void check_options(const EncodeOptions& options, const Tokenizer& tokenizer);

// Says what a tokenizer that does not give text back loses: a warning, or with allow_lossy a note.
void warn_if_lossy(const EncodeOptions& options, const Tokenizer& tokenizer);

// Says if the library encodes, because the tokenizer has what our own encoder leaves to it.
void tell_if_slow(const EncodeOptions& options, const Tokenizer& tokenizer);

// Makes the folder of `out`, and removes what runs of this host that were killed left of their writing. ConfigError if it names no prefix, or if a pair there may not be replaced.
void check_place(const Path& out, const std::vector<Split>& splits);

TokenType token_type_of(const EncodeOptions& options, const Tokenizer& tokenizer);

}  // namespace convoy::data

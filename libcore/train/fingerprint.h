// SPDX-License-Identifier: Apache-2.0
// What must stay the same where a run goes on: everything that shapes the training curve. Layout, micro-batch, threads,
// paths, cadence and the number of steps are free.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "libcore/train/prepare.h"

namespace convoy::train {

using Fingerprint = std::vector<std::pair<std::string, std::string>>;  // sorted by key

Fingerprint fingerprint_of(const PreparedRun& run);

// Tokens by what they are, wherever they lie: by the checksum of their commit marker, or, without one, by their counts
// and the first and last of them.
std::string data_identity(const data::IndexedDataset& dataset);
// The same of the training data: of a blend, all sets with their shares.
std::string data_identity(const PreparedRun& run);

// What a checkpoint's run decided where this one leaves it open: the end of the decay is its, not that of another
// number of steps. Comes before fingerprint_of().
void adopt(const Fingerprint& stored, PreparedRun& run);

// Keys whose values differ, each a problem with both values, but for those in `allowed`; and what `allowed` names that
// is no key.
std::vector<std::string> fingerprint_problems(const Fingerprint& stored, const Fingerprint& current,
                                              const std::vector<std::string>& allowed);

}  // namespace convoy::train

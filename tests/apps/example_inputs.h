// SPDX-License-Identifier: Apache-2.0
// The folder that the examples of all --help pages assume: real text, and what the programs made of it. An example that
// names another input needs that input made here.
#pragma once

#include <filesystem>
#include <string>

namespace convoy::examples {

// Fills `folder` with docs/, corpus.jsonl, corpus.jsonl.zst, tokenizer.model, data/corpus, data/docs.{train,valid},
// config.json, rows.jsonl, the run runs/first (1,000 tiny steps) and runs/slow, whose traces are made, with a slow rank.
// Returns what went wrong, or an empty string.
std::string prepare(const std::filesystem::path& folder);

// Runs a line in `folder` as a user's shell would; the programs are those of this build. Returns what went wrong, with
// everything that it said, or an empty string.
std::string run_line(const std::filesystem::path& folder, const std::string& line);

}  // namespace convoy::examples

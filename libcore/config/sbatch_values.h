// SPDX-License-Identifier: Apache-2.0
// What sbatch makes of the texts that a job file passes on to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace convoy::config {

// A time limit, in seconds; 0: it is none.
std::int64_t seconds_of_limit(const std::string& time);

// Whether it is a size of memory: "16G", "500M", "0".
bool is_memory(std::string_view text);

// GPUs of a node that --gres asks for: "gpu", "gpu:4", "gpu:a100:4(S:0)", several with commas, among other devices;
// none if it names none, or they cannot be counted.
std::optional<std::int64_t> gpus_of(std::string_view gres);

// Why submit.sh cannot pass an option on as it is (a sentence), or empty.
std::string problem_of_option(const std::string& option);

}  // namespace convoy::config

// SPDX-License-Identifier: Apache-2.0
#include "libcore/config/sbatch_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace convoy::config {
namespace {

constexpr std::int64_t kUnlimited = std::int64_t{1} << 40;  // seconds, of "UNLIMITED"

// An option of sbatch; the letter is 0 where it has none.
struct SbatchOption {
  std::string_view name;
  char letter = '\0';
};
// What submit.sh gives itself.
constexpr SbatchOption kOwnOptions[] = {{"array", 'a'}, {"dependency", 'd'}, {"kill-on-invalid-dep"}, {"parsable"},
                                        {"wrap"},       {"output", 'o'},     {"job-name", 'J'},       {"chdir", 'D'}};
// With these, sbatch prints something that is no job, and submits nothing.
constexpr SbatchOption kSubmitNothing[] = {{"help", 'h'}, {"usage", 'u'}, {"version", 'V'}, {"test-only"}};

// The numbers between the colons of "4:00:00"; empty if there is anything else.
std::vector<std::int64_t> numbers_of(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    if (part.empty() || part.size() > 7 || part.find_first_not_of("0123456789") != std::string_view::npos) return {};
    std::int64_t value = 0;
    for (const char c : part) value = 10 * value + (c - '0');
    numbers.push_back(value);
    begin = end + 1;
  }
  return numbers;
}

// The one of `known` that sbatch takes an option for: a long name may be cut short, and a value may stick to a letter.
template <std::size_t N>
const SbatchOption* found_in(const SbatchOption (&known)[N], std::string_view option) {
  const bool is_long = option.starts_with("--");
  const std::string_view key = option.substr(is_long ? 2 : 1, option.find('=') - (is_long ? 2 : 1));
  for (const SbatchOption& candidate : known) {
    if (is_long ? candidate.name.starts_with(key) : option[1] == candidate.letter) return &candidate;
  }
  return nullptr;
}

}  // namespace

std::int64_t seconds_of_limit(const std::string& time) {
  if (time == "UNLIMITED" || time == "INFINITE") return kUnlimited;
  const std::size_t dash = time.find('-');
  const std::vector<std::int64_t> parts =
      numbers_of(std::string_view(time).substr(dash == std::string::npos ? 0 : dash + 1));
  if (parts.empty() || parts.size() > 3) return 0;
  if (dash == std::string::npos) {
    if (parts.size() == 1) return 60 * parts[0];
    if (parts.size() == 2) return 60 * parts[0] + parts[1];
    return 3600 * parts[0] + 60 * parts[1] + parts[2];
  }
  const std::vector<std::int64_t> days = numbers_of(std::string_view(time).substr(0, dash));
  if (days.size() != 1) return 0;
  std::int64_t seconds = 86400 * days[0], unit = 3600;
  for (const std::int64_t part : parts) {
    seconds += unit * part;
    unit /= 60;
  }
  return seconds;
}

bool is_memory(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit = text.substr(digits);
  return digits > 0 &&
         (unit.empty() || (unit.size() == 1 && std::string_view("KMGTkmgt").find(unit[0]) != std::string_view::npos));
}

std::optional<std::int64_t> gpus_of(std::string_view gres) {
  std::optional<std::int64_t> gpus;
  for (std::size_t begin = 0; begin < gres.size();) {
    const std::size_t end = std::min(gres.find(',', begin), gres.size());
    std::string_view device = gres.substr(begin, end - begin);
    device = device.substr(0, device.find('('));
    begin = end + 1;
    if (device != "gpu" && !device.starts_with("gpu:")) continue;
    const std::vector<std::int64_t> count = numbers_of(device.substr(device.rfind(':') + 1));
    if (device != "gpu" && count.size() != 1) return std::nullopt;
    gpus = gpus.value_or(0) + (device == "gpu" ? 1 : count.front());
  }
  return gpus;
}

std::string problem_of_option(const std::string& option) {
  const std::size_t name_end = option.find_first_of("= \t\r\n");
  const bool is_split = option.starts_with("--") && name_end != std::string::npos && option[name_end] != '=';
  if (!option.starts_with('-') || option == "-" || option == "--" || is_split)
    return fmt::format("'{}' is no option; write each as one text: '--exclusive', '--comment=text'", option);
  if (const SbatchOption* own = found_in(kOwnOptions, option))
    return fmt::format("--{} is given by submit.sh itself; remove {}", own->name, option);
  if (found_in(kSubmitNothing, option)) return fmt::format("with {} nothing is submitted; remove it", option);
  return "";
}

}  // namespace convoy::config

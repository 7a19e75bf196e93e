// SPDX-License-Identifier: Apache-2.0
// stream_bench MODEL MEGABYTES a|abab|base64|blanks|FILE: one text of so many bytes, made or of the file's bytes over and over without
// newlines, given to Tokenizer::Stream in parts of 1 MiB: its rate, and what the process grew by.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "libcore/data/tokenizer.h"

namespace {

using convoy::data::Tokenizer;

constexpr std::size_t kPart = std::size_t{1} << 20;

double cpu_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

std::string content(const std::string& kind) {
  if (kind == "a") return std::string(kPart, 'a');
  if (kind == "blanks") return std::string(kPart, ' ');
  std::string text;
  if (kind == "abab") {
    while (text.size() < kPart) text += "ab";
  } else if (kind == "base64") {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::mt19937_64 random(1);
    while (text.size() < 64 * kPart) text += kDigits[random() % kDigits.size()];
  } else {
    std::ifstream file(kind, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
    std::replace(text.begin(), text.end(), '\n', ' ');
  }
  return text;
}

int run(char** arguments) {
  const Tokenizer tokenizer{convoy::Path(arguments[1])};
  const auto total = static_cast<std::size_t>(1e6 * std::atof(arguments[2]));
  const std::string text = content(arguments[3]);
  if (text.empty() || !tokenizer.streams()) return 2;
  Tokenizer::Lane lane(tokenizer);
  std::vector<std::int32_t> ids;
  lane.encode("warm", ids);
  ids.reserve(4 * kPart);
  const double before = peak_mib(), start = cpu_seconds();
  Tokenizer::Stream stream(lane);
  std::size_t tokens = 0, done = 0, at = 0;
  while (done < total) {
    const std::size_t bytes = std::min({kPart, text.size() - at, total - done});
    ids.clear();
    if (!stream.add(std::string_view(text).substr(at, bytes), ids)) return 3;
    tokens += ids.size();
    done += bytes;
    at = at + bytes == text.size() ? 0 : at + bytes;
  }
  ids.clear();
  if (!stream.finish(ids)) return 3;
  const double seconds = cpu_seconds() - start;
  fmt::print("{}: {:.0f} MB, {:.1f} Mtokens, {:.2f} MB/s, peak grew by {:.1f} MiB\n", arguments[3], static_cast<double>(total) / 1e6,
             static_cast<double>(tokens + ids.size()) / 1e6, static_cast<double>(total) / 1e6 / seconds, peak_mib() - before);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    fmt::print("stream_bench MODEL MEGABYTES a|abab|base64|blanks|FILE\n");
    return 2;
  }
  try {
    return run(arguments);
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
}

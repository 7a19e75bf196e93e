// SPDX-License-Identifier: Apache-2.0
// encoder_bench MODEL CORPUS.jsonl [MEGABYTES [LIBRARY-MEGABYTES [THREADS]]]: CPU time of one thread, of the
// SentencePiece library and of Tokenizer::Lane: cold (a first pass over the corpus) and repeated (a second one). The
// passes take turns slice by slice, so that whatever else the machine does meets all of them. Every id is compared; 0
// megabytes are the whole corpus. The library may be given a part of it only, of slices spread over all. With several
// threads: the wall time of a cold pass of all, each with every so-manieth slice, and nothing is compared.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "libcore/data/json_record.h"
#include "libcore/data/tokenizer.h"

namespace {

using convoy::data::Tokenizer;
using Documents = std::vector<std::string>;
using Ids = std::vector<std::int32_t>;

constexpr std::size_t kSliceBytes = std::size_t{2} << 20;

double cpu_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Cost {
  double bytes = 0, seconds = 0, tokens = 0;
  std::string text() const {
    return fmt::format("{:8.1f} MB  {:8.2f} s  {:7.2f} MB/s  {:6.2f} Mtokens/s", bytes / 1e6, seconds,
                       bytes / 1e6 / seconds, tokens / 1e6 / seconds);
  }
  double rate() const { return bytes / seconds; }
};

struct Encoded {
  Ids ids;
  std::vector<std::size_t> ends;  // of each document, in `ids`
  bool same(const Encoded& other, std::size_t document) const {
    const auto begin = [document](const Encoded& of) {
      return of.ids.begin() + static_cast<std::ptrdiff_t>(document == 0 ? 0 : of.ends[document - 1]);
    };
    const auto end = [document](const Encoded& of) {
      return of.ids.begin() + static_cast<std::ptrdiff_t>(of.ends[document]);
    };
    return std::equal(begin(*this), end(*this), begin(other), end(other));
  }
};

// A slice at a time: the clock takes as long as a short document.
template <class Encode>
void measure(const Documents& documents, Cost& cost, Encoded& out, Encode encode) {
  out.ids.clear();
  out.ends.clear();
  const double start = cpu_seconds();
  for (const std::string& document : documents) {
    encode(document, out.ids);
    out.ends.push_back(out.ids.size());
  }
  cost.seconds += cpu_seconds() - start;
  for (const std::string& document : documents) cost.bytes += static_cast<double>(document.size());
  cost.tokens += static_cast<double>(out.ids.size());
}

std::vector<Documents> read_slices(const char* path, double most_bytes) {
  std::ifstream file(path);
  const convoy::data::RecordParser parser({"text"});
  std::vector<Documents> slices(1);
  double bytes = 0;
  std::size_t in_slice = 0;
  std::string text;
  for (std::string line; (most_bytes == 0 || bytes < most_bytes) && std::getline(file, line);) {
    if (parser.parse(line, text)) continue;
    bytes += static_cast<double>(text.size());
    in_slice += text.size();
    slices.back().push_back(text);
    if (in_slice < kSliceBytes) continue;
    slices.emplace_back();
    in_slice = 0;
  }
  return slices;
}

std::size_t differences(const Encoded& a, const Encoded& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.ends.size(); ++i) count += a.same(b, i) ? 0 : 1;
  return count;
}

int run_threads(const Tokenizer& tokenizer, const std::vector<Documents>& slices, std::size_t count) {
  std::vector<Cost> costs(count);
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < count; ++t) {
      threads.emplace_back([&, t] {
        Tokenizer::Lane lane(tokenizer);
        const auto own = [&lane](const std::string& text, Ids& ids) { lane.encode(text, ids); };
        Encoded encoded;
        for (std::size_t i = t; i < slices.size(); i += count) measure(slices[i], costs[t], encoded, own);
      });
    }
  }
  Cost all;
  all.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const Cost& cost : costs) {
    all.bytes += cost.bytes;
    all.tokens += cost.tokens;
  }
  fmt::print("{} threads {}\n", count, all.text());
  return 0;
}

int run(int count, char** arguments) {
  const Tokenizer tokenizer{convoy::Path(arguments[1])};
  const auto slices = read_slices(arguments[2], count > 3 ? 1e6 * std::atof(arguments[3]) : 0.0);
  const double library_share =
      count > 4 ? 1e6 * std::atof(arguments[4]) / (static_cast<double>(slices.size()) * kSliceBytes) : 1.0;
  if (const int threads = count > 5 ? std::atoi(arguments[5]) : 1; threads > 1)
    return run_threads(tokenizer, slices, static_cast<std::size_t>(threads));
  Tokenizer::Lane lane(tokenizer);
  const auto own = [&lane](const std::string& text, Ids& ids) { lane.encode(text, ids); };
  Cost library, cold, repeated;
  Encoded ids, expected;
  std::size_t different = 0, documents = 0;
  for (const Documents& slice : slices) {
    measure(slice, cold, ids, own);
    documents += slice.size();
    if (library.bytes > library_share * cold.bytes) continue;
    measure(slice, library, expected,
            [&](const std::string& text, Ids& out) { tokenizer.encode_by_library(text, out); });
    different += differences(ids, expected);
  }
  for (const Documents& slice : slices) measure(slice, repeated, ids, own);
  fmt::print("{} documents; {} differ from the library\n", documents, different);
  fmt::print("library   {}\n", library.text());
  fmt::print("cold      {}  {:6.1f} times\n", cold.text(), cold.rate() / library.rate());
  fmt::print("repeated  {}  {:6.1f} times\n", repeated.text(), repeated.rate() / library.rate());
  return different == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    fmt::print("encoder_bench MODEL CORPUS.jsonl [MEGABYTES [LIBRARY-MEGABYTES [THREADS]]]\n");
    return 2;
  }
  try {
    return run(count, arguments);
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
}

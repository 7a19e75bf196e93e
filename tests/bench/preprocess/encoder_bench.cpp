// SPDX-License-Identifier: Apache-2.0
// encoder_bench MODEL CORPUS.jsonl [MEGABYTES [LIBRARY-MEGABYTES]]: CPU time of one thread, of the SentencePiece library and of
// Tokenizer::Lane: cold (a first pass over the corpus) and repeated (a second one). The passes take turns slice by slice, so that
// whatever else the machine does meets all of them. Every id is compared; the third argument 0 is the whole corpus. The library
// may be given a part of it only, of slices spread over all.
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <string>
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
    return fmt::format("{:8.1f} MB  {:8.2f} s  {:7.2f} MB/s  {:6.2f} Mtokens/s", bytes / 1e6, seconds, bytes / 1e6 / seconds,
                       tokens / 1e6 / seconds);
  }
  double rate() const { return bytes / seconds; }
};

template <class Encode>
std::vector<Ids> measure(const Documents& documents, Cost& cost, Encode encode) {
  std::vector<Ids> all(documents.size());
  Ids ids;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    ids.clear();
    const double start = cpu_seconds();
    encode(documents[i], ids);
    cost.seconds += cpu_seconds() - start;
    cost.bytes += static_cast<double>(documents[i].size());
    cost.tokens += static_cast<double>(ids.size());
    all[i] = ids;
  }
  return all;
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

std::size_t differences(const std::vector<Ids>& a, const std::vector<Ids>& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

int run(int count, char** arguments) {
  const Tokenizer tokenizer{convoy::Path(arguments[1])};
  const auto slices = read_slices(arguments[2], count > 3 ? 1e6 * std::atof(arguments[3]) : 0.0);
  const double library_share = count > 4 ? 1e6 * std::atof(arguments[4]) / (static_cast<double>(slices.size()) * kSliceBytes) : 1.0;
  Tokenizer::Lane lane(tokenizer);
  const auto own = [&lane](const std::string& text, Ids& ids) { lane.encode(text, ids); };
  Cost library, cold, repeated;
  std::size_t different = 0, documents = 0;
  for (const Documents& slice : slices) {
    const std::vector<Ids> ids = measure(slice, cold, own);
    documents += slice.size();
    if (library.bytes > library_share * cold.bytes) continue;
    different += differences(ids, measure(slice, library, [&](const std::string& text, Ids& out) { tokenizer.encode_by_library(text, out); }));
  }
  for (const Documents& slice : slices) measure(slice, repeated, own);
  fmt::print("{} documents; {} differ from the library\n", documents, different);
  fmt::print("library   {}\n", library.text());
  fmt::print("cold      {}  {:6.1f} times\n", cold.text(), cold.rate() / library.rate());
  fmt::print("repeated  {}  {:6.1f} times\n", repeated.text(), repeated.rate() / library.rate());
  return different == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    fmt::print("encoder_bench MODEL CORPUS.jsonl [MEGABYTES [LIBRARY-MEGABYTES]]\n");
    return 2;
  }
  try {
    return run(count, arguments);
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
}

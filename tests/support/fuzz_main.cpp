// SPDX-License-Identifier: Apache-2.0
// Drives a fuzz target (LLVMFuzzerTestOneInput, as libFuzzer has it) without needing clang: every file of the corpus,
// then mutations of them for a number of seconds or runs. The sequence is a function of --seed, so a failure repeats.
// An input that crashes, or takes too long, is written to fuzz-failure-NAME in the working directory; give it as an
// operand to run it alone.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

constexpr std::size_t kLargestInput = 64 * 1024;
constexpr unsigned kSecondsAnInput = 10;

struct Settings {
  double seconds = 5;
  std::uint64_t runs = 0;  // 0: as many as the seconds allow
  std::uint64_t seed = 1;
  std::vector<std::filesystem::path> inputs;
};

// What the signal handler writes out; a handler sees globals only.
const Bytes* current_input = nullptr;
char failure_file[256] = "fuzz-failure";

extern "C" void keep_input(int signal) {
  const int file = ::open(failure_file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (file >= 0 && current_input != nullptr && ::write(file, current_input->data(), current_input->size()) >= 0) {
    const char text[] = "the failing input is kept in fuzz-failure-NAME in the working directory\n";
    if (::write(STDERR_FILENO, text, sizeof text - 1) < 0) ::_exit(1);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::uint64_t below(Random& random, std::uint64_t limit) { return random() % limit; }

void run_one(const Bytes& input) {
  current_input = &input;
  ::alarm(kSecondsAnInput);
  LLVMFuzzerTestOneInput(input.data(), input.size());
  ::alarm(0);
}

// Numbers at which sizes, counts and offsets go wrong.
std::uint64_t interesting(Random& random) {
  constexpr std::uint64_t kValues[] = {0,
                                       1,
                                       2,
                                       7,
                                       8,
                                       127,
                                       128,
                                       255,
                                       256,
                                       32767,
                                       32768,
                                       65535,
                                       65536,
                                       0x7FFFFFFF,
                                       0x80000000,
                                       0xFFFFFFFF,
                                       0x100000000,
                                       0x7FFFFFFFFFFFFFFF,
                                       0x8000000000000000,
                                       0xFFFFFFFFFFFFFFFF};
  return kValues[below(random, std::size(kValues))];
}

void overwrite_number(Bytes& bytes, Random& random) {
  const std::size_t width = std::size_t{1} << below(random, 4);
  if (bytes.size() < width) return;
  const std::uint64_t value = interesting(random);
  std::memcpy(bytes.data() + below(random, bytes.size() - width + 1), &value, width);
}

void insert_range(Bytes& bytes, const Bytes& from, Random& random) {
  if (from.empty()) return;
  const std::size_t start = below(random, from.size());
  const std::size_t length = 1 + below(random, std::min<std::size_t>(from.size() - start, 64));
  const Bytes part(from.begin() + static_cast<std::ptrdiff_t>(start),
                   from.begin() + static_cast<std::ptrdiff_t>(start + length));
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(below(random, bytes.size() + 1)), part.begin(), part.end());
}

void erase_range(Bytes& bytes, Random& random) {
  const std::size_t start = below(random, bytes.size());
  const std::size_t length = 1 + below(random, std::min<std::size_t>(bytes.size() - start, 64));
  bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(start),
              bytes.begin() + static_cast<std::ptrdiff_t>(start + length));
}

void mutate(Bytes& bytes, const Bytes& other, Random& random) {
  if (bytes.empty()) bytes.push_back(static_cast<std::uint8_t>(random()));
  switch (below(random, 8)) {
    case 0:
      bytes[below(random, bytes.size())] ^= static_cast<std::uint8_t>(1 << below(random, 8));
      break;
    case 1:
      bytes[below(random, bytes.size())] = static_cast<std::uint8_t>(random());
      break;
    case 2:
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(below(random, bytes.size() + 1)),
                   static_cast<std::uint8_t>(random()));
      break;
    case 3:
      erase_range(bytes, random);
      break;
    case 4:
      overwrite_number(bytes, random);
      break;
    case 5:
      insert_range(bytes, Bytes(bytes), random);
      break;
    case 6:
      insert_range(bytes, other, random);
      break;
    default:
      bytes.resize(below(random, bytes.size() + 1));
      break;
  }
  if (bytes.size() > kLargestInput) bytes.resize(kLargestInput);
}

Bytes read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<Bytes> corpus_of(const std::vector<std::filesystem::path>& inputs) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& input : inputs) {
    if (!std::filesystem::is_directory(input)) {
      files.push_back(input);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(input)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());  // the order of a directory is the file system's
  std::vector<Bytes> corpus;
  for (const std::filesystem::path& file : files) corpus.push_back(read(file));
  return corpus;
}

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (argument == "--seconds") {
      settings.seconds = std::atof(value);
    } else if (argument == "--runs") {
      settings.runs = std::strtoull(value, nullptr, 10);
    } else if (argument == "--seed") {
      settings.seed = std::strtoull(value, nullptr, 10);
    } else {
      settings.inputs.emplace_back(argument);
      continue;
    }
    ++i;
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = settings_of(argc, argv);
  std::snprintf(failure_file, sizeof failure_file, "fuzz-failure-%s",
                std::filesystem::path(argv[0]).filename().c_str());
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM}) std::signal(signal, keep_input);

  std::vector<Bytes> corpus = corpus_of(settings.inputs);
  for (const Bytes& input : corpus) run_one(input);
  run_one({});
  if (settings.inputs.size() == 1 && !std::filesystem::is_directory(settings.inputs[0])) return 0;
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: the corpus is empty\n", argv[0]);
    return 2;
  }

  Random random(settings.seed);
  std::uint64_t runs = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (; settings.runs == 0 ? elapsed() < settings.seconds : runs < settings.runs; ++runs) {
    Bytes input = corpus[below(random, corpus.size())];
    for (std::uint64_t left = 1 + below(random, 8); left > 0; --left)
      mutate(input, corpus[below(random, corpus.size())], random);
    run_one(input);
  }
  std::printf("%s: %zu inputs of the corpus, %llu mutations, seed %llu, %.1f s\n", argv[0], corpus.size(),
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(settings.seed), elapsed());
  return 0;
}

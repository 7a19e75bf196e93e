// SPDX-License-Identifier: Apache-2.0
// Third-party headers stay where they are known: they are what makes compiling slow and replacing a library dear.
#include <algorithm>
#include <regex>

#include "tests/structure/source_tree.h"

namespace convoy::structure {
namespace {

struct Library {
  const char* name;
  const char* header;   // a regular expression for the path in #include
  const char* allowed;  // the files that may include it, likewise
};

// Headers (.h) of ours may include none of these but json_fwd.hpp, and the MPI backend's private ones mpi.h; *-inl.h are
// parts of one source that compile for several processors.
const std::vector<Library> kLibraries = {
    {"CLI11", "CLI/.*", "libcore/app/command_line\\.cpp"},
    {"spdlog", "spdlog/.*", "libcore/base/log\\.cpp"},
    {"toml++", "toml\\+\\+/.*|toml\\.hpp", "libcore/app/[a-z_]+\\.cpp"},
    {"nlohmann-json", "nlohmann/json\\.hpp", "(libcore|apps)/[a-z]+/[a-z0-9_]+\\.cpp"},
    {"simdjson", "simdjson\\.h", "libcore/data/[a-z_]+\\.cpp"},
    {"oneDNN", "(oneapi/)?dnnl.*", "libcore/ops/(cpu/)?[a-z_]+\\.cpp"},
    {"Highway", "hwy/.*", "libcore/ops/cpu/[a-z0-9_]+(\\.cpp|-inl\\.h)"},
    {"SentencePiece", "sentencepiece.*", "libcore/data/[a-z_]+\\.cpp"},
    {"protozero", "protozero/.*", "libcore/(train|data)/[a-z_]+\\.cpp"},
    {"Oniguruma", "oniguruma\\.h", "libcore/data/text_pattern\\.cpp"},
    {"ICU", "unicode/.*", "libcore/data/nfc\\.cpp"},
    {"zlib", "zlib\\.h", "libcore/data/[a-z_]+\\.cpp"},
    {"zstd", "zstd.*\\.h", "libcore/data/[a-z_]+\\.cpp"},
    {"OpenSSL", "openssl/.*", "libcore/base/checksum\\.cpp"},
    {"xxHash", "xxhash\\.h", "libcore/base/checksum\\.cpp"},
    {"HDF5", "hdf5.*|H5.*", "libcore/checkpoint/hdf5_file\\.cpp"},
    {"MPI", "mpi\\.h", "libcore/comm/mpi/[a-z_]+\\.(cpp|h)"},
    {"protobuf", "google/protobuf/.*", "nowhere"},
    // oneDNN runs on OpenMP, and a worker of ours tells it to use no team of its own.
    {"OpenMP", "omp\\.h", "libcore/device/thread_pool\\.cpp"},
};

std::vector<SourceFile> product_sources() {
  std::vector<SourceFile> files = sources_below("libcore");
  for (SourceFile& file : sources_below("apps")) files.push_back(std::move(file));
  return files;
}

TEST(ThirdParty, HeadersAreIncludedWhereTheyBelong) {
  for (const Library& library : kLibraries) {
    const std::regex header(library.header), allowed(library.allowed);
    for (const SourceFile& file : product_sources()) {
      for (const Include& include : file.includes) {
        if (!std::regex_match(include.path, header)) continue;
        EXPECT_TRUE(std::regex_match(file.path, allowed))
            << file.at(static_cast<std::size_t>(include.line)) << " includes <" << include.path << ">; " << library.name
            << " belongs into " << library.allowed;
      }
    }
  }
}

TEST(ThirdParty, Cli11AndSpdlogAreEachIncludedByOneFile) {
  const auto includers = [](const std::string& folder) {
    const std::vector<SourceFile> files = product_sources();
    return std::count_if(files.begin(), files.end(), [&folder](const SourceFile& file) {
      return std::any_of(file.includes.begin(), file.includes.end(),
                         [&folder](const Include& i) { return i.path.starts_with(folder); });
    });
  };
  EXPECT_EQ(includers("CLI/"), 1);
  EXPECT_EQ(includers("spdlog/"), 1);
}

struct Confined {
  const char* what;
  const char* code;  // a regular expression searched for in code, comments and strings aside
  const char* allowed;
};

// The environment is read in one place, so that a test can replace it; own threading is std::thread and
// device::ThreadPool, because a sanitizer cannot see into OpenMP's run-time.
const std::vector<Confined> kConfined = {
    {"reading the environment", "\\b(secure_)?getenv\\b|\\benviron\\b", "libcore/cluster/[a-z_]+\\.cpp"},
    {"OpenMP", "#\\s*pragma\\s+omp\\b", "nowhere"},
    {"a choice of MPI or CUDA by the preprocessor", "^\\s*#\\s*(el)?if.*(MPI|CUDA|NCCL)", "nowhere"},
    {"ending the process", "\\b(std::)?(exit|abort|quick_exit)\\(", "nowhere"},
};

TEST(ThirdParty, ProcessWideThingsHaveOnePlace) {
  for (const Confined& confined : kConfined) {
    const std::regex code(confined.code), allowed(confined.allowed);
    for (const SourceFile& file : product_sources()) {
      if (std::regex_match(file.path, allowed)) continue;
      for (std::size_t i = 0; i < file.lines.size(); ++i) {
        EXPECT_FALSE(std::regex_search(code_of(file.lines[i]), code))
            << file.at(i + 1) << ": " << confined.what << " belongs into " << confined.allowed;
      }
    }
  }
}

}  // namespace
}  // namespace convoy::structure

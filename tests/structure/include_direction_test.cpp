// SPDX-License-Identifier: Apache-2.0
// Which module may include which: the tree of docs/architecture.md. A module that is not in the table fails the test,
// so that its place is decided when it is made.
#include <map>
#include <set>

#include "tests/structure/source_tree.h"

namespace convoy::structure {
namespace {

using Units = std::set<std::string>;

Units operator+(Units a, const Units& b) {
  a.insert(b.begin(), b.end());
  return a;
}

std::map<std::string, Units> allowed_table() {
  const Units base = {"base"};
  const Units trace = base + Units{"trace"};
  const Units device = trace + Units{"device"};
  const Units tensor = device + Units{"tensor"};
  const Units parallel = tensor + Units{"ops", "comm", "parallel"};
  const Units model = parallel + Units{"model"};
  const Units train = model + Units{"config", "optim", "checkpoint", "data", "cluster", "train"};
  return {{"base", {}},
          {"trace", base},
          {"device", trace},
          {"tensor", device},
          {"ops", tensor},
          {"comm", tensor},
          {"parallel", parallel},
          {"model", parallel},
          {"optim", model},
          {"checkpoint", parallel},  // sees named tensors, never the model
          {"data", base},
          {"cluster", base},
          {"config", parallel},
          {"train", train},
          {"analysis", trace},
          {"app", base},
          {"apps/preprocess", base + Units{"app", "data", "analysis"}},  // analysis: the frame and plots of its page
          {"apps/ckpt", model + Units{"app", "checkpoint", "data"}},
          {"apps/profile", trace + Units{"app", "analysis", "cluster"}},
          {"apps/train", train + Units{"app"}}};
}

std::string unit_of_include(const std::string& path) {
  SourceFile target;
  target.path = path;
  return target.unit();
}

bool is_ours(const std::string& path) {
  return path.starts_with("libcore/") || path.starts_with("apps/") || path.starts_with("tests/");
}

std::vector<SourceFile> product_sources() {
  std::vector<SourceFile> files = sources_below("libcore");
  for (SourceFile& file : sources_below("apps")) files.push_back(std::move(file));
  return files;
}

TEST(IncludeDirection, EveryModuleHasItsPlaceInTheTable) {
  const auto allowed = allowed_table();
  for (const SourceFile& file : product_sources())
    EXPECT_TRUE(allowed.contains(file.unit())) << file.path << " is in no known module";
}

TEST(IncludeDirection, IncludesPointDownTheTree) {
  const auto allowed = allowed_table();
  int seen = 0;
  for (const SourceFile& file : product_sources()) {
    const auto entry = allowed.find(file.unit());
    for (const Include& include : file.includes) {
      if (!is_ours(include.path) || entry == allowed.end()) continue;
      ++seen;
      const std::string target = unit_of_include(include.path);
      EXPECT_TRUE(target == file.unit() || entry->second.contains(target))
          << file.at(static_cast<std::size_t>(include.line)) << ": " << file.unit() << " may not include "
          << include.path;
    }
  }
  EXPECT_GT(seen, 50) << "the sources were not found";
}

TEST(IncludeDirection, TheTableHasNoCycle) {
  const auto allowed = allowed_table();
  for (const auto& [unit, targets] : allowed) {
    for (const std::string& target : targets) {
      if (target == unit) continue;
      EXPECT_FALSE(allowed.at(target).contains(unit)) << unit << " and " << target << " may include each other";
    }
  }
}

TEST(IncludeDirection, OurHeadersAreNamedFromTheRoot) {
  for (const SourceFile& file : product_sources()) {
    for (const Include& include : file.includes) {
      const bool quoted = file.lines[static_cast<std::size_t>(include.line) - 1].find('"') != std::string::npos;
      if (!quoted) continue;
      EXPECT_TRUE(is_ours(include.path) && std::filesystem::exists(root() / include.path))
          << file.at(static_cast<std::size_t>(include.line)) << ": " << include.path;
    }
  }
}

}  // namespace
}  // namespace convoy::structure

// SPDX-License-Identifier: Apache-2.0
// What every file of ours begins with, and what none contains.
#include <algorithm>
#include <regex>

#include "tests/structure/source_tree.h"

namespace convoy::structure {
namespace {

TEST(Text, EveryFileNamesItsLicence) {
  const std::vector<SourceFile> files = commented_files();
  EXPECT_GT(files.size(), 100u);
  for (const SourceFile& file : files) {
    const std::size_t line = !file.lines.empty() && file.lines[0].starts_with("#!") ? 1 : 0;
    ASSERT_GT(file.lines.size(), line) << file.path;
    EXPECT_THAT(file.lines[line], testing::MatchesRegex("(//|#|/\\*|--) SPDX-License-Identifier: Apache-2.0.*"))
        << file.path;
  }
}

TEST(Text, EveryHeaderIsIncludedOnce) {
  for (const std::string folder : {"libcore", "apps", "tests"}) {
    for (const SourceFile& file : sources_below(folder)) {
      // A *-inl.h is compiled once for each processor and guards itself by Highway's toggle.
      if (!file.is_header() || file.path.ends_with("-inl.h")) continue;
      EXPECT_NE(std::find(file.lines.begin(), file.lines.end(), "#pragma once"), file.lines.end()) << file.path;
    }
  }
}

TEST(Text, NothingIsLeftForLater) {
  const std::regex later(
      "\\b(TO"
      "DO|FIX"
      "ME|HA"
      "CK)\\b");
  for (const SourceFile& file : commented_files()) {
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      EXPECT_FALSE(std::regex_search(file.lines[i], later)) << file.at(i + 1);
  }
}

TEST(Text, NoLineEndsInABlank) {
  for (const std::string folder : {"libcore", "apps"}) {
    for (const SourceFile& file : sources_below(folder)) {
      for (std::size_t i = 0; i < file.lines.size(); ++i) {
        const std::string& line = file.lines[i];
        EXPECT_FALSE(line.ends_with(' ') || line.ends_with('\t') || line.ends_with('\r'))
            << file.at(i + 1) << " ends in a blank";
      }
    }
  }
}

}  // namespace
}  // namespace convoy::structure

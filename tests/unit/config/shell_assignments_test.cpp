// SPDX-License-Identifier: Apache-2.0
#include "libcore/config/shell_assignments.h"

namespace convoy::config {
namespace {

TEST(ShellQuoted, LeavesPlainWordsAlone) {
  EXPECT_EQ(shell_quoted("--plan=shards/plan.json"), "--plan=shards/plan.json");
  EXPECT_EQ(shell_quoted("logs/first-%A_%a.log"), "logs/first-%A_%a.log");
}

TEST(ShellQuoted, QuotesWhatAShellWouldReadOtherwise) {
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's"), R"('it'\''s')");
  for (const char* text :
       {"$(touch x)", "`id`", "a;b", "~/x", "*.txt", "a\nb", "{1,2}", "!x", "#x", "=ls", "a|b", "[0]=x"})
    EXPECT_EQ(shell_quoted(text), "'" + std::string(text) + "'") << text;
}

TEST(ShellText, IsALineAVariable) {
  EXPECT_EQ(shell_text({{"name", {"a b"}}, {"list", {"x", "y z"}, true}, {"none", {}, true}, {"empty", {""}}}),
            "name='a b'\nlist=(x 'y z')\nnone=()\nempty=''\n");
}

TEST(JsonText, HasTextsAndArrays) {
  EXPECT_EQ(json_text({{"name", {"a \"b\""}}, {"list", {"x"}, true}, {"none", {}, true}}),
            R"({"name":"a \"b\"","list":["x"],"none":[]})");
}

}  // namespace
}  // namespace convoy::config

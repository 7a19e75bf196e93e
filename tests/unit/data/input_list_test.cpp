// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/input_list.h"

#include <gmock/gmock.h>

#include "golden.h"
#include "libcore/base/error.h"

namespace convoy::data {
namespace {

using golden::message_of;
using golden::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

class InputList : public testing::Test {
 protected:
  std::string at(const char* name) const { return (folder / name).string(); }
  std::vector<std::string> names(const std::vector<std::string>& inputs) const {
    std::vector<std::string> found;
    for (const InputFile& file : expand_inputs(inputs)) {
      found.push_back(file.name.starts_with(folder.path().string()) ? file.name.substr(folder.path().string().size() + 1) : file.name);
    }
    return found;
  }
  TemporaryFolder folder;
};

TEST_F(InputList, FilesKeepTheGivenOrderAndMayRepeat) {
  folder.write("a.txt", "1");
  folder.write("b.txt", "22");
  EXPECT_THAT(names({at("b.txt"), at("a.txt"), at("b.txt")}), ElementsAre("b.txt", "a.txt", "b.txt"));
  EXPECT_EQ(expand_inputs({at("b.txt")})[0].bytes, 2);
}

TEST_F(InputList, AFolderGivesItsFilesRecursivelyByTheBytesOfTheirPaths) {
  for (const char* name : {"d/b.txt", "d/B.txt", "d/sub/c.txt", "d/a.txt", "d/.hidden", "d/.git/config", "d/\xc3\xa9.txt"}) folder.write(name, "x");
  EXPECT_THAT(names({at("d")}), ElementsAre("d/B.txt", "d/a.txt", "d/b.txt", "d/sub/c.txt", "d/\xc3\xa9.txt"));
}

TEST_F(InputList, AGlobIsSortedAndAnExistingNameIsNoGlob) {
  for (const char* name : {"b1.txt", "a1.txt", "c[1].txt"}) folder.write(name, "x");
  EXPECT_THAT(names({at("?1.txt")}), ElementsAre("a1.txt", "b1.txt"));
  EXPECT_THAT(names({at("c[1].txt")}), ElementsAre("c[1].txt"));
}

TEST_F(InputList, AListNamesAnInputALine) {
  folder.write("a.txt", "x");
  folder.write("d/b.txt", "x");
  folder.write("list", at("d") + "\n\n" + at("a.txt") + "\r\n" + at("*.txt"));
  EXPECT_THAT(names({"@" + at("list")}), ElementsAre("d/b.txt", "a.txt", "a.txt"));
}

TEST_F(InputList, StandardInputIsNamedOnceOnly) {
  EXPECT_THAT(names({"-"}), ElementsAre("-"));
  EXPECT_THROW(expand_inputs({"-", "-"}), ConfigError);
}

TEST_F(InputList, EveryInputThatNamesNothingIsReportedAtOnce) {
  folder.write("empty-list", "\n");
  std::filesystem::create_directory(folder / "empty");
  const std::string message = message_of<ConfigError>(
      [&] { expand_inputs({at("none.txt"), at("*.none"), at("empty"), "@" + at("none.list"), "@" + at("empty-list")}); });
  for (const char* part : {"none.txt': no such file or folder", "*.none': no file matches", "empty': the folder holds no files", "none.list",
                           "empty-list': the list names no input"}) {
    EXPECT_THAT(message, HasSubstr(part));
  }
}

TEST_F(InputList, AnEntryThatNamesNothingIsReportedWithItsLine) {
  folder.write("a.txt", "x");
  folder.write("list", at("a.txt") + "\n\n" + at("none.txt") + "\n");
  const std::string message = message_of<ConfigError>([&] { expand_inputs({"@" + at("list")}); });
  EXPECT_THAT(message, HasSubstr("list: line 3: '" + at("none.txt")));
}

TEST_F(InputList, APathThatMayNotBeLookedAtIsNotCalledMissing) {
  const std::string too_long(5000, 'x');  // what the system refuses to look up, whoever asks
  EXPECT_THAT(message_of<EnvironmentError>([&] { expand_inputs({too_long}); }), HasSubstr("cannot look at"));
}

}  // namespace
}  // namespace convoy::data

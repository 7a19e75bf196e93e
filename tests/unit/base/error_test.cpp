// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/error.h"

#include <filesystem>
#include <new>
#include <system_error>

namespace convoy {
namespace {

TEST(Errors, CarryTheDocumentedExitCodes) {
  EXPECT_EQ(static_cast<int>(ConfigError("x").code()), 2);
  EXPECT_EQ(static_cast<int>(DataError("x").code()), 3);
  EXPECT_EQ(static_cast<int>(NumericsError("x").code()), 4);
  EXPECT_EQ(static_cast<int>(ClusterError("x").code()), 5);
  EXPECT_EQ(static_cast<int>(EnvironmentError("x").code()), 7);
}

TEST(Errors, OfTheLibraryGetTheCodeOfWhatWentWrong) {
  using std::filesystem::filesystem_error;
  EXPECT_EQ(exit_code_of(DataError("x")), ExitCode::kData);
  EXPECT_EQ(exit_code_of(std::bad_alloc()), ExitCode::kEnvironment);
  EXPECT_EQ(exit_code_of(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again))),
            ExitCode::kEnvironment);
  EXPECT_EQ(exit_code_of(filesystem_error("x", std::make_error_code(std::errc::no_such_file_or_directory))),
            ExitCode::kUsage);
  EXPECT_EQ(exit_code_of(filesystem_error("x", std::make_error_code(std::errc::permission_denied))),
            ExitCode::kEnvironment);
  EXPECT_EQ(exit_code_of(InternalError("x")), ExitCode::kInternal);
  EXPECT_EQ(exit_code_of(std::out_of_range("x")), ExitCode::kInternal);
}

TEST(ConfigErrors, OfSeveralProblemsNameEachOfThem) {
  const ConfigError error(std::vector<std::string>{"no steps", "no data"});
  EXPECT_STREQ(error.what(), "2 problems:\n  - no steps\n  - no data");
  EXPECT_EQ(error.problems().size(), 2u);
}

TEST(ConfigErrors, OfOneProblemAreThatProblem) { EXPECT_STREQ(ConfigError("no steps").what(), "no steps"); }

TEST(Check, ThrowsOnlyIfTheConditionFailsAndNamesThePlace) {
  EXPECT_NO_THROW(check(true, "fine"));
  try {
    check(false, "two and two are four");
    FAIL() << "check(false) did not throw";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("two and two are four"), testing::HasSubstr("error_test.cpp:")));
  }
}

TEST(ThrowError, TheClassGoesWithTheCode) {
  EXPECT_THROW(throw_error(ExitCode::kUsage, "x"), ConfigError);
  EXPECT_THROW(throw_error(ExitCode::kData, "x"), DataError);
  EXPECT_THROW(throw_error(ExitCode::kNumerics, "x"), NumericsError);
  EXPECT_THROW(throw_error(ExitCode::kCommunication, "x"), ClusterError);
  EXPECT_THROW(throw_error(ExitCode::kEnvironment, "x"), EnvironmentError);
  EXPECT_THROW(throw_error(ExitCode::kInternal, "x"), InternalError);
}

}  // namespace
}  // namespace convoy

// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/load.h"

#include <filesystem>

#include "libcore/base/error.h"

namespace convoy::comm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <class Error>
std::string refusal(int ranks, const std::string& library) {
  try {
    make_world(ranks, library);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MakeWorld, OfOneRankNeedsNoLibrary) { EXPECT_EQ(make_world(1, "/no/such/library.so")->size(), 1); }

TEST(MakeWorld, WithoutTheLibrarySaysWhatIsMissingAndWhatToDo) {
  EXPECT_THAT(
      refusal<EnvironmentError>(4, "libconvoy_none.so"),
      AllOf(HasSubstr("this job has 4 ranks"), HasSubstr("libconvoy_none.so"), HasSubstr("install the MPI backend")));
}

TEST(MakeWorld, RefusesALibraryThatIsAnother) {
  EXPECT_THAT(refusal<EnvironmentError>(2, "libm.so.6"), HasSubstr("has no function convoy_mpi_world"));
}

TEST(MakeWorld, LoadsTheBackend) {
  const std::unique_ptr<Communicator> world = make_world(2, CONVOY_FAKE_MPI);
  EXPECT_EQ(world->rank(), 1);
  EXPECT_EQ(world->size(), 2);
}

// As the programs find the backend: in ../lib of the program's folder, by its bare name.
TEST(MakeWorld, LooksBesideTheProgramFirst) {
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../lib";
  const std::filesystem::path file = folder / "libconvoy_beside.so";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(CONVOY_FAKE_MPI, file, std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(make_world(2, "libconvoy_beside.so")->size(), 2);
  std::filesystem::remove(file);
}

TEST(MakeWorld, TellsAStrangeLibraryBesideTheProgramFromAMissingOne) {
  EXPECT_THAT(refusal<EnvironmentError>(2, "/proc/self/maps"), HasSubstr("/proc/self/maps"));
}

TEST(MakeWorld, RefusesAWorldOfAnotherSizeThanTheLaunchers) {
  EXPECT_THAT(refusal<ClusterError>(3, CONVOY_FAKE_MPI),
              AllOf(HasSubstr("started 3 ranks"), HasSubstr("MPI connects 2")));
}

}  // namespace
}  // namespace convoy::comm

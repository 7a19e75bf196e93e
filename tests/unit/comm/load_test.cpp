// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/load.h"

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

TEST(MakeWorld, RefusesAWorldOfAnotherSizeThanTheLaunchers) {
  EXPECT_THAT(refusal<ClusterError>(3, CONVOY_FAKE_MPI),
              AllOf(HasSubstr("started 3 ranks"), HasSubstr("MPI connects 2")));
}

}  // namespace
}  // namespace convoy::comm

// SPDX-License-Identifier: Apache-2.0
// What convoy-ckpt makes of a run's checkpoint against what runs of other layouts write themselves.
#include <map>
#include <tuple>

#include "libcore/checkpoint/checkpoint.h"
#include "tests/apps/train_program.h"
#include "tests/support/megatron_pair.h"
#include "tests/support/mpi_launch.h"
#include "tests/support/tmp_dir.h"

namespace convoy::apps {
namespace {

constexpr int kRanks = 4, kSeconds = 120;

// Where each box of each state lies: file, place in it, bytes of the file.
using Places = std::map<std::string, std::tuple<std::string, std::uint64_t, std::uint64_t>>;

Places places_of(const std::filesystem::path& folder) {
  const checkpoint::Checkpoint opened(folder);
  Places places;
  for (const checkpoint::StoredFragment& fragment : opened.manifest().fragments) {
    const checkpoint::StoredTensor& tensor = opened.manifest().tensors[fragment.tensor];
    const checkpoint::StoredFile& file = opened.manifest().files[fragment.file];
    places[tensor.state + " " + tensor.name + " " + fragment.box.text()] = {file.name, fragment.offset, file.size};
  }
  return places;
}

class CkptRanks : public testing::Test {
 protected:
  CkptRanks() {
    std::vector<std::int32_t> tokens;
    for (std::int32_t i = 0; i < 500; ++i) tokens.push_back(i * 7 % 250);
    support::write_pair(folder_ / "data", tokens, {500});
  }

  // The step directory of a run of two steps.
  std::filesystem::path train(const std::string& name, const std::vector<std::string>& layout) const {
    std::vector<std::string> arguments =
        tiny_run(folder_ / "data", folder_ / name,
                 {"--steps", "2", "--warmup-steps", "0", "--global-batch-size", "4", "--micro-batch-size", "1"});
    arguments.insert(arguments.end(), layout.begin(), layout.end());
    const support::ProgramResult result = support::run_program(support::mpi_call(kRanks, arguments, kSeconds));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return folder_ / name / "checkpoints/step_000000002";
  }

  std::filesystem::path reshard(const std::filesystem::path& from, const std::string& to,
                                const std::vector<std::string>& layout) const {
    std::vector<std::string> arguments = {"reshard", from.string(), "--out", (folder_ / to).string()};
    arguments.insert(arguments.end(), layout.begin(), layout.end());
    const support::ProgramResult result = call("convoy-ckpt", arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return folder_ / to;
  }

  support::TmpDir folder_;
};

TEST_F(CkptRanks, AReshardedCheckpointHasTheFilesThatARunOfTheLayoutWrites) {
  const std::filesystem::path tensor = train("tensor", {"--tensor-parallel", "2"});
  const std::filesystem::path stages = train("stages", {"--pipeline-parallel", "2", "--zero", "1"});
  const std::filesystem::path to_stages =
      reshard(tensor, "to-stages", {"--pipeline-parallel", "2", "--zero-shards", "2"});
  EXPECT_EQ(places_of(to_stages), places_of(stages));
  const std::filesystem::path back = reshard(to_stages, "back", {"--tensor-parallel", "2", "--zero-shards", "2"});
  EXPECT_EQ(places_of(back), places_of(tensor));
  EXPECT_EQ(call("convoy-ckpt", {"diff", back.string(), (folder_ / "tensor").string()}).exit_code, 0);
}

TEST_F(CkptRanks, VirtualStagesHaveTheFilesThatARunOfThemWrites) {
  const std::filesystem::path chunks =
      train("chunks", {"--pipeline-parallel", "2", "--schedule", "interleaved", "--virtual-stages", "2"});
  const std::filesystem::path stages = reshard(chunks, "stages", {"--pipeline-parallel", "2", "--zero-shards", "2"});
  EXPECT_NE(places_of(stages), places_of(chunks));
  const std::filesystem::path back =
      reshard(stages, "back", {"--pipeline-parallel", "2", "--virtual-stages", "2", "--zero-shards", "2"});
  EXPECT_EQ(places_of(back), places_of(chunks));
  EXPECT_EQ(call("convoy-ckpt", {"diff", back.string(), (folder_ / "chunks").string()}).exit_code, 0);
}

// The model has two key/value heads: two ranks hold each, one of them stores it.
TEST_F(CkptRanks, AKeyValueHeadThatRanksShareIsStoredOnce) {
  const std::filesystem::path shared = train("shared", {"--tensor-parallel", "4"});
  const std::filesystem::path to_two = reshard(shared, "to-two", {"--tensor-parallel", "2"});
  const std::filesystem::path back = reshard(to_two, "back", {"--tensor-parallel", "4"});
  EXPECT_EQ(places_of(back), places_of(shared));
  EXPECT_EQ(call("convoy-ckpt", {"diff", to_two.string(), (folder_ / "shared").string()}).exit_code, 0);
  EXPECT_EQ(call("convoy-ckpt", {"verify", shared.string(), "--deep"}).exit_code, 0);
}

}  // namespace
}  // namespace convoy::apps

// SPDX-License-Identifier: Apache-2.0
// The checks that every backend shares.
#include "libcore/comm/communicator.h"

#include "libcore/base/error.h"
#include "libcore/comm/load.h"
#include "libcore/ops/backend.h"

namespace convoy::comm {
namespace {

using tensor::DType;
using tensor::MutableView;
using testing::HasSubstr;

class Checks : public testing::Test {
 protected:
  template <class Call>
  static std::string refusal(Call call) {
    try {
      call();
    } catch (const InternalError& error) {
      return error.what();
    }
    return "";
  }

  static MutableView floats(void* data, std::int64_t count) { return {data, DType::kF32, {count}, 0}; }

  device::Stream stream_{ops::cpu_backend(), 1};
  std::unique_ptr<Communicator> pair_ = make_world(2, CONVOY_FAKE_MPI);  // we are rank 1 of 2
  std::vector<float> values_ = std::vector<float>(8);
};

TEST_F(Checks, LetLegalCallsPass) {
  EXPECT_NO_THROW(pair_->all_reduce(stream_, floats(values_.data(), 8), Reduction::kSum));
  EXPECT_NO_THROW(pair_->all_gather(stream_, floats(values_.data(), 3), floats(values_.data(), 8),
                                    std::vector<std::int64_t>{5, 3}));
  EXPECT_NO_THROW(pair_->reduce_scatter(stream_, floats(values_.data(), 8), floats(nullptr, 0),
                                        std::vector<std::int64_t>{8, 0}, Reduction::kSum));
  EXPECT_NO_THROW(pair_->send(stream_, floats(values_.data(), 8), 0));
}

TEST_F(Checks, RefuseWhatCannotBeReduced) {
  const MutableView i32{values_.data(), DType::kI32, {8}, 0};
  EXPECT_THAT(refusal([&] { pair_->all_reduce(stream_, i32, Reduction::kSum); }), HasSubstr("not i32"));
  EXPECT_THAT(refusal([&] { pair_->all_reduce(stream_, floats(nullptr, 8), Reduction::kSum); }),
              HasSubstr("needs a buffer"));
  const MutableView strided{values_.data(), DType::kF32, {2, 3}, 4};
  EXPECT_THAT(refusal([&] { pair_->all_reduce(stream_, strided, Reduction::kSum); }), HasSubstr("dense"));
}

TEST_F(Checks, RefuseCountsThatDoNotFit) {
  const auto gather = [this](std::int64_t mine, std::vector<std::int64_t> counts) {
    return refusal(
        [&] { pair_->all_gather(stream_, floats(values_.data(), mine), floats(values_.data(), 8), counts); });
  };
  EXPECT_THAT(gather(3, {5, 3}), "");
  EXPECT_THAT(gather(3, {8}), HasSubstr("1 counts for 2 ranks"));
  EXPECT_THAT(gather(3, {4, 3}), HasSubstr("counts of 7 elements for a whole of 8"));
  EXPECT_THAT(gather(4, {5, 3}), HasSubstr("a part of 4 elements where the count is 3"));
  EXPECT_THAT(gather(9, {-1, 9}), HasSubstr("negative"));
}

TEST_F(Checks, RefuseRanksThatAreNoPeers) {
  EXPECT_THAT(refusal([&] { pair_->broadcast(stream_, floats(values_.data(), 8), 2); }), HasSubstr("rank 2 of 2"));
  EXPECT_THAT(refusal([&] { pair_->send(stream_, floats(values_.data(), 8), 1); }), HasSubstr("to itself"));
  EXPECT_THAT(refusal([&] { pair_->receive(stream_, floats(values_.data(), 8), -1); }), HasSubstr("rank -1"));
}

}  // namespace
}  // namespace convoy::comm

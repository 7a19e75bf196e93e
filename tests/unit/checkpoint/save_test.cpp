// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/save.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/checkpoint/checkpoint.h"
#include "libcore/checkpoint/step_directory.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/checkpoint/layouts.h"

namespace convoy::checkpoint {
namespace {

using layouts::Known;
using tensor::Box;
using tensor::DType;
using tensor::Shape;
using testing::ElementsAre;

constexpr int kRanks = 4;

std::vector<std::byte> read_box(const Checkpoint& checkpoint, const Known& known, const Box& box) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(box.count()) * tensor::size_of(known.dtype));
  checkpoint.read(known.name, known.state, box,
                  {.data = bytes.data(), .dtype = known.dtype, .shape = box.extent, .row_stride = 0});
  return bytes;
}

TEST(Save, EveryLayoutIsReadBackBitForBit) {
  for (const auto& [name, spread] : layouts::spreads()) {
    SCOPED_TRACE(name);
    const support::TmpDir tmp;
    const Path directory = tmp / step_directory_name(10);
    layouts::save(directory, spread, kRanks);
    EXPECT_THAT(tmp.names(), ElementsAre("step_000000010"));
    const Checkpoint checkpoint(directory);
    checkpoint.verify();
    for (const Known& known : layouts::tensors()) {
      const Box box = tensor::whole(known.shape);
      EXPECT_EQ(read_box(checkpoint, known, box), layouts::bytes_of_box(known, box)) << known.name << known.state;
    }
  }
}

}  // namespace
}  // namespace convoy::checkpoint

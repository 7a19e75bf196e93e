// SPDX-License-Identifier: Apache-2.0
#include "libcore/config/fault.h"

namespace convoy::config {
namespace {

Fault read(std::string_view text) {
  Fault fault;
  EXPECT_EQ(parse_fault(text, fault), "") << text;
  return fault;
}

TEST(ParseFault, ReadsAMoment) {
  const Fault fault = read("kill:step=7,rank=2");
  EXPECT_EQ(fault.kind, FaultKind::kKill);
  EXPECT_TRUE(fault.strikes(2, 7));
  EXPECT_FALSE(fault.strikes(2, 8));
  EXPECT_FALSE(fault.strikes(1, 7));
  EXPECT_EQ(read("hang:rank=0,step=1").kind, FaultKind::kHang);
  EXPECT_EQ(read("nan-gradient:step=5,rank=1").kind, FaultKind::kNanGradient);
  EXPECT_EQ(read("flip-bit:step=5,rank=1").kind, FaultKind::kFlipBit);
}

TEST(ParseFault, ReadsAShareOfAPhasesWork) {
  const Fault fault = read("slow:rank=3,factor=1.5,phase=forward,steps=10-20");
  EXPECT_EQ(fault.factor, 1.5);
  EXPECT_EQ(fault.phase, Phase::kForward);
  EXPECT_TRUE(fault.strikes(3, 10) && fault.strikes(3, 20));
  EXPECT_FALSE(fault.strikes(3, 9) || fault.strikes(3, 21));
}

TEST(ParseFault, ReadsASleepOfEveryStep) {
  const Fault fault = read("slow:rank=0,sleep=20ms,phase=data");
  EXPECT_DOUBLE_EQ(fault.sleep_seconds, 0.02);
  EXPECT_TRUE(fault.strikes(0, 1) && fault.strikes(0, 1000000));
}

TEST(ParseFault, ReadsASlowDiskOfAllRanks) {
  const Fault fault = read("slow-write:bytes-per-second=50M");
  EXPECT_EQ(fault.bytes_per_second, 5e7);
  EXPECT_TRUE(fault.strikes(0, 1) && fault.strikes(9, 1));
}

TEST(ParseFault, RefusesWhatIsNoFault) {
  for (const char* text :
       {"", "explode", "kill", "kill:step=0,rank=1", "kill:step=1", "kill:step=1,rank=-1", "kill:step=1,rank=1,x=2",
        "kill:step=1,step=2,rank=0", "kill:step", "slow:rank=1,phase=forward", "slow:rank=1,factor=0.5,phase=forward",
        "slow:rank=1,factor=2,sleep=1s,phase=data", "slow:rank=1,factor=2", "slow:rank=1,factor=2,phase=nap",
        "slow:rank=1,factor=2,phase=data,steps=5-3", "slow-write:", "slow-write:bytes-per-second=0"}) {
    Fault fault;
    EXPECT_NE(parse_fault(text, fault), "") << text;
  }
}

}  // namespace
}  // namespace convoy::config

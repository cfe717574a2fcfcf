// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/schedule.h"

#include <deque>
#include <initializer_list>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loomix {
namespace {

using engine::Access;
using ::testing::Each;
using ::testing::ElementsAre;

class ScheduleTest : public ::testing::Test {
 protected:
  ScheduleTest() {
    for (engine::VarRef& var : vars_) var = make_ref<engine::Var>();
  }
  // A short step that reads some Vars and writes one, by number.
  ScheduledStep& add(double cost_ns, std::initializer_list<int> reads, int writes) {
    std::vector<engine::Tag>& tags = tags_.emplace_back();
    for (const int var : reads) tags.push_back({vars_[var].get(), Access::read});
    tags.push_back({vars_[writes].get(), Access::write});
    ScheduledStep& step = steps_.emplace_back();
    step.tags = tags;
    step.cost_ns = cost_ns;
    step.may_join = true;
    return step;
  }
  std::vector<uint32_t> group(int most = 64) const { return group_steps(steps_, {.short_ones = most}); }

  engine::VarRef vars_[80];
  std::deque<std::vector<engine::Tag>> tags_;
  std::vector<ScheduledStep> steps_;
};

TEST_F(ScheduleTest, AChainOfShortStepsIsOneTaskUpToTheMost) {
  for (int i = 0; i < 70; ++i) add(100, {i}, i + 1);
  EXPECT_THAT(group(), ElementsAre(64, 6));
  EXPECT_THAT(group(30), ElementsAre(30, 30, 10));
  EXPECT_THAT(group(1), Each(1));
  EXPECT_EQ(group(1).size(), 70u);
}

TEST_F(ScheduleTest, WhatLeavesEndsATask) {
  add(100, {0}, 1);
  add(100, {1}, 2).leaves = true;
  add(100, {2}, 3);
  add(100, {3}, 4);
  EXPECT_THAT(group(), ElementsAre(2, 2));
}

TEST_F(ScheduleTest, ATaskOnADeviceEndsWhereEnoughLeavesIt) {
  for (int i = 0; i < 9; ++i) {
    ScheduledStep& step = add(100, {i}, i + 1);
    step.issues = true;
    step.leaves = i % 2 == 1;
    step.leaving_bytes = step.leaves ? 100 : 0;
  }
  const auto group_by = [&](int64_t bytes) {
    return group_steps(steps_, {.short_ones = 1, .issued = 64, .leaving_bytes = bytes});
  };
  EXPECT_THAT(group_steps(steps_, {.short_ones = 1, .issued = 64}), ElementsAre(9));
  EXPECT_THAT(group_by(150), ElementsAre(4, 4, 1));
  EXPECT_THAT(group_by(1), ElementsAre(2, 2, 2, 2, 1));
}

TEST_F(ScheduleTest, LongStepsAndLongTasksStayApart) {
  add(100, {0}, 1);
  add(50'000, {1}, 2);
  add(100, {2}, 3);
  EXPECT_THAT(group(), ElementsAre(1, 1, 1));
  steps_.clear();
  for (int i = 0; i < 10; ++i) add(4'000, {i}, i + 1);
  EXPECT_THAT(group(), ElementsAre(5, 5)) << "20 us each";
}

TEST_F(ScheduleTest, StepsThatMayNotJoinStayApart) {
  add(100, {0}, 1);
  add(100, {1}, 2).may_join = false;
  add(100, {2}, 3);
  add(100, {3}, 4).device = Device::cpu(1);
  EXPECT_THAT(group(), ElementsAre(1, 1, 1, 1));
}

TEST_F(ScheduleTest, BranchesWorthACoreStayApart) {
  for (int i = 0; i < 2; ++i) {
    add(3'000, {0}, 10 * i + 1);
    add(3'000, {10 * i + 1}, 10 * i + 2);
  }
  EXPECT_THAT(group(), ElementsAre(2, 2));
  for (ScheduledStep& step : steps_) step.cost_ns = 300;
  EXPECT_THAT(group(), ElementsAre(4)) << "handing one over would take as long";
}

TEST_F(ScheduleTest, NoStepMakesAnotherOneWait) {
  add(100'000, {0}, 1);
  add(100, {0}, 2);
  add(100, {2}, 3);
  add(100, {1, 3}, 4);  // waits for the long step; the two before it need not
  add(100, {4}, 5);
  EXPECT_THAT(group(), ElementsAre(1, 2, 2));
}

}  // namespace
}  // namespace loomix

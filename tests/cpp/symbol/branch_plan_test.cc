// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/branch_plan.h"

#include <deque>
#include <initializer_list>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loomix {
namespace {

using engine::Access;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr engine::DeviceTraits kTraits{.speed = 200, .launch_ns = 2500};

class BranchPlanTest : public ::testing::Test {
 protected:
  BranchPlanTest() {
    for (engine::VarRef& var : vars_) var = make_ref<engine::Var>();
  }
  // Reads some Vars and accesses one otherwise, by number.
  void add(std::initializer_list<int> reads, int writes, double cost_ns = 100'000,
           Access access = Access::write) {
    std::vector<engine::Tag>& tags = tags_.emplace_back();
    for (const int var : reads) tags.push_back({vars_[var].get(), Access::read});
    tags.push_back({vars_[writes].get(), access});
    steps_.push_back({tags, cost_ns});
  }
  std::vector<int> branches(int most = 4) const {
    std::vector<int> found;
    for (const BranchPlace& place : plan_branches(steps_, most, kTraits)) found.push_back(place.branch);
    return found;
  }

  engine::VarRef vars_[40];
  std::deque<std::vector<engine::Tag>> tags_;
  std::vector<BranchStep> steps_;
};

TEST_F(BranchPlanTest, AChainHasNoBranches) {
  for (int i = 0; i < 20; ++i) add({i}, i + 1);
  EXPECT_THAT(branches(), IsEmpty());
}

TEST_F(BranchPlanTest, BranchesOfAnInceptionGoSideBySideAndMeet) {
  add({0}, 1);
  for (const int first : {2, 5, 8, 11}) {
    add({1}, first);
    add({first}, first + 1);
    add({first + 1}, first + 2);
  }
  add({4, 7, 10, 13}, 14);
  const std::vector<BranchPlace> plan = plan_branches(steps_, 4, kTraits);
  EXPECT_THAT(branches(), ElementsAre(0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 0));
  EXPECT_THAT(plan[4].follows, ElementsAre(0));
  EXPECT_THAT(plan[13].follows, ElementsAre(12, 9, 6));
  EXPECT_TRUE(plan[0].is_followed && plan[6].is_followed);
  EXPECT_FALSE(plan[5].is_followed);
  EXPECT_THAT(branches(1), IsEmpty());
}

TEST_F(BranchPlanTest, KernelsThatFillTheDeviceStayInOrder) {
  add({0}, 1, 100e6);
  for (int i = 2; i < 8; ++i) add({1}, i, 100e6);
  EXPECT_THAT(branches(), IsEmpty());
}

TEST_F(BranchPlanTest, MemoryThatIsUsedAgainOrdersSteps) {
  for (int i = 0; i < 6; ++i) add({i}, 39, 100'000, Access::use);
  EXPECT_THAT(branches(), IsEmpty());
}

// Whatever shares a Var is on one branch in its order, or behind an event of the other branch.
TEST_F(BranchPlanTest, WhatSharesAVarIsOrdered) {
  std::mt19937 random(5);
  int planned = 0;
  for (int round = 0; round < 200; ++round) {
    steps_.clear();
    tags_.clear();
    for (int i = 0; i < 40; ++i) {
      const auto var = [&] { return static_cast<int>(random() % 20); };
      add({var(), var()}, var(), static_cast<double>(random() % 1'000'000),
          random() % 3 == 0 ? Access::use : Access::write);
    }
    const std::vector<BranchPlace> plan = plan_branches(steps_, 1 + static_cast<int>(random() % 8), kTraits);
    if (plan.empty()) continue;
    ++planned;
    // What each step comes after: that before it on its branch, and what it follows, with all that those come after.
    std::vector<std::vector<bool>> after(plan.size(), std::vector<bool>(plan.size()));
    for (size_t i = 0; i < plan.size(); ++i) {
      std::vector<size_t> direct(plan[i].follows.begin(), plan[i].follows.end());
      for (const size_t other : direct) EXPECT_TRUE(plan[other].is_followed);
      for (size_t k = 0; k < i; ++k) {
        if (plan[k].branch == plan[i].branch) direct.push_back(k);
      }
      for (const size_t other : direct) {
        ASSERT_LT(other, i);
        after[i][other] = true;
        for (size_t k = 0; k < other; ++k) after[i][k] = after[i][k] || after[other][k];
      }
      for (size_t k = 0; k < i; ++k) {
        for (const engine::Tag& a : tags_[i]) {
          for (const engine::Tag& b : tags_[k]) {
            const bool conflicts = a.var == b.var && (a.access != Access::read || b.access != Access::read);
            EXPECT_TRUE(!conflicts || after[i][k]) << i << " after " << k;
          }
        }
      }
    }
  }
  EXPECT_GT(planned, 50);
}

}  // namespace
}  // namespace loomix

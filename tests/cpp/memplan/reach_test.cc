// SPDX-License-Identifier: Apache-2.0
#include "memplan/reach.h"

#include <random>

#include <gtest/gtest.h>

namespace loomix::memplan {
namespace {

// Steps that read what a few of those before them wrote, at most `far` steps ago.
std::vector<Value> random_values(int32_t steps, int32_t far, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Value> values(static_cast<size_t>(steps));
  for (int32_t step = 0; step < steps; ++step) values[static_cast<size_t>(step)].writer = step;
  for (int32_t step = 1; step < steps; ++step) {
    for (uint32_t i = random() % 3; i > 0; --i) {
      const auto writer =
          step - 1 - static_cast<int32_t>(random() % static_cast<uint32_t>(std::min(far, step)));
      auto& readers = values[static_cast<size_t>(writer)].readers;
      if (readers.empty() || readers.back() != step) readers.push_back(step);
    }
  }
  return values;
}

void expect_last_beside(const Reach& reach, int32_t stride = 1) {
  const std::vector<int32_t> got = reach.last_beside();
  for (int32_t a = 0; a < reach.steps(); a += stride) {
    int32_t want = a;
    for (int32_t b = a + 1; b < reach.steps() && reach.knows(a, b); ++b) {
      if (!reach.before(a, b)) want = b;
    }
    ASSERT_EQ(got[static_cast<size_t>(a)], want) << "step " << a;
  }
}

TEST(Reach, LastBesideIsTheLastStepThatDoesNotWait) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    expect_last_beside(Reach(random_values(300, 1 + static_cast<int32_t>(seed), seed)));
  }
}

TEST(Reach, LastBesideWithinTheSpan) {
  const Reach reach(random_values(40'000, 3, 7));
  ASSERT_LT(reach.span(), reach.steps());
  expect_last_beside(reach, 97);
}

}  // namespace
}  // namespace loomix::memplan

// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <thread>

#include "base/error.h"
#include "tests/cpp/comm/collectives.h"

namespace loomix::comm {
namespace {

void on_all(int size, const std::function<void(ProcessGroup&)>& body,
            GroupDeadline deadline = std::chrono::seconds(20)) {
  const auto groups = make_inproc_groups(size, deadline);
  std::vector<std::thread> threads;
  for (const auto& group : groups) threads.emplace_back([&body, &group] { body(*group); });
  for (std::thread& thread : threads) thread.join();
}

class InprocGroups : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, InprocGroups, testing::Values(1, 2, 3, 5));

TEST_P(InprocGroups, Collectives) { on_all(GetParam(), check_group); }

TEST(InprocGroup, SumsAreInTheOrderOfRanks) {
  // 1e8 + 1 - 1e8 depends on the order in float32.
  const float values[] = {1e8f, 1.f, -1e8f};
  on_all(3, [&](ProcessGroup& group) {
    for (int i = 0; i < 100; ++i) {
      float sum = 0;
      group.all_reduce(&values[group.rank()], &sum, 1, DType::float32, Reduction::sum);
      EXPECT_EQ(sum, (1e8f + 1.f) - 1e8f);
    }
  });
}

TEST(InprocGroup, AMissingRankIsNoticed) {
  on_all(
      3,
      [](ProcessGroup& group) {
        if (group.rank() == 2) return;
        EXPECT_THROW(group.barrier(), NetworkError);
        EXPECT_THROW(group.barrier(), NetworkError);
      },
      std::chrono::milliseconds(100));
}

TEST(InprocGroup, DifferentCallsAreNoticed) {
  on_all(2, [](ProcessGroup& group) {
    float in[4] = {}, out[4];
    EXPECT_THROW(group.all_reduce(in, out, group.rank() == 0 ? 4 : 3, DType::float32, Reduction::sum),
                 NetworkError);
  });
  EXPECT_THROW(make_inproc_groups(0), ValueError);
}

}  // namespace
}  // namespace loomix::comm

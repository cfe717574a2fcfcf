// SPDX-License-Identifier: Apache-2.0
// Run alone, MPI has one rank; a second test runs the first under mpirun.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "tests/cpp/comm/collectives.h"

// Open MPI unloads modules that still own memory: leaks without a name by which they could be suppressed.
extern "C" int __lsan_is_turned_off() { return 1; }

namespace loomix::comm {
namespace {

std::unique_ptr<ProcessGroup> group_or_none() {
  try {
    return make_mpi_group({std::chrono::seconds(20), std::chrono::seconds(20)});
  } catch (const NetworkError&) {
    return nullptr;
  }
}

TEST(MpiGroup, Collectives) {
  const auto group = group_or_none();
  if (!group) GTEST_SKIP() << "built without MPI";
  WaitingGroup waiting(*group);
  check_group(waiting);
  const auto half = group->split(group->rank() % 2);
  WaitingGroup half_waiting(*half);
  check_group(half_waiting);
}

// Long bodies between ranks: all kinds of calls that have them.
void check_long_bodies(ProcessGroup& group) {
  WaitingGroup waiting(group);
  const auto ranks = static_cast<size_t>(group.size()), me = static_cast<size_t>(group.rank());
  constexpr size_t kCount = 300'001;
  std::vector<float> sums(kCount), sent(kCount), all(kCount * ranks);
  for (size_t i = 0; i < kCount; ++i) sums[i] = sent[i] = static_cast<float>(i % 1000 * (me + 1));
  waiting.all_reduce(sums.data(), sums.data(), kCount, DType::float32, Reduction::sum);
  waiting.all_gather(sent.data(), all.data(), kCount * sizeof(float));
  if (me + 1 == ranks) sent = std::vector<float>(kCount, 3);
  waiting.broadcast(sent.data(), kCount * sizeof(float), group.size() - 1);
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(sums[i], static_cast<float>(i % 1000 * ranks * (ranks + 1) / 2));
    ASSERT_EQ(sent[i], 3);
    for (size_t r = 0; r < ranks; ++r) ASSERT_EQ(all[r * kCount + i], static_cast<float>(i % 1000 * (r + 1)));
  }
}

TEST(MpiGroup, LongBodies) {
  if (const auto group = group_or_none()) check_long_bodies(*group);
}

// In many messages of MPI's, as bodies beyond 2 GiB go between machines.
TEST(MpiGroup, LongBodiesInShortMessages) {
  GroupOptions options{std::chrono::seconds(20), std::chrono::seconds(20)};
  options.mpi_message_bytes = 1000;
  options.mpi_shared_windows = false;
  try {
    check_long_bodies(*make_mpi_group(options));
  } catch (const NetworkError& error) {
    GTEST_SKIP() << error.what();
  }
}

// The last rank stays away from a barrier for longer than the others wait. A broken group ends the job.
TEST(MpiGroup, AMissingRankIsNoticed) {
  if (!group_or_none()) GTEST_SKIP() << "built without MPI";
  const auto made = make_mpi_group({std::chrono::milliseconds(300), std::chrono::milliseconds(600)});
  WaitingGroup waiting(*made);
  const auto group = &waiting;
  if (group->size() == 1) return;
  if (group->rank() + 1 == group->size()) {
    usleep(1'500'000);
  } else {
    EXPECT_THROW(group->barrier(), NetworkError);
    EXPECT_THROW(group->barrier(), NetworkError);
  }
}

TEST(MpiGroup, UnderMpirun) {
  if (std::system("command -v mpirun >/dev/null") != 0) GTEST_SKIP() << "there is no mpirun";
  // Without the variables that the tests before, as ranks of their own, have left in the environment.
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string run =
      "env -i PATH=\"$PATH\" HOME=/tmp timeout 50 mpirun --allow-run-as-root --oversubscribe -n 3 '" + self +
      "' --gtest_filter=MpiGroup.";
  for (const char* test : {"Collectives", "LongBodies", "LongBodiesInShortMessages"})
    EXPECT_EQ(std::system((run + test + " >/dev/null").c_str()), 0) << test;
  const std::string said = testing::TempDir() + "ranks.txt";
  EXPECT_NE(std::system((run + "AMissingRankIsNoticed >" + said + " 2>&1").c_str()), 0);
  EXPECT_EQ(std::system(("test $(grep -c '  PASSED  ' " + said + ") -ge 2").c_str()), 0);
  EXPECT_EQ(std::system(("grep -q 'barrier 1: rank 2 has not called it.*ends the job' " + said).c_str()), 0);
}

}  // namespace
}  // namespace loomix::comm

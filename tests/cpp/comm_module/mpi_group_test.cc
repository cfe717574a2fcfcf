// SPDX-License-Identifier: Apache-2.0
// Run alone, MPI has one rank; a second test runs the first under mpirun.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

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
  EXPECT_EQ(std::system((run + "Collectives >/dev/null").c_str()), 0);
  const std::string said = testing::TempDir() + "ranks.txt";
  EXPECT_NE(std::system((run + "AMissingRankIsNoticed >" + said + " 2>&1").c_str()), 0);
  EXPECT_EQ(std::system(("test $(grep -c '  PASSED  ' " + said + ") -ge 2").c_str()), 0);
  EXPECT_EQ(std::system(("grep -q 'barrier 1: rank 2 has not called it.*ends the job' " + said).c_str()), 0);
}

}  // namespace
}  // namespace loomix::comm

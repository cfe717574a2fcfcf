// SPDX-License-Identifier: Apache-2.0
// Limits of control groups, read from made-up trees of files.
#include "base/machine.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace loomix {
namespace {

constexpr int64_t kMega = int64_t{1} << 20;

class MachineTest : public testing::Test {
 protected:
  MachineTest()
      : root_(testing::TempDir() + "machine_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(root_);
  }
  ~MachineTest() override { std::filesystem::remove_all(root_); }

  void file(const std::string& path, const std::string& text) const {
    const std::filesystem::path whole = root_ + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text << '\n';
  }
  void expect(int cores, int64_t memory_bytes) const {
    const Machine machine = limited_machine(root_, {.cores = 16, .memory_bytes = 64'000 * kMega});
    EXPECT_EQ(machine.cores, cores);
    EXPECT_EQ(machine.memory_bytes, memory_bytes);
  }

  const std::string root_;
};

TEST_F(MachineTest, WithoutGroupsIsWhole) { expect(16, 64'000 * kMega); }

TEST_F(MachineTest, Version2) {
  file("/proc/self/cgroup", "0::/user.slice/job");
  file("/sys/fs/cgroup/user.slice/job/memory.max", "1073741824");
  file("/sys/fs/cgroup/user.slice/job/cpu.max", "250000 100000");
  expect(3, 1024 * kMega);
}

TEST_F(MachineTest, GroupsAroundTheOwnOneCount) {
  file("/proc/self/cgroup", "0::/user.slice/job");
  file("/sys/fs/cgroup/user.slice/job/memory.max", "max");
  file("/sys/fs/cgroup/user.slice/job/cpu.max", "max 100000");
  file("/sys/fs/cgroup/user.slice/memory.max", "536870912");
  file("/sys/fs/cgroup/user.slice/cpu.max", "200000 100000");
  expect(2, 512 * kMega);
}

TEST_F(MachineTest, TheRootOfAContainerCounts) {
  file("/proc/self/cgroup", "0::/");
  file("/sys/fs/cgroup/memory.max", "268435456");
  file("/sys/fs/cgroup/cpu.max", "50000 100000");
  expect(1, 256 * kMega);
}

TEST_F(MachineTest, Version1) {
  file("/proc/self/cgroup", "12:pids:/docker/1\n7:memory:/docker/1\n3:cpu,cpuacct:/docker/1\n0::/system");
  file("/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "2147483648");
  file("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "400000");
  file("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000");
  expect(4, 2048 * kMega);
}

TEST_F(MachineTest, Version1SeenFromAContainer) {
  file("/proc/self/cgroup", "7:memory:/docker/1\n3:cpu,cpuacct:/docker/1");
  file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648");
  file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  expect(16, 2048 * kMega);
}

TEST_F(MachineTest, WhatIsNoLimitIsIgnored) {
  file("/proc/self/cgroup", "nonsense\n0::/a\n7:memory:/a");
  file("/sys/fs/cgroup/a/memory.max", "12 elephants");
  file("/sys/fs/cgroup/a/cpu.max", "100000");
  file("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712");
  expect(16, 64'000 * kMega);
}

TEST(Machine, ThisOneHasSome) {
  EXPECT_GE(machine().cores, 1);
  EXPECT_GT(machine().memory_bytes, 16 * kMega);
}

}  // namespace
}  // namespace loomix

// SPDX-License-Identifier: Apache-2.0
// The queues alone: VarQueue, the ready queues of a pool, BlockCache, places; and what 64 workers share.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/block_cache.h"
#include "engine/engine.h"
#include "engine/places.h"
#include "engine/ready_queue.h"
#include "engine/task.h"
#include "engine/var_queue.h"

namespace loomix::engine {
namespace {

// ---- VarQueue -----------------------------------------------------------------------------------------------------

// Random accesses to one Var enter and leave in any order; who holds it is what a list in push order says.
TEST(VarQueue, GrantsInPushOrderReadersTogetherWritersAlone) {
  struct Access {
    AccessNode node{};
    bool writes = false;
    bool granted = false;
    bool left = false;
  };
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const VarRef var = make_naive_engine()->new_var();
    std::deque<Access> accesses;  // in push order
    const auto may_run = [&](const Access& access) {
      for (const Access& earlier : accesses) {
        if (&earlier == &access) return true;
        if (!earlier.left && (earlier.writes || access.writes)) return false;
      }
      return true;
    };
    const auto check = [&] {
      for (const Access& access : accesses) {
        if (access.left) continue;
        ASSERT_EQ(access.granted, may_run(access)) << "seed " << seed;
      }
    };
    for (int step = 0; step < 200; ++step) {
      if (random() % 5 < 3) {
        Access& access = accesses.emplace_back();
        access.writes = random() % 3 == 0;
        access.node.var_and_bits = reinterpret_cast<uintptr_t>(var.get()) |
                                   bits_of(access.writes ? engine::Access::write : engine::Access::read);
        VarQueue::lock(*var);
        access.granted = VarQueue::free_for(*var, access.writes);
        VarQueue::enter(access.node);
        VarQueue::unlock(*var);
      } else {
        std::vector<Access*> active;
        for (Access& access : accesses) {
          if (access.granted && !access.left) active.push_back(&access);
        }
        if (active.empty()) continue;
        Access& leaving = *active[random() % active.size()];
        leaving.left = true;
        VarQueue::leave(leaving.node, [&](AccessNode& node) {
          for (Access& access : accesses) {
            if (&access.node == &node) access.granted = true;
          }
        });
      }
      check();
    }
    for (bool any = true; any;) {
      any = false;
      for (Access& access : accesses) {
        if (!access.granted || access.left) continue;
        any = access.left = true;
        VarQueue::leave(access.node, [&](AccessNode& node) {
          for (Access& other : accesses) {
            if (&other.node == &node) other.granted = true;
          }
        });
      }
      check();
    }
    EXPECT_TRUE(std::all_of(accesses.begin(), accesses.end(), [](const Access& a) { return a.left; }));
    VarQueue::lock(*var);
    EXPECT_TRUE(VarQueue::idle(*var));
    VarQueue::unlock(*var);
    EXPECT_TRUE(var->unique());  // a busy Var holds itself
  }
}

TEST(VarQueue, CountsDataWritesOnly) {
  const VarRef var = make_naive_engine()->new_var();
  for (const Access access : {Access::write, Access::read, Access::use}) {
    AccessNode node{};
    node.var_and_bits = reinterpret_cast<uintptr_t>(var.get()) | bits_of(access);
    VarQueue::lock(*var);
    VarQueue::enter(node);
    VarQueue::unlock(*var);
    VarQueue::leave(node, [](AccessNode&) { FAIL(); });
  }
  EXPECT_EQ(var->version(), 1u);
}

// ---- ready queues ---------------------------------------------------------------------------------------------------

struct Tasks {
  explicit Tasks(size_t count) : all(count) {}
  size_t index(const Task* task) const { return static_cast<size_t>(task - all.data()); }
  std::vector<Task> all;
};

TEST(ReadyQueue, IsFirstInFirstOutThroughInboxAndRing) {
  Tasks tasks(2000);
  ReadyQueue<> queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.pop(), nullptr);
  for (size_t i = 0; i < 1000; ++i) queue.push_own(&tasks.all[i]);
  for (size_t i = 1000; i < 2000; ++i) queue.push(&tasks.all[i]);
  EXPECT_FALSE(queue.empty());
  for (size_t i = 0; i < 2000; ++i) EXPECT_EQ(queue.pop(), &tasks.all[i]);
  EXPECT_TRUE(queue.empty());
}

// More than an inbox holds.
TEST(ReadyQueue, AFullInboxLosesAndSwapsNothing) {
  Tasks tasks(5000);
  ReadyQueue<> queue;
  for (Task& task : tasks.all) queue.push(&task);
  for (Task& task : tasks.all) ASSERT_EQ(queue.pop(), &task);
  EXPECT_TRUE(queue.empty());
}

TEST(ReadyQueue, AThiefTakesTheOlderHalfOfRingAndInbox) {
  Tasks tasks(30);
  ReadyQueue<> victim, thief;
  for (size_t i = 0; i < 20; ++i) victim.push_own(&tasks.all[i]);
  EXPECT_TRUE(thief.steal_from(victim, 100));
  EXPECT_EQ(thief.size(), 10u);
  EXPECT_EQ(thief.pop(), &tasks.all[0]);
  EXPECT_EQ(victim.pop(), &tasks.all[10]);
  while (victim.pop() != nullptr) {}
  for (size_t i = 20; i < 30; ++i) victim.push(&tasks.all[i]);
  while (thief.pop() != nullptr) {}
  EXPECT_TRUE(thief.steal_from(victim, 100));
  for (size_t i = 20; i < 25; ++i) EXPECT_EQ(thief.pop(), &tasks.all[i]);
  EXPECT_EQ(thief.pop(), nullptr);
  EXPECT_TRUE(thief.steal_from(victim, 3));
  for (size_t i = 25; i < 28; ++i) EXPECT_EQ(thief.pop(), &tasks.all[i]);
  while (victim.pop() != nullptr) {}
  EXPECT_FALSE(thief.steal_from(victim, 100));
}

TEST(ReadyQueue, AGuestTakesOnlyWhatItMay) {
  Tasks tasks(2);
  tasks.all[1].flags = kMayInline;
  ReadyQueue<> queue;
  for (Task& task : tasks.all) queue.push(&task);
  EXPECT_EQ(queue.pop_for_guest(), nullptr);
  EXPECT_EQ(queue.pop(), &tasks.all[0]);
  EXPECT_EQ(queue.pop_for_guest(), &tasks.all[1]);
}

TEST(ReadyQueue, WhatWaitsIsPassedSoOftenAndNoMore) {
  Tasks tasks(3);
  ReadyQueue<> queue;
  EXPECT_TRUE(queue.pass(10));  // nobody waits
  queue.push_own(&tasks.all[0]);
  queue.push_own(&tasks.all[1]);
  EXPECT_EQ(queue.pop(), &tasks.all[0]);
  int passed = 0;
  while (queue.pass(10)) ++passed;
  EXPECT_EQ(passed, 10);
  queue.push_own(&tasks.all[2]);
  EXPECT_EQ(queue.pop(), &tasks.all[1]);
  EXPECT_FALSE(queue.pass(10));
  EXPECT_EQ(queue.pop(), &tasks.all[2]);  // came after those ten
  queue.push_own(&tasks.all[0]);
  EXPECT_TRUE(queue.pass(10));
}

TEST(ReadyQueues, NothingIsLostBetweenManyThreads) {
  constexpr int kWorkers = 4, kPushers = 2;
  constexpr size_t kEach = 50'000;
  Tasks tasks(kPushers * kEach);
  ReadyQueues<> queues({0, 2, 4});
  std::vector<std::atomic<int>> seen(tasks.all.size());
  std::atomic<size_t> left{tasks.all.size()};
  std::vector<std::thread> threads;
  for (int w = 0; w < kWorkers; ++w) {
    threads.emplace_back([&, w] {
      while (left > 0) {
        Task* task = queues.pop(w);
        if (task == nullptr) task = queues.steal(w);
        if (task == nullptr) {
          std::this_thread::yield();
          continue;
        }
        ++seen[tasks.index(task)];
        --left;
        queues.ran(w, 1);
      }
    });
  }
  for (size_t p = 0; p < kPushers; ++p) {
    threads.emplace_back([&, p] {
      uint32_t cursor = static_cast<uint32_t>(p * 100);
      for (size_t i = 0; i < kEach; ++i) queues.push(cursor, &tasks.all[p * kEach + i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](const auto& times) { return times == 1; }));
  EXPECT_TRUE(queues.empty());
}

// A model of caches: a line moves when another core has written it since this one touched it, or has touched what this
// one writes. Counts the moves, and all accesses that write shared lines.
struct CacheModel {
  static inline int core = 0;
  static inline int64_t moves = 0, writes = 0;
  static inline std::map<uintptr_t, std::set<int>> holders;
  static void read(const void* address) noexcept {
    auto& cores = holders[reinterpret_cast<uintptr_t>(address) / 64];
    moves += cores.insert(core).second;
  }
  static void write(const void* address) noexcept {
    auto& cores = holders[reinterpret_cast<uintptr_t>(address) / 64];
    moves += !(cores.size() == 1 && cores.contains(core));
    cores = {core};
    ++writes;
  }
  static void reset() {
    holders.clear();
    moves = writes = 0;
  }
};

struct Cost {
  double moves;
  double writes;
};

// As many pushers as workers keep the queues filled; each worker runs a task and its successors. Everyone takes turns at
// random, on a core of its own.
Cost cost_per_task(int workers) {
  std::vector<int> groups;
  for (int i = 0; i < workers; i += 16) groups.push_back(i);
  groups.push_back(workers);
  ReadyQueues<CacheModel> queues(groups);
  Tasks tasks(static_cast<size_t>(workers) * 200);
  std::vector<Task*> unused;
  for (Task& task : tasks.all) unused.push_back(&task);
  std::vector<uint32_t> cursors;
  for (int i = 0; i < workers; ++i) cursors.push_back(static_cast<uint32_t>(i) * 64 + 7);
  std::mt19937 random(3);
  int64_t ran = 0;
  const int64_t warm = workers * 2000, most = warm + workers * 4000;
  while (ran < most) {
    if (ran < warm) CacheModel::reset();
    const int who = static_cast<int>(random() % static_cast<uint32_t>(2 * workers));
    CacheModel::core = who;
    if (who >= workers) {
      for (int i = 0; i < 3 && !unused.empty(); ++i) {
        queues.push(cursors[static_cast<size_t>(who - workers)], unused.back());
        unused.pop_back();
      }
      continue;
    }
    Task* task = queues.pop(who);
    if (task == nullptr) task = queues.steal(who);
    if (task == nullptr) continue;
    ++ran;
    queues.ran(who, 1);
    if (random() % 4 == 0) {
      queues.push_own(who, task);  // a successor
    } else {
      unused.push_back(task);
    }
  }
  return {static_cast<double>(CacheModel::moves) / static_cast<double>(ran - warm),
          static_cast<double>(CacheModel::writes) / static_cast<double>(ran - warm)};
}

TEST(ReadyQueues, ATaskTouchesAsManyLinesWith64WorkersAsWithFew) {
  const Cost few = cost_per_task(4), many = cost_per_task(64);
  RecordProperty("line_moves_4", std::to_string(few.moves));
  RecordProperty("line_moves_64", std::to_string(many.moves));
  std::printf("a task: %.2f lines move with 4 workers, %.2f with 64; %.2f and %.2f locks and exchanges\n",
              few.moves, many.moves, few.writes, many.writes);
  EXPECT_LT(few.moves, 6);
  EXPECT_LT(many.moves, 1.25 * few.moves + 0.25);
  EXPECT_LT(many.writes, 1.25 * few.writes + 0.25);
}

// ---- BlockCache -----------------------------------------------------------------------------------------------------

TEST(BlockCache, BlocksAreAlignedApartAndReused) {
  using Blocks = BlockCache<192>;
  std::set<void*> seen;
  std::vector<void*> blocks;
  for (int i = 0; i < 1024; ++i) {
    blocks.push_back(Blocks::allocate());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back()) % 64, 0u);
    std::memset(blocks.back(), i & 255, 192);
    EXPECT_TRUE(seen.insert(blocks.back()).second);
  }
  for (int i = 0; i < 1024; ++i) {
    const auto* bytes = static_cast<unsigned char*>(blocks[static_cast<size_t>(i)]);
    ASSERT_TRUE(std::all_of(bytes, bytes + 192, [&](unsigned char byte) { return byte == (i & 255); }));
  }
  for (void* block : blocks) Blocks::free(block);
  for (int i = 0; i < 1024; ++i) {
    blocks[static_cast<size_t>(i)] = Blocks::allocate();
    EXPECT_TRUE(seen.contains(blocks[static_cast<size_t>(i)]));
  }
  for (void* block : blocks) Blocks::free(block);
}

TEST(BlockCache, WhatOneThreadFreesOthersGet) {
  using Blocks = BlockCache<320>;
  std::vector<void*> blocks;
  std::thread maker([&] {
    for (int i = 0; i < 512; ++i) blocks.push_back(Blocks::allocate());
  });
  maker.join();
  const std::set<void*> made(blocks.begin(), blocks.end());
  std::thread([&] {
    for (void* block : blocks) Blocks::free(block);
  }).join();  // gives all back at its end
  for (void*& block : blocks) {
    block = Blocks::allocate();
    EXPECT_TRUE(made.contains(block));
  }
  for (void* block : blocks) Blocks::free(block);
}

// ---- places ---------------------------------------------------------------------------------------------------------

std::vector<int> cpus_of_this_thread() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

TEST(Places, ListsAreReadAndBadOnesRefused) {
  const std::vector<int> all = cpus_of_this_thread();
  ASSERT_FALSE(all.empty());
  const std::string one = std::to_string(all.front());
  EXPECT_TRUE(parse_places("").empty());
  EXPECT_EQ(parse_places("0-4095;" + one), (std::vector<std::vector<int>>{all, {all.front()}}));
  for (const char* bad : {"x", "1-", "3-1", ";", "0,,1", "99999", "-1", "4095"})
    EXPECT_THROW(parse_places(bad), ValueError) << bad;
}

TEST(Places, NumaNodesAreTheKernels) {
  const std::vector<int> all = cpus_of_this_thread();
  const std::filesystem::path root =
      std::filesystem::path(testing::TempDir()) / ("loomix_nodes_" + std::to_string(getpid()));
  for (const char* node : {"node0", "node1", "node2"}) std::filesystem::create_directories(root / node);
  std::ofstream(root / "node0" / "cpulist") << all.front() << "\n";
  std::ofstream(root / "node1" / "cpulist") << "\n";  // memory without CPUs
  std::ofstream(root / "node2" / "cpulist") << "0-4095\n";
  EXPECT_EQ(parse_places("numa", root.string()), (std::vector<std::vector<int>>{{all.front()}, all}));
  std::filesystem::remove_all(root);
}

TEST(Places, WorkersStayOnTheirs) {
  const std::vector<int> all = cpus_of_this_thread();
  const int first = all.front(), last = all.back();
  const auto engine =
      make_threaded_engine({.workers = 4,
                            .inline_cost_ns = 0,
                            .worker_places = std::to_string(first) + ";" + std::to_string(last)});
  std::mutex mutex;
  std::set<std::vector<int>> seen;
  std::atomic<int> at_work{0};
  for (int i = 0; i < 4; ++i) {
    engine->push({.may_inline = false}, {}, [&](RunContext&) {
      for (++at_work; at_work < 4;) std::this_thread::yield();  // a worker each
      const std::lock_guard lock(mutex);
      seen.insert(cpus_of_this_thread());
    });
  }
  engine->wait_all();
  EXPECT_EQ(seen, (std::set<std::vector<int>>{{first}, {last}}));
  EXPECT_EQ(cpus_of_this_thread(), all);
  EXPECT_THROW(make_threaded_engine({.worker_places = "all"}), ValueError);
}

}  // namespace
}  // namespace loomix::engine

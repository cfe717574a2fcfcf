// SPDX-License-Identifier: Apache-2.0
// A pool of its own beside those of its engine: workers that sleep and wake, in groups, help with loops, and stop.
#include "engine/worker_pool.h"

#include <atomic>
#include <chrono>
#include <ctime>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/team.h"
#include "engine/threaded_engine.h"

namespace loomix::engine {
namespace {

using namespace std::chrono_literals;

class WorkerPoolTest : public ::testing::Test {
 protected:
  // Of a lane without core tokens, which the engine's own workers need.
  void make_pool(int threads, Team* team = nullptr, std::vector<std::vector<int>> places = {}) {
    pool_ = std::make_unique<WorkerPool>(engine_, Device::cpu(), Lane::io, threads, team, std::move(places));
  }
  ~WorkerPoolTest() override {
    if (pool_) pool_->stop();
  }

  // Pushed by this thread, as the engine does it for a task without tags.
  void submit(Work work, int16_t priority = 0, uint8_t flags = 0) {
    ThreadState& state = this_thread();
    ThreadState::count(state.pushed);
    Task* const task = state.take_task(0);
    task->pool = pool_.get();
    task->device = Device::cpu();
    task->priority = priority;
    task->flags |= flags;
    task->max_cores = 1;
    task->patience_ns = 0;
    task->set_count(0);
    ::new (static_cast<void*>(&task->work)) Work(std::move(work));
    pool_->submit(task, state);
  }
  // Of a thread that is none of the workers.
  ThreadState& this_thread() {
    Worker none;
    none.pool = pool_.get();
    ThreadState& state = engine_.enter_worker(none);
    state.worker = nullptr;
    return state;
  }
  int64_t ran() const {
    int64_t sum = 0;
    for (const auto& worker : pool_->workers()) sum += worker->ran;
    return sum;
  }

  // Deleting it is what ends it.
  const std::unique_ptr<ThreadedEngine> owner_ =
      std::make_unique<ThreadedEngine>(EngineOptions{.workers = 1});
  ThreadedEngine& engine_ = *owner_;
  std::unique_ptr<WorkerPool> pool_;
};

// Not by a latch: the last task might still touch it.
void wait_until_none(const std::atomic<int>& left) {
  while (left > 0) std::this_thread::yield();
}

std::chrono::nanoseconds cpu_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

TEST_F(WorkerPoolTest, WorkersWithoutWorkSleep) {
  make_pool(4);
  pool_->start();
  std::atomic<int> left{8};
  for (int i = 0; i < 8; ++i) submit([&](RunContext&) { left.fetch_sub(1); });
  wait_until_none(left);
  std::this_thread::sleep_for(50ms);  // they look for work for a while first
  const auto before = cpu_time();
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(cpu_time() - before, 100ms);
}

// Each task comes to workers at another point on their way to sleep. A lost wake-up leaves it lying, and the test hangs.
TEST_F(WorkerPoolTest, NoWakeUpIsLost) {
  for (const int threads : {1, 3}) {
    make_pool(threads);
    pool_->start();
    std::atomic<int> left{0};
    for (int round = 0; round < 1000; ++round) {
      left = 2;
      for (int i = 0; i < 2; ++i)
        submit([&](RunContext&) { left.fetch_sub(1); }, static_cast<int16_t>(round % 3 - 1));
      wait_until_none(left);
      if (round % 100 == 0) std::this_thread::sleep_for(100us);
      // Not by yielding, each of which takes milliseconds beside other programs.
      const auto until = std::chrono::steady_clock::now() + round % 50 * 2us;
      while (std::chrono::steady_clock::now() < until) {}
    }
    pool_->stop();
  }
}

TEST_F(WorkerPoolTest, ManyThreadsWakeTheSame) {
  make_pool(3);
  pool_->start();
  constexpr int kThreads = 4, kTasks = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTasks; ++i) {
        std::atomic<int> left{1};
        submit([&](RunContext&) { left.fetch_sub(1); });
        wait_until_none(left);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran(), kThreads * kTasks);
}

// Every task blocks until as many run as there are workers, so that each worker has to be woken, also in groups that no
// task was put into: a searcher that finds work wakes the next.
TEST_F(WorkerPoolTest, AllWorkersOfAllGroupsAreWoken) {
  constexpr int kWorkers = 35;  // in groups of 16
  make_pool(kWorkers);
  pool_->start();
  for (int round = 0; round < 5; ++round) {
    std::latch together(kWorkers);
    std::atomic<int> left{kWorkers};
    for (int i = 0; i < kWorkers; ++i) {
      submit([&](RunContext&) {
        together.arrive_and_wait();
        left.fetch_sub(1);
      });
    }
    wait_until_none(left);
    if (round % 2 == 0) std::this_thread::sleep_for(5ms);  // asleep, or not yet
  }
}

TEST_F(WorkerPoolTest, AGroupForEachPlace) {
  make_pool(4, nullptr, {{}, {}});  // places whose CPUs are not there: the workers run anywhere
  pool_->start();
  std::latch together(4);
  std::atomic<int> left{4};
  for (int i = 0; i < 4; ++i) {
    submit([&](RunContext&) {
      together.arrive_and_wait();
      left.fetch_sub(1);
    });
  }
  wait_until_none(left);
  pool_->stop();
  for (const auto& worker : pool_->workers()) EXPECT_EQ(worker->ran, 1);
}

TEST_F(WorkerPoolTest, IdleWorkersHelpWithALoop) {
  Team team;
  make_pool(3, &team);
  team.set_crew(pool_.get());
  pool_->start();
  for (int round = 0; round < 20; ++round) {
    if (round % 2 == 0) std::this_thread::sleep_for(5ms);  // asleep, or still looking for work
    std::latch together(4);                                // the caller and all three
    const auto part = [](void* latch, int64_t) { static_cast<std::latch*>(latch)->arrive_and_wait(); };
    team.run(3, 4, part, &together);
  }
  std::atomic<int> left{1};
  submit([&](RunContext&) { left.fetch_sub(1); });  // and go on as workers
  wait_until_none(left);
  team.set_crew(nullptr);
  pool_->stop();  // before the team is gone
}

// Tasks and loops come while helpers still wait for the next loop, just when they stop waiting, and when they sleep.
TEST_F(WorkerPoolTest, HelpersThatWaitForTheNextLoopMissNothing) {
  Team team;
  make_pool(2, &team);
  team.set_crew(pool_.get());
  pool_->start();
  for (int round = 0; round < 400; ++round) {
    std::latch together(3);
    const auto part = [](void* latch, int64_t) { static_cast<std::latch*>(latch)->arrive_and_wait(); };
    team.run(2, 3, part, &together);
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(round);
    while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
    std::atomic<int> left{round % 3};
    for (int i = 0; i < round % 3; ++i)
      submit([&](RunContext&) { left.fetch_sub(1); }, static_cast<int16_t>(i - 1));
    wait_until_none(left);
  }
  std::this_thread::sleep_for(50ms);
  const auto before = cpu_time();
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(cpu_time() - before, 100ms) << "they do not fall asleep";
  team.set_crew(nullptr);
  pool_->stop();
}

TEST_F(WorkerPoolTest, StopRunsWhatIsReadyAndEndsTheThreads) {
  make_pool(3);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> count{0};
    if (round % 2 == 0) {  // before any worker runs
      for (int i = 0; i < 300; ++i) submit([&](RunContext&) { ++count; }, static_cast<int16_t>(i % 3 - 1));
      pool_->start();
    } else {
      pool_->start();
      for (int i = 0; i < 300; ++i) submit([&](RunContext&) { ++count; }, static_cast<int16_t>(i % 3 - 1));
    }
    pool_->stop();
    EXPECT_EQ(count, 300);
    for (const auto& worker : pool_->workers()) EXPECT_FALSE(worker->thread.joinable());
  }
  pool_->start();
  std::this_thread::sleep_for(10ms);
  pool_->stop();  // of workers that are all asleep
}

TEST_F(WorkerPoolTest, GuestsGetWhatMayRunAnywhere) {
  make_pool(1);
  ThreadState& state = this_thread();
  std::atomic<int> count{0};
  EXPECT_EQ(pool_->take_for_guest(state), nullptr);
  submit([&](RunContext&) { ++count; }, 5);
  EXPECT_TRUE(pool_->urgent() && pool_->has_higher(4) && !pool_->has_higher(5));
  EXPECT_EQ(pool_->take_for_guest(state), nullptr);
  submit([&](RunContext&) { count += 10; }, 9, kMayInline);
  Task* const task = pool_->take_for_guest(state);
  ASSERT_NE(task, nullptr);
  EXPECT_EQ(task->priority, 9);
  EXPECT_EQ(pool_->take_for_guest(state), nullptr);
  pool_->submit(task, state);
  pool_->start();
  pool_->stop();
  EXPECT_EQ(count, 11);
}

}  // namespace
}  // namespace loomix::engine

// SPDX-License-Identifier: Apache-2.0
// No ready task is passed by more than 1,000 others of its priority.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/device/device_runtime.h"
#include "engine/engine.h"

namespace loomix::engine {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kMostPassing = 1000;

// Chains of short tasks, and a task without tags that is pushed when `middle` of them have begun: on another thread, or
// by the chain itself. Returns how many of the chains' tasks began while it was ready.
struct Chains {
  Engine& engine;
  int chains;
  int length;
  std::atomic<int64_t> begun{0};
  std::atomic<bool> pushing{false}, pushed{false};
  std::atomic<int64_t> at_push{0}, at_start{-1};

  void push_independent() {
    pushing = true;  // the chains stand still meanwhile, as this thread may lose its core
    at_push = begun.load();
    engine.push({.may_inline = false}, {}, [this](RunContext&) { at_start = begun.load(); });
    pushed = true;
  }
  int64_t passed_by(bool from_task) {
    std::vector<VarRef> vars;
    for (int i = 0; i < chains; ++i) vars.push_back(engine.new_var());
    const int64_t middle = static_cast<int64_t>(chains) * length / 4;
    for (int k = 0; k < length; ++k) {
      for (int i = 0; i < chains; ++i) {
        const Tag tag{vars[static_cast<size_t>(i)].get(), Access::write};
        engine.push({}, {&tag, 1}, [this, middle, from_task](RunContext&) {
          while (pushing && !pushed) std::this_thread::yield();
          if (begun.fetch_add(1) + 1 != middle) return;
          if (from_task) return push_independent();
          while (!pushed) std::this_thread::yield();
        });
      }
    }
    if (!from_task) {
      while (begun < middle) std::this_thread::yield();
      push_independent();
    }
    engine.wait_all();
    return at_start - at_push;
  }
};

struct Scenario {
  int workers;
  int chains;
  bool from_task;
};
void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.workers << " workers, " << scenario.chains << " chains, pushed by "
       << (scenario.from_task ? "a task" : "another thread");
}
class Fairness : public testing::TestWithParam<Scenario> {};
INSTANTIATE_TEST_SUITE_P(Chains, Fairness,
                         testing::Values(Scenario{1, 1, false}, Scenario{1, 1, true}, Scenario{1, 300, false},
                                         Scenario{1, 300, true}, Scenario{2, 300, false},
                                         Scenario{2, 300, true}, Scenario{4, 300, false},
                                         Scenario{4, 300, true}));

TEST_P(Fairness, AnIndependentTaskIsSoonRun) {
  const Scenario& scenario = GetParam();
  const auto engine = make_threaded_engine(
      {.workers = scenario.workers, .max_tasks = 0, .inline_cost_ns = 0, .help_while_waiting = false});
  // The other chains' tasks may have been ready before it. A worker that has taken the task may lose its core before the
  // task begins, so beside other workers the best of some rounds counts.
  int64_t passed = INT64_MAX;
  for (int round = 0; round < (scenario.workers > 1 ? 5 : 1) && passed > kMostPassing; ++round) {
    Chains chains{*engine, scenario.chains, 60'000 / scenario.chains};
    passed = std::min(passed, chains.passed_by(scenario.from_task));
  }
  EXPECT_LE(passed, kMostPassing + scenario.chains);
}

// The task lies with a worker that is busy for long; the others must find it.
TEST(Starvation, ATaskBehindABlockedWorkerIsFoundByTheBusyOnes) {
  const auto engine =
      make_threaded_engine({.workers = 2, .max_tasks = 0, .inline_cost_ns = 0, .help_while_waiting = false});
  const VarRef chain = engine->new_var();
  std::atomic<int64_t> begun{0}, at_push{0}, at_start{-1};
  std::atomic<bool> pushing{false}, pushed{false};
  std::latch open(1);
  engine->push({}, {}, [&](RunContext&) {
    // The chain runs on the other worker by now, and these are this worker's own.
    while (begun < 1000) std::this_thread::yield();
    pushing = true;  // the chain stands still meanwhile, as this thread may lose its core
    at_push = begun.load();
    engine->push({}, {}, [&](RunContext&) { at_start = begun.load(); });
    pushed = true;
    open.wait();
  });
  for (int i = 0; i < 200'000; ++i) {
    const Tag tag{chain.get(), Access::write};
    engine->push({}, {&tag, 1}, [&](RunContext&) {
      while (pushing && !pushed) std::this_thread::yield();
      ++begun;
    });
  }
  engine->wait(*chain);
  open.count_down();
  engine->wait_all();
  EXPECT_GE(at_start, 0);
  EXPECT_LE(at_start - at_push, kMostPassing);
}

// A waiting thread runs a chain for the only worker, which is busy; what is not of the chain gets its turn.
TEST(Starvation, AWaitingThreadLooksAwayFromItsChain) {
  const auto engine = make_threaded_engine({.workers = 1, .max_tasks = 0, .inline_cost_ns = 0});
  const VarRef chain = engine->new_var();
  std::atomic<int64_t> begun{0}, at_push{0}, at_start{-1};
  std::latch running(1), open(1);
  engine->push({.may_inline = false}, {}, [&](RunContext&) {
    running.count_down();
    open.wait();
  });
  running.wait();
  for (int i = 0; i < 50'000; ++i) {
    const Tag tag{chain.get(), Access::write};
    engine->push({}, {&tag, 1}, [&](RunContext&) {
      if (++begun != 1000) return;
      at_push = begun.load();
      engine->push({}, {}, [&](RunContext&) { at_start = begun.load(); });
    });
  }
  engine->wait(*chain);
  open.count_down();
  engine->wait_all();
  EXPECT_LE(at_start - at_push, kMostPassing);
}

// Work ends all the time, but as much is pushed; then the task that frees the memory ends.
TEST(Reclaim, WaitsForMemoryThatIsAboutToBeFree) {
  constexpr size_t kBlock = size_t{48} << 20;
  const auto engine = make_threaded_engine(
      {.workers = 2, .max_tasks = 64, .inline_cost_ns = 0, .pool_bytes = int64_t{64} << 20});
  MemoryPool& pool = engine->device(Device::cpu()).memory(MemoryKind::host);
  for (int round = 0; round < 50; ++round) {
    void* const first = pool.allocate(kBlock);
    const VarRef holder = engine->new_var();
    const Tag tag{holder.get(), Access::write};
    engine->push({}, {&tag, 1}, [&pool, first](RunContext&) { pool.free(first, kBlock); });
    void* second = nullptr;
    ASSERT_NO_THROW(second = pool.allocate(kBlock)) << "round " << round;
    pool.free(second, kBlock);
  }
  engine->wait_all();
}

TEST(Reclaim, CountsWhatEndsWhileAsMuchIsPushed) {
  constexpr size_t kBlock = size_t{48} << 20;
  const auto engine = make_threaded_engine(
      {.workers = 2, .max_tasks = 0, .inline_cost_ns = 0, .pool_bytes = int64_t{64} << 20});
  MemoryPool& pool = engine->device(Device::cpu()).memory(MemoryKind::host);
  void* const first = pool.allocate(kBlock);
  const VarRef chain = engine->new_var();
  std::latch asked(1);
  std::atomic<bool> stop{false};
  // Two tasks are pushed for each that ends, until the memory is free.
  std::function<void(RunContext&)> grow = [&](RunContext&) {
    if (stop) return;
    const Tag tag{chain.get(), Access::write};
    for (int i = 0; i < 2; ++i) engine->push({}, {&tag, 1}, [&](RunContext& context) { grow(context); });
    std::this_thread::sleep_for(100us);
  };
  const Tag tag{chain.get(), Access::write};
  engine->push({}, {&tag, 1}, [&](RunContext& context) { grow(context); });
  engine->push({}, {}, [&](RunContext&) {
    asked.wait();
    std::this_thread::sleep_for(50ms);
    pool.free(first, kBlock);
  });
  asked.count_down();
  const auto begin = std::chrono::steady_clock::now();
  void* const second = pool.allocate(kBlock);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  stop = true;
  engine->wait_all();
  pool.free(second, kBlock);
}

}  // namespace
}  // namespace loomix::engine

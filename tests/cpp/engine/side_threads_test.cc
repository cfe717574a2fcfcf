// SPDX-License-Identifier: Apache-2.0
// Threads beside the lanes: all jobs run, those that wait let others in, strands keep their order, forks begin anew.
#include "engine/side_threads.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/engine.h"
#include "tests/cpp/engine/child.h"

namespace loomix::engine {
namespace {

TEST(SideThreads, RunsAllJobsOfManyThreads) {
  std::atomic<int> ran{0};
  {
    SideThreads threads(3);
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back([&] {
        for (int k = 0; k < 500; ++k) threads.run([&ran] { ++ran; });
      });
    }
    for (std::thread& caller : callers) caller.join();
    while (ran < 2000) std::this_thread::yield();
  }
  EXPECT_EQ(ran, 2000);
}

TEST(SideThreads, RunsNoMoreAtOnceThanItMay) {
  std::atomic<int> running{0}, most{0}, ran{0};
  SideThreads threads(2);
  for (int i = 0; i < 50; ++i) {
    threads.run([&] {
      const int now = ++running;
      int seen = most;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {}
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      --running;
      ++ran;
    });
  }
  while (ran < 50) std::this_thread::yield();
  EXPECT_LE(most, 2);
}

TEST(SideThreads, JobsOfAStrandRunInTurn) {
  std::vector<int> order;  // guarded by the strand
  std::atomic<int> ran{0};
  SideThreads threads(8);
  const auto strand = make_ref<SideThreads::Strand>();
  for (int i = 0; i < 300; ++i) {
    threads.run(
        [&order, &ran, i] {
          order.push_back(i);
          ++ran;
        },
        strand);
    threads.run([&ran] { ++ran; });
  }
  while (ran < 600) std::this_thread::yield();
  for (int i = 0; i < 300; ++i) ASSERT_EQ(order[static_cast<size_t>(i)], i);
}

// Each task waits, on a side thread, for the one that it pushes: there must be as many threads as tasks.
void push_chain(Engine& engine, const std::vector<VarRef>& vars, size_t depth, std::atomic<int>& ran) {
  const Tag tag{vars[depth].get(), Access::write};
  engine.push_async({}, {&tag, 1}, [&, depth](RunContext&, Completion completion) {
    engine.side_threads().run([&, depth, completion = std::move(completion)]() mutable {
      {
        const ForTask scope(engine);
        if (depth + 1 < vars.size()) {
          push_chain(engine, vars, depth + 1, ran);
          engine.wait(*vars[depth + 1]);
        }
      }
      ++ran;
      completion.done();
    });
  });
}

TEST(SideThreads, WhoWaitsForTheEngineLetsOthersIn) {
  for (const bool naive : {false, true}) {
    auto engine = naive ? make_naive_engine({.side_threads = 1})
                        : make_threaded_engine({.workers = 1, .side_threads = 1});
    std::vector<VarRef> vars;
    for (int i = 0; i < 20; ++i) vars.push_back(engine->new_var());
    std::atomic<int> ran{0};
    push_chain(*engine, vars, 0, ran);
    engine->wait(*vars[0]);
    EXPECT_EQ(ran, 20);
    engine->shutdown();
  }
}

TEST(SideThreads, AnEngineEndsWhenItsJobsHave) {
  std::atomic<bool> left{false};
  {
    const auto engine = make_threaded_engine({.workers = 1});
    const VarRef var = engine->new_var();
    const Tag tag{var.get(), Access::write};
    engine->push_async({}, {&tag, 1}, [&](RunContext&, Completion completion) {
      engine->side_threads().run([&left, completion = std::move(completion)]() mutable {
        completion.done();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        left = true;
      });
    });
    engine->wait(*var);
  }
  EXPECT_TRUE(left);
}

TEST(SideThreads, AChildHasThreadsOfItsOwn) {
  if (kThreadSanitizer) GTEST_SKIP();
  const auto engine = make_threaded_engine({.workers = 1});
  const VarRef var = engine->new_var();
  const auto run_one = [&] {
    const Tag tag{var.get(), Access::write};
    engine->push_async({}, {&tag, 1}, [&](RunContext&, Completion completion) {
      engine->side_threads().run([completion = std::move(completion)]() mutable { completion.done(); });
    });
    engine->wait(*var);
  };
  run_one();
  EXPECT_EQ(in_child([&] {
              run_one();
              return 0;
            }),
            0);
  run_one();
}

TEST(SideThreads, WaitingForAllFromATaskIsRefused) {
  for (const bool naive : {false, true}) {
    const auto engine = naive ? make_naive_engine() : make_threaded_engine({.workers = 1});
    const ForTask scope(*engine);
    EXPECT_THROW(engine->wait_all(), StateError);
  }
}

TEST(SideThreads, DrainingReportsNothing) {
  const auto engine = make_threaded_engine({.workers = 1});
  const VarRef var = engine->new_var();
  const Tag tag{var.get(), Access::write};
  engine->push({.may_inline = false}, {&tag, 1}, [](RunContext&) { throw ValueError("no"); });
  EXPECT_TRUE(engine->drain(10'000));
  EXPECT_THROW(engine->wait_all(), ValueError);
  engine->push({.may_inline = false}, {&tag, 1},
               [](RunContext&) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); });
  EXPECT_FALSE(engine->drain(1));
}

}  // namespace
}  // namespace loomix::engine

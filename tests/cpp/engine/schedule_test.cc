// SPDX-License-Identifier: Apache-2.0
// Priorities, lanes, bounds, pushes from many threads and from tasks, core tokens.
#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/core_tokens.h"
#include "engine/engine.h"
#include "engine/parallel_for.h"

namespace loomix::engine {
namespace {

using namespace std::chrono_literals;

void push(Engine& engine, std::vector<Tag> tags, Work work, TaskInfo info = {}) {
  engine.push(std::move(info), tags, std::move(work));
}

TEST(Schedule, HigherPriorityFirstWithinALane) {
  const auto engine = make_threaded_engine({.workers = 1, .inline_cost_ns = 0, .help_while_waiting = false});
  std::latch open(1);
  std::vector<int> order;
  push(*engine, {}, [&](RunContext&) { open.wait(); });
  const int priorities[] = {0, -3, 5, 0, 9, -1, 5, 0};
  for (int i = 0; i < 8; ++i) {
    push(*engine, {}, [&order, i](RunContext&) { order.push_back(i); },
         {.priority = static_cast<int16_t>(priorities[i])});
  }
  open.count_down();
  engine->wait_all();
  EXPECT_EQ(order, (std::vector<int>{4, 2, 6, 0, 3, 7, 5, 1}));
}

TEST(Schedule, AScopeGivesItsPriorityToPushesWithoutOne) {
  const auto engine = make_threaded_engine({.workers = 1, .inline_cost_ns = 0, .help_while_waiting = true});
  std::latch open(1);
  std::vector<int> order;
  const auto note = [&](int i, int16_t priority = 0) {
    push(*engine, {}, [&order, i](RunContext&) { order.push_back(i); }, {.priority = priority});
  };
  push(*engine, {}, [&](RunContext&) { open.wait(); }, {.may_inline = false});
  {
    const PushPriority low(*engine, -1'000'000);
    note(0);
    {
      const PushPriority lower(*engine, -300);
      note(1);
    }
    note(2, 7);
    note(3);
  }
  note(4);
  open.count_down();
  engine->wait_all();
  EXPECT_EQ(order, (std::vector<int>{2, 4, 1, 0, 3}));
}

TEST(Schedule, AScopeDoesNotReachWhatTasksPush) {
  const auto engine = make_threaded_engine({.workers = 1});
  const PushPriority scope(*engine, 5);
  bool inlined = false;
  int16_t seen = -1;
  const auto self = std::this_thread::get_id();
  push(*engine, {}, [&](RunContext&) {
    inlined = std::this_thread::get_id() == self;
    seen = engine->exchange_push_priority(0);
  });
  engine->wait_all();
  EXPECT_TRUE(inlined);
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(engine->exchange_push_priority(5), 5);
}

TEST(Schedule, ABlockedLaneStarvesNoOther) {
  const auto engine = make_threaded_engine({.workers = 2, .io_workers = 1});
  std::latch open(1);
  std::latch through(4);
  const Lane lanes[] = {Lane::compute, Lane::copy_in, Lane::copy_out, Lane::communicate};
  for (int i = 0; i < 3; ++i)
    push(*engine, {}, [&](RunContext&) { open.wait(); }, {.lane = Lane::io, .may_inline = false});
  for (const Lane lane : lanes) {
    push(*engine, {}, [&](RunContext&) { through.count_down(); }, {.lane = lane, .may_inline = false});
  }
  through.wait();
  open.count_down();
  engine->wait_all();
}

TEST(Schedule, AWorkerBlockedByATaskLeavesTheOthersToItsPeer) {
  const auto engine = make_threaded_engine({.workers = 2, .inline_cost_ns = 0, .help_while_waiting = false});
  for (int round = 0; round < 200; ++round) {
    std::latch open(1);
    push(*engine, {}, [&](RunContext&) { open.wait(); });
    push(*engine, {}, [&](RunContext&) { open.count_down(); });
    engine->wait_all();
  }
}

TEST(Schedule, InlineOnlyWhereAllowed) {
  const auto engine = make_threaded_engine({.workers = 2, .help_while_waiting = false});
  const VarRef a = engine->new_var(), b = engine->new_var();
  const auto self = std::this_thread::get_id();
  std::atomic<bool> here{false};
  const auto note = [&](RunContext&) { here = std::this_thread::get_id() == self; };
  push(*engine, {{a.get(), Access::write}}, note);
  EXPECT_TRUE(here);
  push(*engine, {{a.get(), Access::write}}, note, {.cost_ns = 50'000'000});
  engine->wait(*a);
  EXPECT_FALSE(here);
  push(*engine, {{a.get(), Access::write}}, note, {.may_inline = false});
  engine->wait(*a);
  EXPECT_FALSE(here);
  std::atomic<int> depth{0};
  push(*engine, {{a.get(), Access::write}}, [&](RunContext&) {
    push(*engine, {{b.get(), Access::write}},
         [&](RunContext&) { depth = std::this_thread::get_id() == self ? 2 : 1; });
  });
  engine->wait(*b);
  EXPECT_EQ(depth, 1);  // nesting is at most one
}

TEST(Schedule, PushFromSeveralThreadsKeepsOrderAtomic) {
  // Two Vars written by everyone in both tag orders: unless a push is atomic over its tags, this deadlocks.
  const auto engine = make_threaded_engine({.workers = 4, .inline_cost_ns = 0});
  const VarRef a = engine->new_var(), b = engine->new_var();
  int64_t in_a = 0, in_b = 0;
  std::vector<std::thread> pushers;
  constexpr int kEach = 3000;
  for (int t = 0; t < 4; ++t) {
    pushers.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const Tag forward[] = {{a.get(), Access::write}, {b.get(), Access::write}};
        const Tag backward[] = {{b.get(), Access::write}, {a.get(), Access::write}};
        engine->push({}, t % 2 ? forward : backward, [&](RunContext&) {
          EXPECT_EQ(in_a, in_b);
          ++in_a;
          ++in_b;
        });
        if (i % 500 == 0) engine->wait(*a);
      }
    });
  }
  for (auto& pusher : pushers) pusher.join();
  engine->wait_all();
  EXPECT_EQ(in_a, 4 * kEach);
}

TEST(Schedule, TasksPushTasks) {
  const auto engine = make_threaded_engine({.workers = 3, .max_tasks = 8});
  const VarRef cell = engine->new_var();
  int64_t sum = 0;
  for (int i = 0; i < 50; ++i) {
    push(*engine, {}, [&](RunContext&) {
      for (int k = 0; k < 40; ++k) push(*engine, {{cell.get(), Access::write}}, [&](RunContext&) { ++sum; });
    });
  }
  engine->wait_all();
  EXPECT_EQ(sum, 2000);
}

TEST(Schedule, RunAheadIsBoundedByTasks) {
  const auto engine = make_threaded_engine({.workers = 1, .max_tasks = 10, .inline_cost_ns = 0});
  std::latch open(1);
  std::atomic<int> pushed{0};
  std::thread pusher([&] {
    for (int i = 0; i < 50; ++i) {
      push(*engine, {}, [&](RunContext&) { open.wait(); });
      ++pushed;
    }
  });
  std::this_thread::sleep_for(100ms);
  EXPECT_GE(pushed, 9);
  EXPECT_LE(pushed, 10);
  open.count_down();
  pusher.join();
  engine->wait_all();
  EXPECT_EQ(pushed, 50);
}

TEST(Schedule, RunAheadIsBoundedByBytes) {
  const auto engine = make_threaded_engine({.workers = 1, .max_bytes = 1000, .inline_cost_ns = 0});
  std::latch open(1);
  std::atomic<int> pushed{0};
  std::thread pusher([&] {
    push(*engine, {}, [&](RunContext&) { open.wait(); }, {.bytes = 5000});  // more than the bound: alone
    for (int i = 0; i < 6; ++i) {
      push(*engine, {}, [&](RunContext&) {}, {.bytes = 400});
      ++pushed;
    }
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(pushed, 0);
  open.count_down();
  pusher.join();
  engine->wait_all();
}

TEST(Schedule, BlockHookSurroundsOnlyWhatBlocks) {
  static std::atomic<int> entered, left;
  entered = left = 0;
  const auto engine =
      make_threaded_engine({.workers = 1,
                            .block_hook = {.enter = []() -> void* {
                                             ++entered;
                                             return &entered;
                                           },
                                           .leave = [](void* state) { left += state == &entered; }}});
  const VarRef a = engine->new_var();
  push(*engine, {{a.get(), Access::write}}, [](RunContext&) {});
  engine->wait(*a);
  EXPECT_EQ(entered, 0);
  push(*engine, {{a.get(), Access::write}}, [](RunContext&) { std::this_thread::sleep_for(10ms); },
       {.may_inline = false});
  EXPECT_FALSE(engine->is_ready(*a));
  engine->wait(*a);
  EXPECT_EQ(entered, 1);
  EXPECT_EQ(left, 1);
}

// Whatever waits ends by Interrupted when the hook says so; the engine goes on, and the work is done in the end.
TEST(Schedule, WaitsAndBlockedPushesCanBeInterrupted) {
  static std::atomic<bool> interrupt;
  static std::atomic<int> asked, left;
  interrupt = false;
  asked = left = 0;
  const auto engine = make_threaded_engine(
      {.workers = 1,
       .max_tasks = 4,
       .max_bytes = 1000,
       .block_hook = {
           .enter = []() -> void* { return &asked; },
           .leave = [](void*) { ++left; },
           .interrupted = [](void* state) { return state == &asked && ++asked > 1 && interrupt; }}});
  const VarRef a = engine->new_var();
  std::latch open(1);
  std::atomic<int> ran{0};
  push(*engine, {{a.get(), Access::write}},
       [&](RunContext&) {
         open.wait();
         ++ran;
       },
       {.may_inline = false, .bytes = 900});
  std::thread user([] {
    std::this_thread::sleep_for(200ms);
    interrupt = true;
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(engine->wait(*a), Interrupted);
  user.join();
  EXPECT_GE(asked, 2);
  EXPECT_LE(asked, (std::chrono::steady_clock::now() - begin) / 50ms);
  EXPECT_THROW(engine->wait_to_write(*a), Interrupted);
  EXPECT_THROW(engine->wait_all(), Interrupted);
  EXPECT_THROW(push(*engine, {}, [&](RunContext&) { ++ran; }, {.bytes = 900}), Interrupted);
  int pushed = 0;
  EXPECT_THROW(for (; pushed < 10; ++pushed) push(*engine, {{a.get(), Access::write}},
                                                  [&](RunContext&) { ++ran; }, {.may_inline = false}),
               Interrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  EXPECT_EQ(left, 5);
  interrupt = false;
  open.count_down();
  engine->wait_all();
  engine->wait(*a);
  EXPECT_EQ(ran, 1 + pushed);
  push(*engine, {{a.get(), Access::write}}, [&](RunContext&) { ran = 100; }, {.bytes = 900});
  engine->wait(*a);
  EXPECT_EQ(ran, 100);
}

TEST(Schedule, WaitToWriteWaitsForReaders) {
  const auto engine = make_threaded_engine({.workers = 2, .help_while_waiting = false});
  const VarRef a = engine->new_var();
  std::atomic<bool> done{false};
  push(*engine, {{a.get(), Access::read}},
       [&](RunContext&) {
         std::this_thread::sleep_for(20ms);
         done = true;
       },
       {.may_inline = false});
  engine->wait(*a);
  EXPECT_FALSE(done);
  engine->wait_to_write(*a);
  EXPECT_TRUE(done);
}

TEST(Schedule, VarsAndClosuresDieWithTheirLastTask) {
  const auto engine = make_threaded_engine({.workers = 2, .inline_cost_ns = 0});
  const auto shared = std::make_shared<int>(1);
  for (int i = 0; i < 1000; ++i) {
    const VarRef var = engine->new_var();
    push(*engine, {{var.get(), Access::write}}, [shared](RunContext&) {});
    push(*engine, {{var.get(), Access::read}}, [shared](RunContext&) {});
  }
  engine->wait_all();
  EXPECT_EQ(shared.use_count(), 1);
}

TEST(Schedule, EnginesAndThreadsComeAndGo) {
  for (int i = 0; i < 50; ++i) {
    const auto one = make_threaded_engine({.workers = 2, .inline_cost_ns = 0});
    const auto two = make_threaded_engine({.workers = 1, .inline_cost_ns = 0});
    std::atomic<int> ran{0};
    std::thread user([&] {
      for (int k = 0; k < 100; ++k) push(k % 2 ? *one : *two, {}, [&](RunContext&) { ++ran; });
    });
    user.join();
    one->wait_all();
    two->wait_all();
    EXPECT_EQ(ran, 100);
  }
}

TEST(CoreTokens, GivesWhatThereIsAndNoMore) {
  CoreTokens tokens(4);
  EXPECT_EQ(tokens.try_take(3), 3);
  EXPECT_EQ(tokens.try_take(3), 1);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(tokens.take(2, 1'000'000'000), 0);  // patience is bounded whatever is asked for
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 500ms);
  tokens.give(4);
  EXPECT_EQ(tokens.available(), 4);
}

TEST(ParallelFor, CoversEveryIndexOnceOnSeveralThreads) {
  const auto engine = make_threaded_engine({.workers = 4});
  const VarRef var = engine->new_var();
  for (const int64_t count : {0, 1, 7, 1000, 100'003}) {
    std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
    int cores = 0;
    push(*engine, {{var.get(), Access::write}},
         [&](RunContext& context) {
           cores = context.cores;
           parallel_for(context, count, 10, [&](int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
             if (count < 1000) return;
             const auto self = std::this_thread::get_id();
             parallel_for(context, 3, 1,
                          [&](int64_t, int64_t) { EXPECT_EQ(std::this_thread::get_id(), self); });
           });
         },
         {.may_inline = false, .max_cores = 4, .cost_ns = 10'000'000});
    engine->wait(*var);
    EXPECT_GE(cores, 1);
    EXPECT_LE(cores, 4);
    for (const auto& times : seen) ASSERT_EQ(times, 1);
  }
}

TEST(ParallelFor, WorkersThatFallIdleLaterHelp) {
  const auto engine = make_threaded_engine({.workers = 2, .inline_cost_ns = 0});
  std::atomic<bool> is_busy{false}, is_released{false};
  std::atomic<int> helped{0};
  push(*engine, {},
       [&](RunContext&) {
         is_busy = true;
         while (!is_released) std::this_thread::yield();
       },
       {.may_inline = false});
  while (!is_busy) std::this_thread::yield();
  push(*engine, {},
       [&](RunContext& context) {
         EXPECT_EQ(context.cores, 2);
         EXPECT_EQ(context.threads, 1) << "the other core is taken";
         const auto self = std::this_thread::get_id();
         const auto deadline = std::chrono::steady_clock::now() + 20s;
         parallel_for(context, 8, 1, [&](int64_t, int64_t) {
           is_released = true;
           if (std::this_thread::get_id() != self) ++helped;
           while (helped == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
         });
       },
       {.may_inline = false, .max_cores = 2, .cost_ns = 10'000'000});
  engine->wait_all();
  EXPECT_GT(helped, 0);
}

TEST(ParallelFor, ConcurrentWideTasks) {
  const auto engine = make_threaded_engine({.workers = 4, .inline_cost_ns = 0});
  std::atomic<int64_t> sum{0};
  for (int i = 0; i < 300; ++i) {
    push(*engine, {},
         [&](RunContext& context) {
           parallel_for(context, 1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
         },
         {.max_cores = 4, .cost_ns = 100'000});
  }
  engine->wait_all();
  EXPECT_EQ(sum, 300'000);
}

}  // namespace
}  // namespace loomix::engine

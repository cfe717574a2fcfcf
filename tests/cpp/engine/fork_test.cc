// SPDX-License-Identifier: Apache-2.0
// Forks beside C++ threads that push, wait and poll: every child goes on with whole data, none hangs.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/fork.h"
#include "engine/trace.h"
#include "tests/cpp/engine/child.h"

namespace loomix::engine {
namespace {

using namespace std::chrono_literals;

// Everything that takes a lock of the engine's, over and over, until told to stop.
class Load {
 public:
  explicit Load(Engine& engine) : engine_(engine), shared_(engine.new_var()) {
    start([this, own = engine_.new_var()] { push_some(*own); });
    start([this, own = engine_.new_var()] { push_some(*own); });
    start([this] { poll(); });
    start([this] { make_vars(); });
    start([this] { fail(); });
  }
  ~Load() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Var& shared() { return *shared_; }

  void push_some(Var& own) {
    for (int i = 0; i < 50; ++i) {
      const Tag tags[] = {{&own, Access::write}, {shared_.get(), Access::read}};
      engine_.push({.bytes = 100}, tags, [](RunContext&) {});
    }
    const Tag tag{shared_.get(), Access::write};
    engine_.push({.priority = 3}, {&tag, 1}, [](RunContext&) {});
  }
  void poll() {
    for (int i = 0; i < 20; ++i) engine_.is_ready(*shared_);
    engine_.wait(*shared_);
    engine_.wait_to_write(*shared_);
  }
  void make_vars() {
    std::vector<VarRef> made;
    std::vector<Tag> tags;
    for (int i = 0; i < 200; ++i) {
      made.push_back(engine_.new_var());
      if (i < 40) tags.push_back({made.back().get(), Access::write});
    }
    engine_.push({}, {tags.data(), 12}, [](RunContext&) {});
    engine_.push({}, tags, [](RunContext&) {});
  }
  void fail() {
    const VarRef broken = engine_.new_var();
    const Tag tag{broken.get(), Access::write};
    engine_.push({}, {&tag, 1}, [](RunContext&) { throw ValueError("[test] this task fails."); });
    EXPECT_THROW(engine_.wait(*broken), ValueError);
  }

 private:
  template <class Body>
  void start(Body body) {
    threads_.emplace_back([this, body = std::move(body)] {
      while (!stop_) body();
    });
  }
  Engine& engine_;
  const VarRef shared_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

int go_on(Engine& engine, Load& load, Var& counted, const int64_t& value, int64_t expected) {
  if (value != expected) return 1;
  if (kThreadSanitizer) return 0;
  load.push_some(counted);
  load.poll();
  load.make_vars();
  load.fail();
  engine.trace().add("child", "look", "task", Trace::now(), Trace::now());
  engine.wait(counted);
  try {
    engine.wait_all();
  } catch (const ValueError&) {}  // of the load in the parent
  return 0;
}

class ForkLoad : public testing::TestWithParam<int> {};
// The long one is for `.ci/long`.
INSTANTIATE_TEST_SUITE_P(Short, ForkLoad, testing::Values(100));
INSTANTIATE_TEST_SUITE_P(DISABLED_Long, ForkLoad, testing::Values(2000));

TEST_P(ForkLoad, NoChildHangs) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP()
      << "AddressSanitizer's allocator, as of g++ 12, does not hold its locks during a fork: a child may "
         "wait for one for ever";
#endif
  const auto engine = make_threaded_engine({.workers = 2, .max_tasks = 100, .max_bytes = 3000});
  const VarRef counted = engine->new_var();
  int64_t value = 0;
  Load load(*engine);
  engine->trace().start();
  for (int64_t i = 1; i <= GetParam(); ++i) {
    const Tag tag{counted.get(), Access::write};
    engine->push({}, {&tag, 1}, [&value](RunContext&) { ++value; });
    ASSERT_EQ(in_child([&] { return go_on(*engine, load, *counted, value, i); }), 0) << "fork " << i;
  }
  engine->trace().stop();
}

// A push that waits for room is not in flight: neither others like it nor a fork wait for it.
TEST(Fork, PushesThatWaitForRoomDoNotCount) {
  const auto engine = make_threaded_engine({.workers = 1, .max_tasks = 1, .inline_cost_ns = 0});
  std::atomic<int> ran{0};
  std::vector<std::thread> pushers;
  for (int i = 0; i < 4; ++i) {
    pushers.emplace_back([&] {
      for (int k = 0; k < 50; ++k) engine->push({}, {}, [&](RunContext&) { ++ran; });
    });
  }
  for (auto& pusher : pushers) pusher.join();
  engine->wait_all();
  EXPECT_EQ(ran, 200);
}

// A binding calls this before the fork takes locks that tasks may need.
TEST(Fork, OnlyTheCallerPushesOnceItIsQuiet) {
  const auto engine = make_threaded_engine({.workers = 1, .inline_cost_ns = 0});
  const VarRef var = engine->new_var();
  std::atomic<int> ran{0};
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) engine->push({}, {}, [&](RunContext&) { ++ran; });
  });
  while (ran < 100) std::this_thread::yield();
  quiesce_for_fork(*engine);
  const int before = ran;
  const Tag tag{var.get(), Access::write};
  int own = 0;
  engine->push({}, {&tag, 1}, [&](RunContext&) { own = 1; });
  engine->wait(*var);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(ran, before);
  EXPECT_EQ(in_child([&] { return own == 1 && ran == before ? 0 : 1; }), 0);
  while (ran == before) std::this_thread::yield();
  stop = true;
  other.join();
  engine->wait_all();
}

TEST(Fork, WaitsInABrokenChildThrow) {
  const auto engine = make_threaded_engine({.workers = 1, .inline_cost_ns = 0, .fork_deadline_ms = 50});
  const VarRef late = engine->new_var();
  const Tag tag{late.get(), Access::write};
  std::atomic<bool> go{false};
  engine->push({}, {&tag, 1}, [&](RunContext&) {
    while (!go) std::this_thread::sleep_for(1ms);
  });
  const int status = in_child([&] {
    EXPECT_THROW(engine->wait(*late), StateError);
    EXPECT_THROW(engine->wait_all(), StateError);
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(status, 0);
  go = true;
  engine->wait_all();
}

}  // namespace
}  // namespace loomix::engine

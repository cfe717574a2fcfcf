// SPDX-License-Identifier: Apache-2.0
// Tasks of a compute lane that end later, from another thread: errors, helpers that push and wait, fork, exit.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/engine.h"
#include "tests/cpp/engine/child.h"

namespace loomix::engine {
namespace {

using namespace std::chrono_literals;

// A thread that does the work of an asynchronous task, and ends it.
class Helpers {
 public:
  template <class Body>
  AsyncWork run(Body body) {
    return [this, body = std::move(body)](RunContext&, Completion completion) {
      threads_.emplace_back([body, completion = std::move(completion)]() mutable { body(completion); });
    };
  }
  ~Helpers() {
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::vector<std::thread> threads_;  // of tasks that run one after the other
};

// Naive; queued; inline.
class AsyncTest : public testing::TestWithParam<int> {
 protected:
  AsyncTest()
      : engine_(GetParam() == 0
                    ? make_naive_engine()
                    : make_threaded_engine(
                          {.workers = 1, .max_tasks = 8, .inline_cost_ns = GetParam() == 1 ? 0u : 5000u})) {}
  template <class Body>
  void push(Var& var, Access access, Body body) {
    const Tag tag{&var, access};
    engine_->push({}, {&tag, 1}, std::move(body));
  }
  template <class Body>
  void push_async(Var& var, Body body) {
    const Tag tag{&var, Access::write};
    engine_->push_async({}, {&tag, 1}, helpers_.run(std::move(body)));
  }
  std::unique_ptr<Engine> engine_;
  Helpers helpers_;
};
INSTANTIATE_TEST_SUITE_P(Engines, AsyncTest, testing::Values(0, 1, 2));

TEST_P(AsyncTest, SuccessorsWaitForTheCompletionAndTheWorkerDoesNot) {
  const VarRef a = engine_->new_var(), other = engine_->new_var();
  std::atomic<bool> done{false};
  bool seen = false;
  push_async(*a, [&](Completion& completion) {
    std::this_thread::sleep_for(20ms);
    done = true;
    completion.done();
  });
  std::atomic<bool> other_ran_before{false};
  push(*other, Access::write, [&](RunContext&) { other_ran_before = !done; });
  push(*a, Access::read, [&](RunContext&) { seen = done; });
  engine_->wait_all();
  EXPECT_TRUE(seen);
  EXPECT_EQ(other_ran_before, GetParam() != 0);  // the naive engine runs one at a time
}

TEST_P(AsyncTest, ErrorsComeFromTheCompletionTheBodyOrItsDrop) {
  const VarRef a = engine_->new_var(), b = engine_->new_var(), c = engine_->new_var(), d = engine_->new_var();
  push_async(*a, [](Completion& completion) {
    std::this_thread::sleep_for(5ms);
    completion.fail(std::make_exception_ptr(ShapeError("[test] late.")));
  });
  const Tag write_b{b.get(), Access::write};
  engine_->push_async({}, {&write_b, 1},
                      [](RunContext&, Completion) { throw TypeError("[test] in the body."); });
  push_async(*c, [](Completion& completion) { const Completion dropped = std::move(completion); });
  const Tag tags[] = {{a.get(), Access::read}, {d.get(), Access::write}};
  engine_->push({}, tags, [](RunContext&) {});
  EXPECT_THROW(engine_->wait(*d), ShapeError);
  EXPECT_THROW(engine_->wait(*b), TypeError);
  EXPECT_THROW(engine_->wait(*c), InternalError);
  push(*a, Access::write, [](RunContext&) {});
  engine_->wait(*a);
}

// The bound is reached by tasks that wait for the asynchronous one, whose helper pushes more than the bound and waits.
TEST_P(AsyncTest, AHelperPushesAndWaitsPastTheBounds) {
  const VarRef a = engine_->new_var(), inner = engine_->new_var();
  int64_t sum = 0;
  push_async(*a, [&](Completion& completion) {
    const ForTask scope(*engine_);
    std::this_thread::sleep_for(20ms);  // until the bound is reached
    for (int i = 0; i < 50; ++i) push(*inner, Access::write, [&](RunContext&) { ++sum; });
    engine_->wait(*inner);
    completion.done();
  });
  std::atomic<int> after{0};
  for (int i = 0; i < 20; ++i) push(*a, Access::read, [&](RunContext&) { after += sum == 50; });
  engine_->wait_all();
  EXPECT_EQ(after, 20);
}

// An asynchronous task inside the work of another one.
TEST_P(AsyncTest, HelpersNest) {
  const VarRef a = engine_->new_var(), b = engine_->new_var();
  Helpers inner_helpers;
  int value = 0;
  push_async(*a, [&](Completion& completion) {
    const ForTask scope(*engine_);
    const Tag tag{b.get(), Access::write};
    engine_->push_async({}, {&tag, 1}, inner_helpers.run([&](Completion& inner) {
      const ForTask inner_scope(*engine_);
      const VarRef c = engine_->new_var();
      push(*c, Access::write, [&](RunContext&) { value = 7; });
      engine_->wait(*c);
      inner.done();
    }));
    engine_->wait(*b);
    completion.done();
  });
  engine_->wait(*a);
  EXPECT_EQ(value, 7);
}

TEST_P(AsyncTest, ShutdownWaitsForTheCompletion) {
  const VarRef a = engine_->new_var();
  std::atomic<bool> done{false};
  push_async(*a, [&](Completion& completion) {
    std::this_thread::sleep_for(30ms);
    done = true;
    completion.done();
  });
  engine_->shutdown();
  EXPECT_TRUE(done);
  EXPECT_THROW(push(*a, Access::write, [](RunContext&) {}), StateError);
}

// The fork waits for the task, whose helper must get past the shut gate for it.
TEST(Async, AForkWaitsForAHelperThatPushes) {
  const auto engine = make_threaded_engine({.workers = 1, .inline_cost_ns = 0});
  const VarRef a = engine->new_var(), inner = engine->new_var();
  std::atomic<bool> started{false};
  int value = 0;
  Helpers helpers;
  const Tag tag{a.get(), Access::write};
  engine->push_async({}, {&tag, 1}, helpers.run([&](Completion& completion) {
    const ForTask scope(*engine);
    started = true;
    std::this_thread::sleep_for(50ms);
    const Tag inner_tag{inner.get(), Access::write};
    engine->push({}, {&inner_tag, 1}, [&](RunContext&) { value = 1; });
    engine->wait(*inner);
    ++value;
    completion.done();
  }));
  while (!started) std::this_thread::yield();
  EXPECT_EQ(in_child([&] {
              if (value != 2) return 1;
              if (kThreadSanitizer) return 0;
              engine->push({}, {&tag, 1}, [&](RunContext&) { value = 3; });
              engine->wait(*a);
              return value == 3 ? 0 : 2;
            }),
            0);
  engine->wait(*a);
}

TEST(Async, ExitDoesNotWaitForEverForACompletion) {
  auto engine = make_threaded_engine({.workers = 1, .exit_deadline_ms = 50});
  const VarRef a = engine->new_var();
  const Tag tag{a.get(), Access::write};
  std::optional<Completion> kept;
  std::atomic<bool> have{false};
  engine->push_async({}, {&tag, 1}, [&](RunContext&, Completion completion) {
    kept.emplace(std::move(completion));
    have = true;
  });
  while (!have) std::this_thread::yield();
  const auto begin = std::chrono::steady_clock::now();
  engine->shutdown();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  kept->done();  // late, but whole
  engine->wait(*a);
}

}  // namespace
}  // namespace loomix::engine

// SPDX-License-Identifier: Apache-2.0
// Order, exclusion and completion of both engines.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/engine.h"
#include "tests/cpp/engine/random_graph.h"

namespace loomix::engine {
namespace {

// What reading a cell must throw, or its value.
struct Outcome {
  std::vector<uint64_t> values;
  std::vector<bool> poisoned;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// Runs one program on one engine.
struct Run {
  Engine& engine;
  const RandomProgram& program;
  std::vector<VarRef> vars = {};
  Outcome outcome = {};
  std::vector<std::thread> helpers = {};
  std::mutex helpers_mutex = {};

  void push(const RandomProgram::Step& step) {
    const TaskInfo info{.lane = step.lane, .priority = step.priority};
    const std::vector<Tag> tags = program.tags(step, vars);
    if (step.style == 1) {
      engine.push_async(info, tags, [this, &step](RunContext&, Completion completion) {
        const std::lock_guard lock(helpers_mutex);
        helpers.emplace_back([this, &step, completion = std::move(completion)]() mutable {
          RandomProgram::apply(step, outcome.values);
          completion.done();
        });
      });
    } else if (step.style == 3) {
      engine.push(info, tags, [](RunContext&) { throw ValueError("[test] this task fails."); });
    } else {
      engine.push(info, tags, [this, &step](RunContext&) {
        RandomProgram::apply(step, outcome.values);
        for (const RandomProgram::Step& inner : step.inner) push(inner);
      });
    }
  }
  Outcome finish() {
    for (bool clean = false; !clean;) {
      try {
        engine.wait_all();
        clean = true;
      } catch (const ValueError&) {}
    }
    for (const VarRef& var : vars) {
      bool poisoned = false;
      try {
        engine.wait(*var);
      } catch (const ValueError&) {
        poisoned = true;
      }
      outcome.poisoned.push_back(poisoned);
    }
    for (auto& helper : helpers) helper.join();
    return outcome;
  }
};

Outcome run_program(Engine& engine, const RandomProgram& program) {
  Run run{engine, program};
  for (int i = 0; i < program.all_cells(); ++i) run.vars.push_back(engine.new_var());
  run.outcome.values.assign(static_cast<size_t>(program.all_cells()), 7);
  for (const auto& step : program.steps) {
    run.push(step);
    if (step.salt % 64 == 0 && !step.reads.empty()) {  // a wait in between
      try {
        engine.wait(*run.vars[static_cast<size_t>(step.reads.front())]);
      } catch (const ValueError&) {}
    }
  }
  return run.finish();
}

class OrderTest : public testing::TestWithParam<int> {
 protected:
  EngineOptions options(uint32_t inline_cost = 5000) const {
    return {.workers = GetParam(), .inline_cost_ns = inline_cost};
  }
};
INSTANTIATE_TEST_SUITE_P(Threads, OrderTest, testing::Values(1, 2, 4, 8, 16));

TEST_P(OrderTest, RandomProgramsEqualTheNaiveEngine) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomProgram program = RandomProgram::make(seed, 3 + static_cast<int>(seed % 4) * 12, 400, true);
    const auto naive = make_naive_engine();
    const auto engine = make_threaded_engine(options(seed % 3 == 0 ? 0 : 5000));
    EXPECT_EQ(run_program(*engine, program), run_program(*naive, program));
  }
}

TEST_P(OrderTest, LongPlainProgram) {
  const RandomProgram program = RandomProgram::make(99, 40, 20000, false);
  const auto naive = make_naive_engine();
  const auto engine = make_threaded_engine(options(0));
  EXPECT_EQ(run_program(*engine, program), run_program(*naive, program));
}

// Every Var of a task with more tags than a 16-bit count holds is ordered.
TEST(Tags, SeventyThousandInOneTask) {
  const auto engine = make_threaded_engine({.workers = 2, .inline_cost_ns = 0});
  constexpr size_t kTags = 70'000;
  std::vector<VarRef> vars;
  std::vector<Tag> tags;
  for (size_t i = 0; i < kTags; ++i) {
    vars.push_back(engine->new_var());
    tags.push_back({vars.back().get(), Access::write});
  }
  std::shuffle(tags.begin(), tags.end(), std::mt19937(1));
  std::atomic<bool> done{false};
  engine->push({}, tags, [&](RunContext&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    done = true;
  });
  std::atomic<size_t> after{0};
  for (size_t i = 0; i < kTags; i += 100) {
    const Tag tag{vars[i].get(), Access::read};
    engine->push({}, {&tag, 1}, [&](RunContext&) { after += done ? 1u : 0u; });
  }
  engine->wait_all();
  EXPECT_EQ(after, kTags / 100);
  for (const VarRef& var : vars) ASSERT_EQ(var->version(), 1u);
}

// Time to push grows with n log n: eight times the tags take less than twenty times as long.
TEST(Tags, ShuffledOnesAreSortedQuickly) {
  const auto engine = make_threaded_engine({.workers = 1, .inline_cost_ns = 0});
  std::vector<VarRef> vars;
  for (int i = 0; i < 40'000; ++i) vars.push_back(engine->new_var());
  std::mt19937 random(2);
  const auto best_time = [&](size_t count) {
    auto best = std::chrono::nanoseconds::max();
    for (int round = 0; round < 9; ++round) {
      std::vector<Tag> tags;
      for (size_t i = 0; i < count; ++i) tags.push_back({vars[i].get(), Access::write});
      std::shuffle(tags.begin(), tags.end(), random);
      const auto begin = std::chrono::steady_clock::now();
      engine->push({}, tags, [](RunContext&) {});
      best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - begin);
      engine->wait_all();
    }
    return best;
  };
  const auto few = best_time(5000);
  EXPECT_LT(best_time(40'000), 35 * few);  // 64 times if every tag looked at every other, about 10 if not
}

}  // namespace
}  // namespace loomix::engine

// SPDX-License-Identifier: Apache-2.0
// Cost of ordering: tasks a second for closures of 32 bytes over 128 Vars, with inline execution off, so that each goes
// through the queues to a worker; and of pushing one task and waiting for it. Prints the median and the best of
// interleaved repetitions.  engine_bench [workers] [repetitions] [max_tasks]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "engine/engine.h"

namespace {

using namespace loomix;
using namespace loomix::engine;
using Clock = std::chrono::steady_clock;

constexpr int kVars = 128;
constexpr int kTasks = 1'000'000;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void spin_for(int64_t nanoseconds) {
  const auto end = Clock::now() + std::chrono::nanoseconds(nanoseconds);
  while (Clock::now() < end) {}
}

struct Case {
  const char* name;
  std::function<double()> run;  // the figure
  const char* unit;
  std::vector<double> results;
};

struct Cells {
  std::vector<VarRef> vars;
  std::vector<int64_t> values = std::vector<int64_t>(kVars * 8);  // a cache line each
  explicit Cells(Engine& engine) {
    for (int i = 0; i < kVars; ++i) vars.push_back(engine.new_var());
  }
  Var* var(uint32_t i) const { return vars[i % kVars].get(); }
  int64_t* value(uint32_t i) { return &values[(i % kVars) * 8]; }
};

template <class PushOne>
double rate(Engine& engine, int tasks, PushOne&& push_one) {
  const auto begin = Clock::now();
  for (int i = 0; i < tasks; ++i) push_one(static_cast<uint32_t>(i));
  engine.wait_all();
  return tasks / seconds_since(begin) / 1e6;
}

double independent(Engine& engine) {
  Cells cells(engine);
  return rate(engine, kTasks, [&](uint32_t i) {
    const Tag tag{cells.var(i), Access::write};
    engine.push({}, {&tag, 1},
                [p = cells.value(i), a = int64_t{i}, b = int64_t{1}, c = int64_t{2}](RunContext&) {
                  *p += a + b + c;
                });
  });
}

double independent_reads(Engine& engine) {
  Cells cells(engine);
  return rate(engine, kTasks, [&](uint32_t i) {
    const Tag tag{cells.var(i), Access::read};
    engine.push({}, {&tag, 1},
                [p = cells.value(i), a = int64_t{i}, b = int64_t{1}, c = int64_t{2}](RunContext&) {
                  if (*p + a + b + c < 0) std::abort();
                });
  });
}

double chain(Engine& engine) {
  Cells cells(engine);
  return rate(engine, kTasks, [&](uint32_t i) {
    const Tag tag{cells.var(0), Access::write};
    engine.push({}, {&tag, 1},
                [p = cells.value(0), a = int64_t{i}, b = int64_t{1}, c = int64_t{2}](RunContext&) {
                  *p += a + b + c;
                });
  });
}

double random_three(Engine& engine) {
  Cells cells(engine);
  std::minstd_rand random(1);
  std::vector<uint32_t> choice(3 * kTasks);
  for (auto& c : choice) c = static_cast<uint32_t>(random() >> 8);
  return rate(engine, kTasks, [&](uint32_t i) {
    const uint32_t x = choice[3 * i], y = choice[3 * i + 1], z = choice[3 * i + 2];
    const Tag tags[] = {
        {cells.var(x), Access::read}, {cells.var(y), Access::read}, {cells.var(z), Access::write}};
    engine.push({}, tags,
                [a = cells.value(x), b = cells.value(y), c = cells.value(z), k = int64_t{i}](RunContext&) {
                  *c = *a + *b + k;
                });
  });
}

double busy(Engine& engine) {  // independent tasks of 5 microseconds
  constexpr int kBusy = 20'000;
  Cells cells(engine);
  return rate(engine, kBusy, [&](uint32_t i) {
    const Tag tag{cells.var(i), Access::write};
    engine.push({}, {&tag, 1}, [](RunContext&) { spin_for(5000); });
  });
}

double push_and_wait(Engine& engine) {  // microseconds
  constexpr int kRounds = 200'000;
  Cells cells(engine);
  const auto begin = Clock::now();
  for (uint32_t i = 0; i < kRounds; ++i) {
    const Tag tag{cells.var(0), Access::write};
    engine.push({}, {&tag, 1},
                [p = cells.value(0), a = int64_t{i}, b = int64_t{1}, c = int64_t{2}](RunContext&) {
                  *p += a + b + c;
                });
    engine.wait(*cells.vars[0]);
  }
  return seconds_since(begin) / kRounds * 1e6;
}

double make_var(Engine& engine) {  // nanoseconds
  constexpr int kRounds = 1'000'000;
  const auto begin = Clock::now();
  for (int i = 0; i < kRounds; ++i) engine.new_var();
  return seconds_since(begin) / kRounds * 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  const int workers = argc > 1 ? std::atoi(argv[1]) : 2;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 7;
  EngineOptions queued{.workers = workers, .inline_cost_ns = 0, .help_while_waiting = false};
  if (argc > 3) queued.max_tasks = std::atoll(argv[3]);
  const auto engine = make_threaded_engine(queued);
  const auto one = make_threaded_engine({.workers = 1, .inline_cost_ns = 0, .help_while_waiting = false});
  const auto inlining = make_threaded_engine({.workers = workers});
  std::vector<Case> cases = {
      {"independent, one write", [&] { return independent(*engine); }, "M tasks/s", {}},
      {"independent, one read", [&] { return independent_reads(*engine); }, "M tasks/s", {}},
      {"one chain", [&] { return chain(*engine); }, "M tasks/s", {}},
      {"random, 2 reads + 1 write", [&] { return random_three(*engine); }, "M tasks/s", {}},
      {"5 us tasks", [&] { return busy(*engine); }, "M tasks/s", {}},
      {"5 us tasks, one worker", [&] { return busy(*one); }, "M tasks/s", {}},
      {"push and wait, inline", [&] { return push_and_wait(*inlining); }, "us", {}},
      {"push and wait, queued", [&] { return push_and_wait(*engine); }, "us", {}},
      {"new_var", [&] { return make_var(*engine); }, "ns", {}},
  };
  for (int i = 0; i < repetitions; ++i) {
    for (Case& c : cases) c.results.push_back(c.run());
  }
  for (Case& c : cases) {
    std::sort(c.results.begin(), c.results.end());
    fmt::print("{:28} median {:8.3f}  min {:8.3f}  max {:8.3f}  {}\n", c.name,
               c.results[c.results.size() / 2], c.results.front(), c.results.back(), c.unit);
  }
  const EngineStats stats = engine->stats();
  fmt::print("queued engine: {} pushed, {} inline, {} by waiters, by workers:", stats.pushed,
             stats.ran_inline, stats.ran_waiting);
  for (const int64_t ran : stats.ran_worker) fmt::print(" {}", ran);
  fmt::print("\n");
}

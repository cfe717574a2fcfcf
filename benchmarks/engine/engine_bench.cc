// SPDX-License-Identifier: Apache-2.0
// Cost of ordering: tasks a second for closures of 32 bytes, with inline execution off, so that each goes through the
// queues to a worker; then all again after a failed task whose array stays poisoned; and of pushing one task and waiting
// for it.  bench_engine [workers] [repetitions] [max_tasks]
// The first ones on MXNet's engine:  MXNET_CPU_WORKER_NTHREADS=2 bench_engine --mxnet LIBMXNET.SO [repetitions]
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include "benchmarks/engine/cases.h"
#include "benchmarks/engine/peer.h"
#include "engine/engine.h"

namespace {

using namespace loomix;
using namespace loomix::engine;
using namespace engine_cases;

void spin_for(int64_t nanoseconds) {
  const auto end = Clock::now() + std::chrono::nanoseconds(nanoseconds);
  while (Clock::now() < end) {}
}

// Vars and values that tasks work on, a cache line each.
struct Cells {
  Cells(Engine& engine, size_t count) : values(count * 8) {
    for (size_t i = 0; i < count; ++i) vars.push_back(engine.new_var());
  }
  Var* var(uint32_t i) const { return vars[i % vars.size()].get(); }
  int64_t* value(uint32_t i) { return &values[(i % vars.size()) * 8]; }
  std::vector<VarRef> vars;
  std::vector<int64_t> values;
};

template <class PushOne>
double rate_of(Engine& engine, int tasks, PushOne&& push_one) {
  return rate(tasks, push_one, [&] { engine.wait_all(); });
}

// One access a task, round the Vars of `cells`.
double one_tag(Engine& engine, Cells& cells, Access access) {
  return rate_of(engine, kTasks, [&](uint32_t i) {
    const Tag tag{cells.var(i), access};
    engine.push({}, {&tag, 1},
                [p = cells.value(i), a = int64_t{i}, b = int64_t{1}, c = int64_t{2}](RunContext&) {
                  if (*p + a + b + c < 0) std::abort();
                });
  });
}

double of_128_vars(Engine& engine, Access access) {
  Cells cells(engine, kVars);
  return one_tag(engine, cells, access);
}

double one_var_a_task(Engine& engine) {
  Cells cells(engine, kTasks);  // made before the timing
  return one_tag(engine, cells, Access::write);
}

double chain(Engine& engine) {
  Cells cells(engine, 1);
  return one_tag(engine, cells, Access::write);
}

double no_tags(Engine& engine) {
  return rate_of(engine, kTasks, [&](uint32_t i) {
    engine.push({}, {}, [a = int64_t{i}, b = int64_t{1}, c = int64_t{2}, d = int64_t{3}](RunContext&) {
      if (a + b + c + d < 0) std::abort();
    });
  });
}

double random_three(Engine& engine) {
  static const std::vector<uint32_t> choice = random_choice();
  Cells cells(engine, kVars);
  return rate_of(engine, kTasks, [&](uint32_t i) {
    const uint32_t x = choice[3 * i], y = choice[3 * i + 1], z = choice[3 * i + 2];
    const Tag tags[] = {
        {cells.var(x), Access::read}, {cells.var(y), Access::read}, {cells.var(z), Access::write}};
    engine.push({}, tags,
                [a = cells.value(x), b = cells.value(y), c = cells.value(z), k = int64_t{i}](RunContext&) {
                  *c = *a + *b + k;
                });
  });
}

double busy(Engine& engine) {  // tasks of 5 microseconds
  Cells cells(engine, kVars);
  return rate_of(engine, 20'000, [&](uint32_t i) {
    const Tag tag{cells.var(i), Access::write};
    engine.push({}, {&tag, 1}, [](RunContext&) { spin_for(5000); });
  });
}

double push_and_wait(Engine& engine) {  // microseconds
  constexpr int kRounds = 200'000;
  Cells cells(engine, 1);
  const auto begin = Clock::now();
  for (uint32_t i = 0; i < kRounds; ++i) {
    const Tag tag{cells.var(0), Access::write};
    engine.push({}, {&tag, 1}, [p = cells.value(0), a = int64_t{i}](RunContext&) { *p += a; });
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

// A failed task; its Var stays poisoned as long as it is held.
VarRef fail(Engine& engine) {
  const VarRef var = engine.new_var();
  const Tag tag{var.get(), Access::write};
  engine.push({}, {&tag, 1}, [](RunContext&) { throw std::exception(); });
  try {
    engine.wait_all();
  } catch (const std::exception&) {}
  return var;
}

void add_queue_cases(std::vector<Case>& cases, Engine& engine, const std::string& suffix) {
  cases.push_back(
      {"128 Vars, one write" + suffix, [&] { return of_128_vars(engine, Access::write); }, "M tasks/s", {}});
  cases.push_back(
      {"128 Vars, one read" + suffix, [&] { return of_128_vars(engine, Access::read); }, "M tasks/s", {}});
  cases.push_back(
      {"a Var a task, one write" + suffix, [&] { return one_var_a_task(engine); }, "M tasks/s", {}});
  cases.push_back({"no tags" + suffix, [&] { return no_tags(engine); }, "M tasks/s", {}});
  cases.push_back({"one chain" + suffix, [&] { return chain(engine); }, "M tasks/s", {}});
  cases.push_back(
      {"128 Vars, 2 reads + 1 write" + suffix, [&] { return random_three(engine); }, "M tasks/s", {}});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]) == "--mxnet") {
    std::vector<Case> cases = mxnet_cases(argv[2]);
    run_all(cases, argc > 3 ? std::atoi(argv[3]) : 7);
    return 0;
  }
  const int workers = argc > 1 ? std::atoi(argv[1]) : 2;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 7;
  EngineOptions queued{.workers = workers, .inline_cost_ns = 0, .help_while_waiting = false};
  if (argc > 3) queued.max_tasks = std::atoll(argv[3]);
  const auto engine = make_threaded_engine(queued);
  const auto failed = make_threaded_engine(queued);
  const auto one = make_threaded_engine({.workers = 1, .inline_cost_ns = 0, .help_while_waiting = false});
  const auto inlining = make_threaded_engine({.workers = workers});
  const VarRef poisoned = fail(*failed);
  std::vector<Case> cases;
  add_queue_cases(cases, *engine, "");
  add_queue_cases(cases, *failed, ", after an error");
  cases.push_back({"5 us tasks", [&] { return busy(*engine); }, "M tasks/s", {}});
  cases.push_back({"5 us tasks, one worker", [&] { return busy(*one); }, "M tasks/s", {}});
  cases.push_back({"push and wait, inline", [&] { return push_and_wait(*inlining); }, "us", {}});
  cases.push_back({"push and wait, queued", [&] { return push_and_wait(*engine); }, "us", {}});
  cases.push_back({"new_var", [&] { return make_var(*engine); }, "ns", {}});
  run_all(cases, repetitions);
  const EngineStats stats = engine->stats();
  fmt::print("queued engine: {} pushed, {} inline, {} by waiters, by workers:", stats.pushed,
             stats.ran_inline, stats.ran_waiting);
  for (const int64_t ran : stats.ran_worker) fmt::print(" {}", ran);
  fmt::print("\n");
}

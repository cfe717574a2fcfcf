// SPDX-License-Identifier: Apache-2.0
// Cost of small imperative work from C++, in nanoseconds a call: creating arrays, `a + b` on 2 elements with all of
// run_node, the same waited for, recorded, and with its gradient; prepared calls, as bound graphs push them, through the
// engine's queues, also after a failed task; and an operator of a bound chain. Prints median and best of repetitions.
//   run_node_bench [repetitions]
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "ndarray/copy.h"
#include "ops/table.h"
#include "symbol/autograd/tape.h"
#include "symbol/executor/bound_executor.h"
#include "symbol/executor/op_call.h"
#include "symbol/executor/run_node.h"

namespace {

using namespace loomix;
using Clock = std::chrono::steady_clock;
constexpr int kCalls = 200'000;

void measure(const char* name, int repetitions, int calls, const std::function<void(int)>& body) {
  std::vector<double> results;
  for (int i = 0; i < repetitions; ++i) {
    const auto begin = Clock::now();
    body(calls);
    results.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / calls);
  }
  std::sort(results.begin(), results.end());
  fmt::print("{:<50} {:8.1f} ns median {:8.1f} ns best\n", name, results[results.size() / 2], results[0]);
}

// Prepared additions on 128 arrays, pushed in turn to an engine that runs nothing inline.
void measure_calls(const char* name, int repetitions, const ops::OpTable& table, bool after_error) {
  constexpr size_t kArrays = 128;
  const auto engine = engine::make_threaded_engine({.inline_cost_ns = 0, .help_while_waiting = false});
  Runtime runtime(*engine, table);
  const ops::OpDef& add = table.at("elemwise_add");
  const Ref<const AttrsBase> attrs = table.parse(add, {});
  std::vector<NDArray> arrays;
  for (size_t i = 0; i < kArrays; ++i)
    arrays.push_back(zeros(*engine, Shape{2}, DType::float32, Device::cpu()));
  std::vector<Ref<OpCall>> calls;
  const ops::Req write = ops::Req::write;
  for (size_t i = 0; i < kArrays; ++i) {
    const NDArray* const in[] = {&arrays[i], &arrays[(i + 1) % kArrays]};
    calls.push_back(OpCall::make(runtime, {.op = add,
                                           .attrs = attrs,
                                           .in = in,
                                           .out = {&arrays[(i + 2) % kArrays], 1},
                                           .saved = {},
                                           .req = {&write, 1},
                                           .device = Device::cpu()}));
  }
  engine->wait_all();
  const NDArray broken(*engine, Shape{2}, DType::float32, Device::cpu());
  if (after_error)
    engine->poison(broken.var(), std::make_exception_ptr(ValueError("[benchmark] a failed task.")));
  measure(name, repetitions, kCalls, [&](int count) {
    for (int i = 0; i < count; ++i) calls[static_cast<size_t>(i) % kArrays]->push(runtime);
    try {
      engine->wait_all();
    } catch (const ValueError&) {}
  });
  engine->shutdown();
}

// x + y, and y added again and again, on two elements; bound, so that what remains is what a run of the graph costs.
void measure_chain(int repetitions, Runtime& runtime) {
  constexpr int kOperators = 1000;
  const Symbol x = Symbol::variable("x"), y = Symbol::variable("y");
  Symbol chain = x;
  for (int i = 0; i < kOperators; ++i) {
    const NamedSymbol inputs[] = {{"", chain}, {"", y}};
    chain = Symbol::create(runtime.table(), "elemwise_add", {}, inputs, fmt::format("add{}", i));
  }
  SimpleBindRequest wanted;
  wanted.shapes = {{"x", Shape{2}}, {"y", Shape{2}}};
  wanted.requests.assign(2, ops::Req::null);
  const auto executor = BoundExecutor::simple_bind(runtime, chain, Device::cpu(), wanted, {});
  measure("an operator of a bound chain of 1,000", repetitions, 200 * kOperators, [&](int calls) {
    for (int i = 0; i < calls / kOperators; ++i) executor->forward(RunMode::inference);
    runtime.engine().wait_all();
  });
}

// Operators on (4, 4) of which none can be one pass over memory with another one: joined into tasks, and each a task of its own.
void measure_unfusible(const char* name, int repetitions, Runtime& runtime, int bulk) {
  constexpr int kOperators = 1000;
  const Symbol weight = Symbol::variable("weight");
  Symbol chain = Symbol::variable("x");
  for (int i = 0; i < kOperators; ++i) {
    const std::string label = fmt::format("op{}", i);
    const NamedSymbol data{"", chain};
    const NamedSymbol both[] = {data, {"", weight}};
    switch (i % 4) {
      case 0:
        chain = Symbol::create(runtime.table(), "FullyConnected", {{"num_hidden", "4"}, {"no_bias", "True"}},
                               both, label);
        break;
      case 1: chain = Symbol::create(runtime.table(), "transpose", {}, {&data, 1}, label); break;
      case 2: chain = Symbol::create(runtime.table(), "reverse", {{"axis", "0"}}, {&data, 1}, label); break;
      default: chain = Symbol::create(runtime.table(), "softmax", {}, {&data, 1}, label); break;
    }
  }
  SimpleBindRequest wanted;
  wanted.shapes = {{"x", Shape{4, 4}}, {"weight", Shape{4, 4}}};
  wanted.requests.assign(2, ops::Req::null);
  BindOptions options;
  options.plan.bulk_inference = bulk;
  const auto executor = BoundExecutor::simple_bind(runtime, chain, Device::cpu(), wanted, options);
  measure(name, repetitions, 100 * kOperators, [&](int calls) {
    for (int i = 0; i < calls / kOperators; ++i) executor->forward(RunMode::inference);
    runtime.engine().wait_all();
  });
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 15;
  const auto engine = engine::make_threaded_engine();
  ops::OpTable table;
  ops::register_all(table);
  table.validate();
  Runtime runtime(*engine, table);
  const Shape shape{2};
  NDArray a = zeros(*engine, shape, DType::float32, Device::cpu());
  const NDArray b = zeros(*engine, shape, DType::float32, Device::cpu());
  const ops::OpDef& add = table.at("elemwise_add");
  const Ref<const AttrsBase> attrs = table.parse(add, {});
  const NDArray* const in[] = {&a, &b};

  measure("NDArray of 2 elements", repetitions, kCalls, [&](int calls) {
    for (int i = 0; i < calls; ++i) NDArray made(*engine, shape, DType::float32, Device::cpu());
  });
  measure("a + b pushed", repetitions, kCalls, [&](int calls) {
    for (int i = 0; i < calls; ++i) run_node(runtime, add, attrs, in);
    engine->wait_all();
  });
  measure("a + b pushed and waited for", repetitions, kCalls, [&](int calls) {
    for (int i = 0; i < calls; ++i) run_node(runtime, add, attrs, in)[0].wait_to_read();
  });
  const NDArray grad = zeros(*engine, shape, DType::float32, Device::cpu());
  NDArray* const variable = &a;
  const ops::Req write = ops::Req::write;
  autograd::mark_variables({&variable, 1}, {&grad, 1}, {&write, 1});
  measure("a + b recorded", repetitions, kCalls, [&](int calls) {
    const autograd::Scope scope(true, true);
    for (int i = 0; i < calls; ++i) run_node(runtime, add, attrs, in);
  });
  measure("100 additions, forward and backward", repetitions, 500, [&](int calls) {
    for (int i = 0; i < calls; ++i) {
      NDArray head = a;
      {
        const autograd::Scope scope(true, true);
        for (int k = 0; k < 100; ++k) {
          const NDArray* const operands[] = {&head, &b};
          head = run_node(runtime, add, attrs, operands)[0];
        }
      }
      autograd::backward(runtime, {&head, 1}, {}, {});
    }
    engine->wait_all();
  });
  measure_chain(repetitions, runtime);
  measure_unfusible("an operator of 1,000 that are not fused, one a task", repetitions, runtime, 1);
  measure_unfusible("an operator of 1,000 that are not fused, 64 a task", repetitions, runtime, 64);
  engine->shutdown();
  measure_calls("prepared additions on 128 arrays", repetitions, table, false);
  measure_calls("prepared additions on 128 arrays, after an error", repetitions, table, true);
  return 0;
}

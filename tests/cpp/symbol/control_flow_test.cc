// SPDX-License-Identifier: Apache-2.0
// Loops over subgraphs from C++: several executors on several threads at once, on every engine. What Python can reach is
// tested there.
#include "symbol/control_flow/control_flow.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "ndarray/copy.h"
#include "symbol/autograd/tape.h"
#include "symbol/executor/bound_executor.h"

namespace loomix {
namespace {

const ops::OpTable& table() {
  static const ops::OpTable* const made = [] {
    static ops::OpTable own;
    ops::register_all(own);
    autograd::register_operators(own);
    control_flow::register_operators(own);
    control_flow::register_gradients(own);
    own.validate();
    return &own;
  }();
  return *made;
}

Symbol op(const char* name, std::vector<NamedSymbol> inputs, const char* node) {
  return Symbol::create(table(), name, {}, inputs, node);
}

// The sums of x so far, each times w, and the last sum: over `depth` leading axes of x.
Symbol sums(int depth, const Symbol& x, const Symbol& total, const Symbol& w) {
  const Symbol item = Symbol::variable("item"), before = Symbol::variable("before"),
               factor = Symbol::variable("factor");
  Symbol body;
  if (depth > 1) {
    body = sums(depth - 1, item, before, factor);
  } else {
    const Symbol after = op("elemwise_add", {{"", item}, {"", before}}, "after");
    const Symbol both[] = {op("elemwise_mul", {{"", after}, {"", factor}}, "product"), after};
    body = Symbol::group(both);
  }
  const auto inputs = body.list_inputs();
  const auto place = [&](const char* name) {
    const auto found = std::find(inputs.begin(), inputs.end(), name);
    return "(" + std::to_string(found - inputs.begin()) + ",)";
  };
  const NamedSymbol given[] = {{"", x}, {"", total}, {"", w}};
  return Symbol::create(table(), "_foreach",
                        {{"num_args", "4"},
                         {"num_outputs", "2"},
                         {"num_out_data", "1"},
                         {"in_data_locs", place("item")},
                         {"in_state_locs", place("before")},
                         {"remain_locs", place("factor")}},
                        given, "loop" + std::to_string(depth), {&body, 1});
}

NDArray array_of(engine::Engine& engine, const Shape& shape, float first) {
  NDArray array(engine, shape, DType::float32, Device::cpu());
  std::vector<float> values(static_cast<size_t>(shape.size()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
  array.copy_from_host(values.data(), array.bytes());
  return array;
}

std::vector<float> values_of(const NDArray& array) {
  std::vector<float> values(static_cast<size_t>(array.size()));
  array.copy_to_host(values.data(), array.bytes());
  return values;
}

struct Bound {
  Bound(Runtime& runtime, int depth, const Shape& shape) {
    const Symbol symbol = sums(depth, Symbol::variable("x"), Symbol::variable("t"), Symbol::variable("w"));
    BoundArrays arrays;
    for (const Shape& each : {shape, Shape{1}, Shape{1}}) {
      arrays.arguments.push_back(array_of(runtime.engine(), each, 1));
      arrays.gradients.push_back(zeros(runtime.engine(), each, DType::float32, Device::cpu()));
      arrays.requests.push_back(ops::Req::write);
    }
    for (const NDArray& out : {array_of(runtime.engine(), shape, 1), array_of(runtime.engine(), {1}, 1)})
      heads.push_back(out);
    executor = BoundExecutor::bind(runtime, symbol, Device::cpu(), std::move(arrays));
  }
  std::vector<float> step() {
    executor->forward(RunMode::training);
    executor->backward(heads);
    std::vector<float> all = values_of(executor->outputs()[0]);
    for (const NDArray& gradient : executor->arrays().gradients) {
      for (float value : values_of(gradient)) all.push_back(value);
    }
    return all;
  }
  std::vector<NDArray> heads;
  Ref<BoundExecutor> executor;
};

TEST(ControlFlow, ALoopAndItsGradient) {
  const auto engine = engine::make_threaded_engine({.workers = 1});
  Runtime runtime(*engine, table());
  Bound bound(runtime, 1, {3, 1});
  // Sums 2, 4, 7 with heads 1, 2, 3 and 1 for the last sum; x = 1, 2, 3; t = w = 1.
  EXPECT_EQ(bound.step(), (std::vector<float>{2, 4, 7, 7, 6, 4, 7, 31}));
}

TEST(ControlFlow, ManyExecutorsOnManyThreads) {
  std::vector<float> expected;
  for (const int workers : {0, 1, 4}) {
    const auto engine = workers == 0 ? engine::make_naive_engine()
                                     : engine::make_threaded_engine({.workers = workers, .side_threads = 2});
    Runtime runtime(*engine, table());
    if (expected.empty()) expected = Bound(runtime, 3, {2, 3, 4, 1}).step();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        Bound bound(runtime, 3, {2, 3, 4, 1});
        for (int step = 0; step < 5; ++step) EXPECT_EQ(bound.step(), expected);
      });
    }
    for (std::thread& thread : threads) thread.join();
    engine->shutdown();
  }
}

TEST(ControlFlow, PushesRunAhead) {
  const auto engine = engine::make_threaded_engine({.workers = 2});
  Runtime runtime(*engine, table());
  Bound bound(runtime, 2, {4, 4, 1});
  const std::vector<float> expected = bound.step();
  for (int i = 0; i < 20; ++i) {
    bound.executor->forward(RunMode::training);
    bound.executor->backward(bound.heads);
  }
  EXPECT_EQ(bound.step(), expected);
}

}  // namespace
}  // namespace loomix

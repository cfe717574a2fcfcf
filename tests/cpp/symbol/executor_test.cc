// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/bound_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <future>
#include <random>
#include <thread>

#include "base/error.h"
#include "ndarray/copy.h"

namespace loomix {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Symbol op(const char* name, const TextPairs& attrs, std::vector<NamedSymbol> inputs,
          const std::string& node) {
  return Symbol::create(ops::builtin_table(), name, attrs, inputs, node);
}

NDArray array_of(engine::Engine& engine, const Shape& shape, const std::vector<float>& values) {
  NDArray array(engine, shape, DType::float32, Device::cpu());
  array.copy_from_host(values.data(), static_cast<int64_t>(values.size() * sizeof(float)));
  return array;
}

std::vector<float> values_of(const NDArray& array) {
  std::vector<float> values(array.size());
  array.copy_to_host(values.data(), array.bytes());
  return values;
}

struct Bench {
  explicit Bench(std::unique_ptr<engine::Engine> made)
      : engine(std::move(made)), runtime(*engine, ops::builtin_table()) {}
  static Bench threaded(int workers) {
    engine::EngineOptions options;
    options.workers = workers;
    options.inline_cost_ns = 0;  // everything goes through the queues
    return Bench(engine::make_threaded_engine(options));
  }
  static Bench naive() { return Bench(engine::make_naive_engine()); }

  // Fills arguments with small numbers that depend on their position.
  Ref<BoundExecutor> bind(const Symbol& symbol, const Shape& shape, ops::Req request,
                          const BindOptions& options = {}) {
    SimpleBindRequest wanted;
    for (const auto& name : symbol.list_arguments()) wanted.shapes.emplace_back(name, shape);
    wanted.requests.assign(wanted.shapes.size(), request);
    auto executor = BoundExecutor::simple_bind(runtime, symbol, Device::cpu(), wanted, options);
    fill(*executor, 0);
    return executor;
  }
  static void fill(BoundExecutor& executor, int step) {
    int position = step;
    for (const NDArray& argument : executor.arrays().arguments) {
      std::vector<float> values(argument.size());
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(((37 * i + 11 * static_cast<size_t>(position)) % 17)) / 32 - 0.25F;
      }
      ++position;
      NDArray(argument).copy_from_host(values.data(), argument.bytes());
    }
  }
  NDArray ones(const Shape& shape) { return array_of(*engine, shape, std::vector<float>(shape.size(), 1)); }

  std::unique_ptr<engine::Engine> engine;
  Runtime runtime;
};

TEST(Executor, ForwardAndBackward) {
  Bench bench = Bench::threaded(2);
  const Symbol x = Symbol::variable("x"), y = Symbol::variable("y");
  const Symbol z =
      op("elemwise_mul", {}, {{"", op("elemwise_add", {}, {{"", x}, {"", y}}, "s")}, {"", x}}, "z");
  auto executor = bench.bind(z, {2}, ops::Req::write);
  NDArray(executor->arrays().arguments[0]).copy_from_host(std::vector<float>{2, 3}.data(), 8);
  NDArray(executor->arrays().arguments[1]).copy_from_host(std::vector<float>{5, 7}.data(), 8);
  EXPECT_THAT(values_of(executor->forward(RunMode::inference)[0]), ElementsAre(14, 30));
  EXPECT_THROW(executor->backward({}), Error);
  executor->forward(RunMode::training);
  const NDArray head = bench.ones({2});
  executor->backward({&head, 1});
  EXPECT_THAT(values_of(executor->arrays().gradients[0]), ElementsAre(9, 13));
  EXPECT_THAT(values_of(executor->arrays().gradients[1]), ElementsAre(2, 3));
  const NDArray twice = array_of(*bench.engine, {2}, {2, 2});
  executor->backward({&twice, 1});
  EXPECT_THAT(values_of(executor->arrays().gradients[0]), ElementsAre(18, 26));
  EXPECT_THROW(executor->backward({&head, 1}, RunMode::inference), StateError);
  executor->forward(RunMode::training);
  EXPECT_THROW(executor->backward({}), ValueError);
  const NDArray wide = bench.ones({3});
  EXPECT_THROW(executor->backward({&wide, 1}), ShapeError);
}

TEST(Executor, GradientsAreAddedOrLeftOut) {
  Bench bench = Bench::threaded(2);
  const Symbol x = Symbol::variable("x"), y = Symbol::variable("y");
  const Symbol sum = op("elemwise_add", {}, {{"", x}, {"", y}}, "s");
  auto executor = bench.bind(sum, {2}, ops::Req::add);
  const NDArray head = array_of(*bench.engine, {2}, {1, 2});
  for (int i = 0; i < 3; ++i) {
    executor->forward(RunMode::training);
    executor->backward({&head, 1});
  }
  EXPECT_THAT(values_of(executor->arrays().gradients[0]), ElementsAre(3, 6));
  EXPECT_THAT(values_of(executor->arrays().gradients[1]), ElementsAre(3, 6));

  BoundArrays arrays = executor->arrays();
  arrays.requests = {ops::Req::null, ops::Req::write};
  arrays.gradients[0] = NDArray();
  auto other = BoundExecutor::bind(bench.runtime, sum, Device::cpu(), arrays);
  other->forward(RunMode::training);
  other->backward({&head, 1});
  EXPECT_THAT(values_of(other->arrays().gradients[1]), ElementsAre(1, 2));
}

TEST(Executor, WhatDoesNotDependOnAnArgumentHasGradientZero) {
  Bench bench = Bench::threaded(2);
  const Symbol x = Symbol::variable("x"), y = Symbol::variable("y");
  const Symbol net = op("elemwise_mul", {}, {{"", op("BlockGrad", {}, {{"", x}}, "b")}, {"", y}}, "net");
  auto executor = bench.bind(net, {2}, ops::Req::write);
  NDArray(executor->arrays().gradients[0]).copy_from_host(std::vector<float>{8, 8}.data(), 8);
  executor->forward(RunMode::training);
  const NDArray head = bench.ones({2});
  executor->backward({&head, 1});
  EXPECT_THAT(values_of(executor->arrays().gradients[0]), ElementsAre(0, 0));
}

TEST(Executor, OutputsMayBeVariablesAndEqual) {
  Bench bench = Bench::threaded(2);
  const Symbol x = Symbol::variable("x");
  const Symbol a = op("tanh", {}, {{"", x}}, "a"), b = op("tanh", {}, {{"", x}}, "b");
  const std::vector<Symbol> members = {x, a, b, a};
  auto executor = bench.bind(Symbol::group(members), {4}, ops::Req::write);
  const auto outputs = executor->forward(RunMode::training);
  EXPECT_EQ(values_of(outputs[1]), values_of(outputs[2]));
  EXPECT_EQ(values_of(outputs[1]), values_of(outputs[3]));
  EXPECT_EQ(values_of(outputs[0]), values_of(executor->arrays().arguments[0]));
  const std::vector<NDArray> heads(4, bench.ones({4}));
  executor->backward(heads);
  const auto t = values_of(outputs[1]), g = values_of(executor->arrays().gradients[0]);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(g[i], 1 + 3 * (1 - t[i] * t[i]), 1e-5);
}

TEST(Executor, WrongArraysAreNamed) {
  Bench bench = Bench::naive();
  const Symbol net =
      op("elemwise_add", {}, {{"", Symbol::variable("x")}, {"", Symbol::variable("y")}}, "sum");
  BoundArrays arrays;
  arrays.arguments = {bench.ones({2}), bench.ones({3})};
  arrays.gradients.resize(2);
  arrays.requests.assign(2, ops::Req::null);
  const auto bind = [&] { return BoundExecutor::bind(bench.runtime, net, Device::cpu(), arrays); };
  try {
    bind();
    ADD_FAILURE();
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'sum'"));
  }
  arrays.arguments[1] = bench.ones({2});
  bind()->forward(RunMode::inference);
  arrays.requests[1] = ops::Req::write;
  EXPECT_THROW(bind(), ValueError);
  arrays.gradients[1] = bench.ones({5});
  EXPECT_THROW(bind(), ShapeError);
  arrays.arguments.pop_back();
  EXPECT_THROW(bind(), ValueError);
  const Symbol unknown =
      Symbol::from_json(ops::builtin_table(), R"({"nodes": [{"op": "null", "name": "x", "inputs": []},
      {"op": "no_such_op", "name": "n", "inputs": [[0, 0, 0]]}], "arg_nodes": [0], "heads": [[1, 0, 0]]})");
  arrays.gradients.resize(1);
  arrays.requests.resize(1);
  try {
    BoundExecutor::bind(bench.runtime, unknown, Device::cpu(), arrays);
    ADD_FAILURE();
  } catch (const NotImplementedError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no_such_op"));
  }
}

TEST(Executor, ReshapeSharesMemory) {
  Bench bench = Bench::threaded(2);
  const Symbol net = op("tanh", {}, {{"", Symbol::variable("x")}}, "t");
  auto executor = bench.bind(net, {4, 3}, ops::Req::null);
  using Shapes = std::vector<std::pair<std::string, Shape>>;
  auto smaller = executor->reshape(Shapes{{"x", {2, 3}}}, {});
  EXPECT_EQ(&smaller->arrays().arguments[0].var(), &executor->arrays().arguments[0].var());
  EXPECT_EQ(smaller->forward(RunMode::inference)[0].shape(), (Shape{2, 3}));
  EXPECT_THROW(executor->reshape(Shapes{{"x", {5, 3}}}, {}), ShapeError);
  EXPECT_EQ(executor->reshape(Shapes{{"x", {5, 3}}}, {.partial = false, .grow = true})->outputs()[0].shape(),
            (Shape{5, 3}));
}

TEST(Executor, MonitorSeesEveryValueLater) {
  Bench bench = Bench::threaded(2);
  Symbol x = Symbol::variable("x");
  for (int i = 0; i < 4; ++i) x = op("tanh", {}, {{"", x}}, "t" + std::to_string(i));
  auto executor = bench.bind(x, {4}, ops::Req::null);
  std::vector<std::pair<std::string, NDArray>> seen;
  executor->set_monitor({[&](const std::string& name, const std::string&, const NDArray& array) {
    seen.emplace_back(name, array);
  }});
  executor->forward(RunMode::inference);
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].first, "t0_output");
  const auto first = values_of(seen[0].second), input = values_of(executor->arrays().arguments[0]);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(first[i], std::tanh(input[i]), 1e-6);
}

TEST(Executor, ConstantsAreComputedOnceAndNothingIsDoneTwice) {
  Bench bench = Bench::threaded(2);
  const Symbol x = Symbol::variable("x");
  Symbol scale = op("_full", {{"shape", "(4,)"}, {"value", "3"}}, {}, "three");
  scale = op("sqrt", {}, {{"", op("elemwise_mul", {}, {{"", scale}, {"", scale}}, "nine")}}, "root");
  Symbol net = op("elemwise_mul", {},
                  {{"", op("_mul_scalar", {{"scalar", "1"}}, {{"", x}}, "same")}, {"", scale}}, "net");
  net = op("elemwise_add", {}, {{"", net}, {"", op("zeros_like", {}, {{"", x}}, "zeros")}}, "sum");
  net = op("tanh", {}, {{"", net}}, "t");
  auto executor = bench.bind(net, {4}, ops::Req::write);
  const auto count = [&](RunMode mode) {
    const std::string text = executor->explain(mode);
    return std::atoi(text.c_str() + text.find("nodes, ") + 7);
  };
  EXPECT_EQ(count(RunMode::inference), 1);  // net and t, fused
  EXPECT_EQ(count(RunMode::training), 2);
  const NDArray head = bench.ones({4});
  const auto input = values_of(executor->arrays().arguments[0]);
  for (int round = 0; round < 3; ++round) {
    const auto out = values_of(executor->forward(RunMode::training)[0]);
    executor->backward({&head, 1});
    const auto grad = values_of(executor->arrays().gradients[0]);
    for (int i = 0; i < 4; ++i) {
      EXPECT_NEAR(out[i], std::tanh(3 * input[i]), 1e-6);
      EXPECT_NEAR(grad[i], 3 * (1 - out[i] * out[i]), 1e-5);
    }
  }
  std::vector<std::string> seen;
  executor->set_monitor(
      {[&](const std::string& name, const std::string&, const NDArray&) { seen.push_back(name); }});
  executor->forward(RunMode::inference);
  EXPECT_THAT(seen, ::testing::IsSupersetOf({"three_output", "same_output", "zeros_output", "t_output"}));
}

TEST(Executor, OutputsStayEvenIfTheyAreInputs) {
  Bench bench = Bench::threaded(2);
  const Symbol x = Symbol::variable("x");
  const Symbol parts[] = {op("_copy", {}, {{"", x}}, "a"),
                          op("_plus_scalar", {{"scalar", "0"}}, {{"", x}}, "b"),
                          op("_ones", {{"shape", "(4,)"}}, {}, "one")};
  auto executor = bench.bind(Symbol::group(parts), {4}, ops::Req::null);
  const auto out = executor->forward(RunMode::inference);
  EXPECT_EQ(values_of(out[0]), values_of(executor->arrays().arguments[0]));
  EXPECT_EQ(values_of(out[1]), values_of(out[0]));
  EXPECT_EQ(values_of(out[2]), std::vector<float>(4, 1));
  EXPECT_FALSE(out[0].overlaps(out[1]) || out[0].overlaps(executor->arrays().arguments[0]));
}

TEST(Executor, WhatAnotherExecutorHasOverwrittenIsComputedAgain) {
  Bench bench = Bench::threaded(2);
  Symbol x = Symbol::variable("x");
  for (int i = 0; i < 4; ++i) x = op("tanh", {}, {{"", x}}, "t" + std::to_string(i));
  auto first = bench.bind(x, {64}, ops::Req::write);
  auto second = bench.bind(x, {64}, ops::Req::write, {.plan = {}, .groups = {}, .shared = first});
  const NDArray head = bench.ones({64});
  first->forward(RunMode::training);
  first->backward({&head, 1});
  const auto want = values_of(first->arrays().gradients[0]);
  second->forward(RunMode::training);
  second->backward({&head, 1});
  EXPECT_EQ(values_of(second->arrays().gradients[0]), want);
  first->forward(RunMode::training);
  second->forward(RunMode::training);
  fill(first->arrays().gradients[0], 0);
  first->backward({&head, 1});
  EXPECT_EQ(values_of(first->arrays().gradients[0]), want);
  second->backward({&head, 1});
  EXPECT_EQ(values_of(second->arrays().gradients[0]), want);
}

TEST(Executor, BackwardOnlyWhereItIsWanted) {
  Bench bench = Bench::threaded(2);
  auto executor = bench.bind(op("tanh", {}, {{"", Symbol::variable("x")}}, "t"), {4}, ops::Req::null);
  executor->backward();
  executor->forward(RunMode::inference);
  executor->backward({}, RunMode::training);
}

// The first task of the backward pass reads of the arena's values only a shape, so that nothing but the gate keeps it from
// overwriting what the run before still needs.
TEST(Executor, AStepThatReadsOnlyShapesWaitsForTheRunBefore) {
  Bench bench = Bench::threaded(4);
  Symbol net = op("elemwise_mul", {}, {{"", Symbol::variable("x")}, {"", Symbol::variable("y")}}, "product");
  for (int i = 0; i < 2; ++i)
    net = op("_mul_scalar", {{"scalar", "0.5"}}, {{"", net}}, "half" + std::to_string(i));
  net = op("Reshape", {{"shape", "(4, 4)"}}, {{"", net}}, "square");
  PlanOptions plan;
  plan.inplace = plan.fuse = false;
  BoundArrays arrays;
  arrays.arguments = {bench.ones({16}), bench.ones({16})};
  arrays.gradients = {zeros(*bench.engine, {16}, DType::float32, Device::cpu()), NDArray()};
  arrays.requests = {ops::Req::add, ops::Req::null};
  auto executor = BoundExecutor::bind(bench.runtime, net, Device::cpu(), arrays,
                                      {.plan = plan, .groups = {}, .shared = {}});
  const memplan::Plan& memory = executor->plan(RunMode::training).memory;
  ASSERT_EQ(memory.naive(), 7 * 64) << "six values, and what is added to the gradient";
  ASSERT_EQ(memory.bytes(), 4 * 64) << "the gradients of 'square' and 'half0' should share memory";

  const NDArray first = bench.ones({4, 4});
  const NDArray second = array_of(*bench.engine, {4, 4}, std::vector<float>(16, 100));
  executor->forward(RunMode::training);
  executor->forward(RunMode::training)[0].wait_to_read();
  std::promise<void> release;  // what the last step of the first run waits for
  const engine::Tag tag{&arrays.arguments[1].var(), engine::Access::use};
  bench.engine->push({}, {&tag, 1},
                     [done = release.get_future().share()](engine::RunContext&) { done.wait(); });
  executor->backward({&first, 1});
  executor->forward(RunMode::training);
  executor->backward({&second, 1});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // time for a step that does not wait
  release.set_value();
  EXPECT_THAT(values_of(arrays.gradients[0]), Each((1 + 100) * 0.25F));
}

// A random graph of elementwise operators and reshapes over arrays of one size.
Symbol random_symbol(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Symbol> values;
  for (int i = 0; i < 3; ++i) values.push_back(Symbol::variable("x" + std::to_string(i)));
  const int count = 5 + static_cast<int>(random() % 40);
  for (int i = 0; i < count; ++i) {
    const size_t reach = std::min<size_t>(values.size(), 2 + random() % 8);
    const auto pick = [&] { return values[values.size() - 1 - random() % reach]; };
    const std::string name = "n" + std::to_string(i);
    switch (random() % 6) {
      case 0: values.push_back(op("tanh", {}, {{"", pick()}}, name)); break;
      case 1: values.push_back(op("elemwise_mul", {}, {{"", pick()}, {"", pick()}}, name)); break;
      case 2: values.push_back(op("_mul_scalar", {{"scalar", "0.5"}}, {{"", pick()}}, name)); break;
      case 3: values.push_back(op("Reshape", {{"shape", "(8, 32)"}}, {{"", pick()}}, name)); break;
      case 4: values.push_back(op("add_n", {}, {{"", pick()}, {"", pick()}, {"", pick()}}, name)); break;
      default: values.push_back(op("elemwise_add", {}, {{"", pick()}, {"", pick()}}, name));
    }
  }
  std::vector<Symbol> heads = {values.back(), values[values.size() - 2]};
  return Symbol::group(heads);
}

// Passes in usual and unusual orders, pushed back to back, so that runs overlap as far as the arena's gate lets them.
std::vector<float> train(Bench& bench, const Symbol& symbol, const PlanOptions& plan, ops::Req request) {
  auto executor = bench.bind(symbol, {8, 32}, request, {.plan = plan, .groups = {}, .shared = {}});
  const std::vector<NDArray> heads(2, bench.ones({8, 32}));
  std::vector<float> result;
  for (int step = 0; step < 6; ++step) {
    if (step > 0) executor->forward(step % 3 == 2 ? RunMode::inference : RunMode::training);
    if (step != 2) executor->backward(heads);
    if (step % 2 == 1) executor->backward(heads);
  }
  for (const NDArray& array : executor->outputs()) {
    for (float value : values_of(array)) result.push_back(value);
  }
  for (const NDArray& array : executor->arrays().gradients) {
    for (float value : values_of(array)) result.push_back(value);
  }
  return result;
}

TEST(Executor, RandomPlansUnderEightWorkersEqualTheNaiveEngine) {
  Bench naive = Bench::naive();
  Bench threaded = Bench::threaded(8);
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Symbol symbol = random_symbol(seed);
    const ops::Req request = seed % 2 ? ops::Req::add : ops::Req::write;
    const auto want = train(naive, symbol, {.inplace = false, .co_share = false}, request);
    for (bool inplace : {false, true}) {
      for (auto ordering : {memplan::Ordering::keep, memplan::Ordering::balance, memplan::Ordering::extend}) {
        PlanOptions plan;
        plan.inplace = inplace;
        plan.co_share = true;
        plan.ordering = ordering;
        plan.poison = true;
        plan.fuse = seed % 4 < 2;  // else most steps are short ones, of which several are one task
        const auto got = train(threaded, symbol, plan, request);
        ASSERT_EQ(got.size(), want.size());
        for (size_t i = 0; i < got.size(); ++i) {
          ASSERT_EQ(got[i], want[i]) << "element " << i << ", inplace " << inplace << ", ordering "
                                     << static_cast<int>(ordering);
        }
        ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0);
      }
    }
  }
}

// Passes pushed from inside tasks. Between the passes, tasks change an argument and a gradient that they `use`. One Var,
// which the tasks use too, keeps their order.
std::vector<float> train_in_tasks(Bench& bench, const Symbol& symbol, ops::Req request, bool one_task) {
  bench.runtime.generators().seed_all(1);
  PlanOptions plan;
  plan.poison = true;
  plan.fuse = request == ops::Req::add;
  auto executor = bench.bind(symbol, {8, 32}, request, {.plan = plan, .groups = {}, .shared = {}});
  const std::vector<NDArray> heads(2, bench.ones({8, 32}));
  const auto change = [&](const NDArray& array) {
    const engine::Tag tag{&array.var(), engine::Access::use};
    bench.engine->push({}, {&tag, 1}, [array](engine::RunContext&) {
      auto* const items = array.view().mutable_as<float>();
      items[3] = 0.5F * items[3] + 0.125F;
    });
  };
  const auto pass = [&](int step) {
    executor->forward(step % 3 == 2 ? RunMode::inference : RunMode::training);
    if (step % 3 != 2) executor->backward(heads);
    const auto at = static_cast<size_t>(step) % executor->arrays().arguments.size();
    change(executor->arrays().arguments[at]);
    change(executor->arrays().gradients[at]);
  };
  constexpr int kSteps = 6;
  const engine::VarRef order = bench.engine->new_var();
  const engine::Tag tag{order.get(), engine::Access::use};
  for (int step = 0; step < (one_task ? 1 : kSteps); ++step) {
    bench.engine->push({}, {&tag, 1}, [&pass, step, one_task](engine::RunContext&) {
      for (int i = step; i < (one_task ? kSteps : step + 1); ++i) pass(i);
    });
  }
  bench.engine->wait_all();
  std::vector<float> result;
  for (const std::span<const NDArray> arrays :
       {executor->outputs(), std::span<const NDArray>(executor->arrays().gradients)}) {
    for (const NDArray& array : arrays) {
      for (float value : values_of(array)) result.push_back(value);
    }
  }
  return result;
}

TEST(Executor, RandomGraphsPushedFromTasksEqualTheNaiveEngine) {
  Bench naive = Bench::naive();
  Bench threaded = Bench::threaded(8);
  for (uint32_t seed = 100; seed < 140; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Symbol graph = random_symbol(seed);
    const Symbol heads[] = {op("Dropout", {{"p", "0.5"}}, {{"", graph[0]}}, "dropout"), graph[1]};
    const Symbol symbol = Symbol::group(heads);
    const ops::Req request = seed % 2 ? ops::Req::add : ops::Req::write;
    for (bool one_task : {false, true}) {
      EXPECT_EQ(train_in_tasks(threaded, symbol, request, one_task),
                train_in_tasks(naive, symbol, request, one_task));
    }
  }
}

// Of 2 MiB, which are not copied.
TEST(Executor, LargeHeadGradientsAreReadWhereTheyAre) {
  Bench bench = Bench::threaded(2);
  constexpr int64_t kSize = 1 << 19;
  const auto of = [&](float value) {
    return array_of(*bench.engine, {kSize}, std::vector<float>(static_cast<size_t>(kSize), value));
  };
  const Symbol product =
      op("elemwise_mul", {}, {{"", Symbol::variable("x")}, {"", Symbol::variable("y")}}, "product");
  auto executor = bench.bind(product, {kSize}, ops::Req::write);
  copy(of(3), executor->arrays().arguments[0]);
  copy(of(5), executor->arrays().arguments[1]);
  const NDArray first = of(2), second = of(4);
  const auto check = [&](const NDArray& head, float value) {
    executor->forward(RunMode::training);
    executor->backward({&head, 1});
    EXPECT_THAT(values_of(executor->arrays().gradients[0]), Each(5 * value));
    EXPECT_THAT(values_of(executor->arrays().gradients[1]), Each(3 * value));
  };
  check(first, 2);
  check(second, 4);
  EXPECT_THAT(values_of(first), Each(2)) << "it is the caller's";
  copy(of(6), first);
  check(first, 6);
  check(executor->arrays().gradients[0], 30);  // which the pass writes
}

TEST(Executor, PlanSavesMemoryAndSaysHowMuch) {
  Bench bench = Bench::naive();
  Symbol x = Symbol::variable("x");
  for (int i = 0; i < 10; ++i) x = op("softmax", {}, {{"", x}}, "s" + std::to_string(i));
  auto executor = bench.bind(x, {1024}, ops::Req::null);
  const memplan::Plan& plan = executor->plan(RunMode::inference).memory;
  EXPECT_EQ(plan.naive(), 9 * 4096);
  EXPECT_LE(plan.bytes(), 2 * 4096);
  EXPECT_GE(plan.bytes(), plan.lower_bound());
  EXPECT_THAT(executor->explain(RunMode::inference), HasSubstr("lower bound"));
}

}  // namespace
}  // namespace loomix

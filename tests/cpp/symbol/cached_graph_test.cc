// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/cached_graph.h"

#include <gtest/gtest.h>

#include "symbol/symbol.h"
#include "tests/cpp/symbol/run_fixture.h"

namespace loomix {
namespace {

using Floats = std::vector<float>;
using autograd::Scope;

class CachedGraphTest : public testing_run::RunTest {
 protected:
  static Symbol apply(std::string_view op, std::initializer_list<Symbol> in, const std::string& name) {
    std::vector<NamedSymbol> inputs;
    for (const Symbol& symbol : in) inputs.push_back({"", symbol});
    return Symbol::create(table(), op, {}, inputs, name);
  }
  // (x * w)^2 * x, so that the gradients need the inputs and what is between.
  Ref<CachedGraph> make() {
    const Symbol x = Symbol::variable("x"), w = Symbol::variable("w");
    const Symbol product = apply("elemwise_mul", {x, w}, "product");
    const Symbol square = apply("elemwise_mul", {product, product}, "square");
    PlanOptions plan;
    plan.poison = true;
    return CachedGraph::make(runtime_, apply("elemwise_mul", {square, x}, "out"), "net", plan);
  }
  static NDArray run(CachedGraph& graph, const NDArray& x, const NDArray& w) {
    const std::vector<NDArray> inputs = {x, w};
    return graph.call(inputs)[0];
  }
};

TEST_F(CachedGraphTest, EachCallHasOutputsOfItsOwn) {
  const auto graph = make();
  const NDArray w = array({2}, {1, 2});
  const NDArray first = run(*graph, array({2}, {1, 2}), w);
  const NDArray second = run(*graph, array({2}, {3, 4}), w);
  EXPECT_EQ(values(first), (Floats{1, 32}));
  EXPECT_EQ(values(second), (Floats{27, 256}));
  EXPECT_EQ(graph->num_executors(), 1u) << "the second call used the executor of the first";
  run(*graph, array({3}, {1, 1, 1}), array({3}, {1, 1, 1}));
  EXPECT_EQ(graph->num_signatures(), 2u);
}

TEST_F(CachedGraphTest, SeveralCallsMayWaitForTheirGradients) {
  const auto graph = make();
  NDArray w = array({2}, {1, 2});
  const NDArray grad = attach(w);
  NDArray sum;
  for (int round = 0; round < 2; ++round) {
    {
      const Scope recording(true, true);
      sum = call("elemwise_add", {run(*graph, array({2}, {1, 2}), w), run(*graph, array({2}, {3, 4}), w)});
    }
    backward(sum);
    EXPECT_EQ(values(grad), (Floats{2 * 1 + 2 * 27, 4 * 8 + 4 * 64})) << "2 w x^3 of both";
    sum = NDArray();
  }
  EXPECT_EQ(graph->num_executors(), 2u) << "the second round used those of the first";
}

TEST_F(CachedGraphTest, CallsFeedEachOther) {
  const auto graph = make();
  NDArray x = array({1}, {2}), w = array({1}, {1});
  const NDArray gx = attach(x), gw = attach(w);
  NDArray y;
  {
    const Scope recording(true, true);
    y = run(*graph, run(*graph, x, w), w);
  }
  EXPECT_EQ(values(y), (Floats{512}));
  backward(y);
  EXPECT_EQ(values(gx), (Floats{9 * 256})) << "of x^9 w^8";
  EXPECT_EQ(values(gw), (Floats{8 * 512}));
}

TEST_F(CachedGraphTest, GradientsAreAddedWhereThatIsAsked) {
  const auto graph = make();
  NDArray w = array({1}, {3});
  const NDArray grad = attach(w, ops::Req::add);
  for (int i = 0; i < 3; ++i) {
    NDArray y;
    {
      const Scope recording(true, true);
      y = run(*graph, array({1}, {1}), w);
    }
    backward(y);
  }
  EXPECT_EQ(values(grad), (Floats{18}));
}

TEST_F(CachedGraphTest, TheTapeMayBeUsedTwice) {
  const auto graph = make();
  NDArray w = array({1}, {3});
  const NDArray grad = attach(w);
  NDArray y, z;
  {
    const Scope recording(true, true);
    y = run(*graph, array({1}, {2}), w);
    z = call("elemwise_mul", {y, y});
  }
  for (int i = 0; i < 3; ++i) {
    fill(grad, 0);
    backward(z, {.retain_graph = i < 2});
    EXPECT_EQ(values(grad), (Floats{4 * 27 * 64})) << "of x^6 w^4, " << i;
  }
  EXPECT_EQ(values(y), (Floats{72}));
}

TEST_F(CachedGraphTest, OverwrittenInputsAreNoticed) {
  const auto graph = make();
  NDArray x = array({1}, {2}), w = array({1}, {3});
  attach(w);
  NDArray y;
  {
    const Scope recording(true, true);
    y = run(*graph, x, w);
  }
  fill(x, 7);
  try {
    backward(y);
    FAIL() << "expected an error";
  } catch (const StateError& error) {
    EXPECT_NE(std::string(error.what()).find("input 'x'"), std::string::npos) << error.what();
  }
}

TEST_F(CachedGraphTest, OverwrittenOutputsAreNoticed) {
  const Symbol x = Symbol::variable("x");
  const auto graph = CachedGraph::make(runtime_, apply("tanh", {x}, "out"), "net");
  NDArray in = array({1}, {2});
  const NDArray grad = attach(in);
  NDArray y;
  {
    const Scope recording(true, true);
    y = graph->call({&in, 1})[0];
  }
  fill(y.detach(), 7);
  try {
    backward(y);
    FAIL() << "expected an error";
  } catch (const StateError& error) {
    EXPECT_NE(std::string(error.what()).find("output 0"), std::string::npos) << error.what();
  }
}

TEST_F(CachedGraphTest, OutputsThatNoGradientNeedsMayBeOverwritten) {
  const auto graph = make();
  NDArray w = array({1}, {3});
  const NDArray grad = attach(w);
  NDArray y;
  {
    const Scope recording(true, true);
    y = run(*graph, array({1}, {2}), w);
  }
  fill(y.detach(), 7);
  backward(y);
  EXPECT_EQ(values(grad), (Floats{2 * 3 * 8}));
}

// The executor of the first call is free, and its outputs are what the second call is given.
TEST_F(CachedGraphTest, AnOutputMayBeAnInputOfTheNextCall) {
  const auto graph = make();
  const NDArray one = array({1}, {1}), two = array({1}, {2});
  const NDArray first = run(*graph, two, one);
  const NDArray second = run(*graph, first, one);
  const NDArray third = run(*graph, one, first);
  const NDArray fourth = run(*graph, third, third);
  EXPECT_EQ(values(first), (Floats{8}));
  EXPECT_EQ(values(second), (Floats{512}));
  EXPECT_EQ(values(third), (Floats{64}));
  EXPECT_EQ(values(fourth), (Floats{64.0f * 64 * 64 * 64 * 64}));
  EXPECT_EQ(graph->num_executors(), 1u);
}

TEST_F(CachedGraphTest, AnEarlierOutputMayBeAnInputOfARecordedCall) {
  const auto graph = make();
  NDArray w = array({1}, {1});
  const NDArray grad = attach(w);
  NDArray state = array({1}, {2});
  for (const float x : {2.0f, 8.0f, 512.0f}) {
    const NDArray before = state;
    NDArray y;
    {
      const Scope recording(true, true);
      y = run(*graph, before, w);
    }
    backward(y);
    state = y.detach();
    EXPECT_EQ(values(grad), (Floats{2 * x * x * x}));
    EXPECT_EQ(values(before), (Floats{x}));
  }
  EXPECT_EQ(graph->num_executors(), 1u);
}

TEST_F(CachedGraphTest, HeadGradientsOfEarlierCallsKeepTheirValues) {
  const auto graph = make();
  NDArray w = array({2}, {1, 1});
  const NDArray grad = attach(w), head = array({2}, {1, 2});
  const NDArray other = cast(array({2}, {3, 4}), DType::float64);
  for (const NDArray& given : {head, other}) {
    NDArray y;
    {
      const Scope recording(true, true);
      y = run(*graph, array({2}, {1, 1}), w);
    }
    autograd::backward(runtime_, {&y, 1}, {&given, 1}, {});
  }
  EXPECT_EQ(values(grad), (Floats{6, 8}));
  EXPECT_EQ(values(head), (Floats{1, 2}));
}

TEST_F(CachedGraphTest, GradientsOfGradientsAreRefused) {
  const auto graph = make();
  NDArray w = array({1}, {3});
  attach(w);
  NDArray y;
  {
    const Scope recording(true, true);
    y = run(*graph, array({1}, {2}), w);
  }
  EXPECT_THROW(autograd::grad(runtime_, {&y, 1}, {&w, 1}, {}, {.create_graph = true}), NotImplementedError);
}

TEST_F(CachedGraphTest, OutputsThatAreInputsAreCopies) {
  const Symbol x = Symbol::variable("x");
  const auto graph = CachedGraph::make(runtime_, Symbol::group(std::vector<Symbol>{x, x}), "identity");
  const NDArray in = array({1}, {2});
  const auto out = graph->call({&in, 1});
  fill(in, 5);
  EXPECT_EQ(values(out[0]), (Floats{2}));
  EXPECT_EQ(values(out[1]), (Floats{2}));
}

TEST_F(CachedGraphTest, InputsThatAreViewedCanBeReplaced) {
  const Symbol x = Symbol::variable("x");
  const NamedSymbol input{"", x};
  const Symbol flat = Symbol::create(table(), "Flatten", {}, {&input, 1}, "flat");
  const auto graph = CachedGraph::make(runtime_, apply("elemwise_add", {flat, flat}, "sum"), "views");
  for (float value : {1.0f, 2.0f, 3.0f}) {
    const NDArray in = array({1, 2, 1}, {value, value + 1});
    EXPECT_EQ(values(graph->call({&in, 1})[0]), (Floats{2 * value, 2 * value + 2}));
  }
}

}  // namespace
}  // namespace loomix

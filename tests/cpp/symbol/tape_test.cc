// SPDX-License-Identifier: Apache-2.0
#include "symbol/autograd/tape.h"

#include <gtest/gtest.h>

#include <string>

#include "symbol/symbol.h"
#include "tests/cpp/symbol/run_fixture.h"

namespace loomix {
namespace {

using Floats = std::vector<float>;
using autograd::Scope;

class TapeTest : public testing_run::RunTest {};

TEST_F(TapeTest, DifferentiatesAChain) {
  NDArray x = array({3}, {1, 2, 3});
  const NDArray grad = attach(x);
  NDArray y;
  {
    const Scope recording(true, true);
    y = call("elemwise_mul", {call("elemwise_mul", {x, x}), x});
  }
  backward(y);
  EXPECT_EQ(values(grad), (Floats{3, 12, 27}));
  EXPECT_TRUE(autograd::gradient_of(x).storage_ref() == grad.storage_ref());
  EXPECT_FALSE(autograd::is_recording());
}

TEST_F(TapeTest, RecordsOnlyWhereAsked) {
  NDArray x = array({1}, {2});
  attach(x);
  EXPECT_FALSE(call("elemwise_mul", {x, x}).tape()) << "not recording";
  const Scope recording(true, true);
  EXPECT_FALSE(call("elemwise_mul", {array({1}, {1}), array({1}, {1})}).tape()) << "no variable";
  EXPECT_FALSE(call("elemwise_mul", {x.detach(), x.detach()}).tape()) << "detached";
  {
    const Scope pause(false, false);
    EXPECT_FALSE(call("elemwise_mul", {x, x}).tape()) << "paused";
  }
  EXPECT_TRUE(call("elemwise_mul", {x, x}).tape());
}

TEST_F(TapeTest, RequestsWriteAddAndNull) {
  NDArray a = array({1}, {2});
  NDArray b = array({1}, {3});
  NDArray c = array({1}, {4});
  const NDArray ga = attach(a);
  const NDArray gb = attach(b, ops::Req::add);
  const NDArray gc = attach(c, ops::Req::null);
  for (int i = 0; i < 3; ++i) {
    NDArray y;
    {
      const Scope recording(true, true);
      y = call("elemwise_mul", {call("elemwise_mul", {a, b}), c});
    }
    backward(y);
  }
  EXPECT_EQ(values(ga), Floats{12});
  EXPECT_EQ(values(gb), Floats{24});
  EXPECT_EQ(values(gc), Floats{0});
}

TEST_F(TapeTest, AVariableUsedTwiceGetsTheSum) {
  NDArray x = array({2}, {1, 2});
  const NDArray grad = attach(x, ops::Req::add);
  fill(grad, 100);
  NDArray y;
  {
    const Scope recording(true, true);
    y = call("elemwise_add", {x, call("elemwise_add", {x, x})});
  }
  backward(y);
  EXPECT_EQ(values(grad), (Floats{103, 103}));
}

TEST_F(TapeTest, HeadGradientsAreUsed) {
  NDArray x = array({2}, {1, 2});
  const NDArray grad = attach(x);
  NDArray y;
  {
    const Scope recording(true, true);
    y = call("elemwise_mul", {x, x});
  }
  const NDArray head_grad = array({2}, {10, 100});
  autograd::backward(runtime_, {&y, 1}, {&head_grad, 1}, {});
  EXPECT_EQ(values(grad), (Floats{20, 400}));
  const NDArray wrong = array({1}, {1});
  EXPECT_THROW(autograd::backward(runtime_, {&y, 1}, {&wrong, 1}, {}), ShapeError);
}

TEST_F(TapeTest, TheGraphIsFreedUnlessRetained) {
  NDArray x = array({1}, {3});
  const NDArray grad = attach(x, ops::Req::add);
  NDArray y;
  {
    const Scope recording(true, true);
    y = call("elemwise_mul", {x, x});
  }
  backward(y, {.retain_graph = true});
  backward(y);
  EXPECT_EQ(values(grad), Floats{12});
  EXPECT_THROW(backward(y), StateError);
}

TEST_F(TapeTest, SecondOrder) {
  NDArray x = array({2}, {2, 3});
  const NDArray grad = attach(x);
  NDArray first;
  {
    const Scope recording(true, true);
    const NDArray y = call("elemwise_mul", {call("elemwise_mul", {x, x}), x});
    first = autograd::grad(runtime_, {&y, 1}, {&x, 1}, {}, {.retain_graph = true, .create_graph = true})[0];
  }
  EXPECT_EQ(values(first), (Floats{12, 27}));
  backward(first);
  EXPECT_EQ(values(grad), (Floats{12, 18}));
}

TEST_F(TapeTest, GradRefusesWhatTheHeadsDoNotDependOn) {
  NDArray x = array({1}, {2});
  NDArray other = array({1}, {2});
  attach(x);
  attach(other);
  NDArray y;
  {
    const Scope recording(true, true);
    y = call("elemwise_mul", {x, x});
  }
  EXPECT_THROW(autograd::grad(runtime_, {&y, 1}, {&other, 1}, {}, {.retain_graph = true}), ValueError);
  const NDArray plain = array({1}, {2});
  EXPECT_THROW(autograd::grad(runtime_, {&y, 1}, {&plain, 1}, {}, {}), ValueError);
  EXPECT_THROW(backward(plain), StateError);
}

TEST_F(TapeTest, OverwrittenValuesAreNoticed) {
  NDArray x = array({2}, {1, 2});
  attach(x);
  const NDArray factor = array({2}, {3, 4});
  NDArray y;
  {
    const Scope recording(true, true);
    y = call("elemwise_mul", {x, factor});
  }
  fill(factor.slice(0, 1), 0);
  try {
    backward(y);
    FAIL() << "the gradient would have been wrong";
  } catch (const StateError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("elemwise_mul"), std::string::npos) << text;
    EXPECT_NE(text.find("'rhs'"), std::string::npos) << text;
  }
}

TEST_F(TapeTest, OverwritingWhatNoGradientNeedsIsFine) {
  NDArray x = array({2}, {1, 2});
  const NDArray grad = attach(x);
  const NDArray term = array({2}, {3, 4});
  NDArray y;
  {
    const Scope recording(true, true);
    y = call("elemwise_add", {x, term});
  }
  fill(term, 0);
  fill(y.detach(), 0);
  backward(y);
  EXPECT_EQ(values(grad), (Floats{1, 1}));
}

TEST_F(TapeTest, RecordedArraysAreNotWrittenInPlace) {
  NDArray x = array({2}, {1, 2});
  attach(x);
  const Scope recording(true, true);
  NDArray y = call("elemwise_mul", {x, x});
  NDArray* const out = &y;
  RunOptions options;
  options.out = {&out, 1};
  EXPECT_THROW(run_node(runtime_, "elemwise_add", {y, x}, {}, options), StateError);
}

TEST_F(TapeTest, ErrorsTravelThroughTheBackwardPass) {
  NDArray x = array({2}, {1, 2});
  NDArray untouched = array({2}, {1, 2});
  const NDArray grad = attach(x);
  const NDArray good = attach(untouched);
  NDArray y;
  {
    const Scope recording(true, true);
    y = call("elemwise_add", {call("elemwise_mul", {x, call("_test_fail", {x})}), untouched});
  }
  backward(y);
  EXPECT_THROW(y.wait_to_read(), ValueError);
  EXPECT_THROW(grad.wait_to_read(), ValueError);
  EXPECT_EQ(values(good), (Floats{1, 1})) << "unrelated gradients are computed";
}

TEST_F(TapeTest, DeepTapesAreReleasedWithoutRecursion) {
  NDArray x = array({1}, {1});
  const NDArray grad = attach(x);
  NDArray y = x;
  {
    const Scope recording(true, true);
    const NDArray zero = array({1}, {0});
    for (int i = 0; i < 100'000; ++i) y = call("elemwise_add", {y, zero});
  }
  NDArray forgotten = y;
  backward(y);
  EXPECT_EQ(values(grad), Floats{1});
  {
    const Scope recording(true, true);
    for (int i = 0; i < 100'000; ++i) x = call("elemwise_add", {x, x});
  }
  x = NDArray();
}

class Doubler final : public autograd::CustomFunction {
 public:
  explicit Doubler(Runtime& runtime) : runtime_(runtime) {}
  std::vector<NDArray> backward(std::span<const NDArray> grads, std::span<const NDArray>) override {
    return {run_node(runtime_, "elemwise_add", {grads[0], grads[0]})[0], NDArray()};
  }
  std::string name() const override { return "Doubler"; }

 private:
  Runtime& runtime_;
};

TEST_F(TapeTest, CustomFunctionsComputeTheirOwnGradient) {
  NDArray x = array({2}, {1, 2});
  NDArray unused = array({3}, {1, 2, 3});
  const NDArray grad = attach(x);
  const NDArray none = attach(unused);
  fill(none, 5);
  NDArray head;
  {
    const Scope recording(true, true);
    NDArray y = call("elemwise_mul", {x.detach(), x.detach()});
    NDArray* const out = &y;
    const std::vector<NDArray> inputs = {x, unused};
    autograd::record_custom(runtime_, make_ref<Doubler>(runtime_), inputs, {&out, 1});
    head = call("elemwise_mul", {y, y});
  }
  backward(head);
  EXPECT_EQ(values(grad), (Floats{4, 16})) << "2 * d(y*y)/dy";
  EXPECT_EQ(values(none), (Floats{0, 0, 0}));
}

TEST_F(TapeTest, ViewsAreRecordedAsTheirOperators) {
  NDArray x = array({2, 2}, {1, 2, 3, 4});
  const NDArray grad = attach(x);
  NDArray y;
  {
    const Scope recording(true, true);
    NDArray flat = x.reshape({4});
    const ops::OpDef& op = table().at("Reshape");
    autograd::record_view(op, table().parse(op, {{"shape", "(4,)"}}), x, flat);
    y = call("elemwise_mul", {flat, flat});
  }
  backward(y);
  EXPECT_EQ(values(grad), (Floats{2, 4, 6, 8}));
}

TEST_F(TapeTest, TheRecordedComputationIsASymbol) {
  NDArray x = array({2}, {1, 2});
  const NDArray other = array({2}, {3, 4});
  attach(x);
  const Scope recording(true, true);
  const NDArray product = call("elemwise_mul", {x, other});
  const NDArray y = call("broadcast_add", {product, call("elemwise_sub", {other, x})});
  const Symbol symbol = autograd::recorded_symbol(y);
  using Names = std::vector<std::string>;
  EXPECT_EQ(symbol.list_arguments(), (Names{"var0", "null0"}));
  EXPECT_EQ(symbol.list_outputs(), (Names{"node_2_output"}));
  EXPECT_EQ(Symbol::from_json(table(), symbol.to_json()).list_arguments(), symbol.list_arguments());
  EXPECT_EQ(autograd::recorded_symbol(x).list_outputs(), (Names{"var0"}));
  EXPECT_THROW(autograd::recorded_symbol(other), StateError);
}

}  // namespace
}  // namespace loomix

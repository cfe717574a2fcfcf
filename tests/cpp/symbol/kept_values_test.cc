// SPDX-License-Identifier: Apache-2.0
// What gradients keep of the forward pass: the passes defer_scatter and recompute.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "symbol/executor/bound_executor.h"
#include "symbol/passes/defer_scatter.h"
#include "symbol/passes/gradient.h"
#include "symbol/passes/prune.h"
#include "symbol/symbol.h"
#include "symbol/verify.h"
#include "tests/cpp/symbol/run_fixture.h"

namespace loomix {
namespace {

using Floats = std::vector<float>;

Symbol op(const char* name, const TextPairs& attrs, std::vector<Symbol> inputs, const std::string& node) {
  std::vector<NamedSymbol> named;
  for (Symbol& input : inputs) named.push_back({"", std::move(input)});
  return Symbol::create(ops::builtin_table(), name, attrs, named, node);
}

// The gradient of `net` by its variable "x", after defer_scatter.
Graph deferred(const Symbol& net) {
  Graph graph = net.graph();
  auto info = make_ref<NodeInfo>();
  info->name = "head";
  const ValueRef head_grads[] = {{graph.add_variable(info), 0}};
  const std::vector<ValueRef> heads = graph.outputs;
  NodeId x = 0;
  while (graph.name_of(x) != "x") ++x;
  const ValueRef wrt[] = {{x, 0}};
  GradientResult result = gradient(graph, ops::builtin_table(), {heads, head_grads, wrt});
  result.graph.outputs.push_back(result.grads[0]);
  Graph after = prune(defer_scatter(std::move(result.graph)));
  verify(after, "defer_scatter");
  return after;
}

// Whether a gradient reads output 0 of this node, more than its shape.
bool is_kept(const Graph& graph, const std::string& node) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].forward < 0) continue;
    const auto inputs = graph.inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].index == 0 && graph.name_of(inputs[i].node) == node &&
          !graph[id].op->is_shape_only(*graph[id].attrs, static_cast<int>(i)))
        return true;
    }
  }
  return false;
}

const TextPairs kPool = {{"kernel", "(3, 3)"}, {"stride", "(2, 2)"}, {"pool_type", "max"}};

TEST(DeferScatter, ActivationsBeforePoolingAreNotKept) {
  const Symbol act = op("Activation", {{"act_type", "tanh"}}, {Symbol::variable("x")}, "act");
  const Symbol net = op("tanh", {}, {op("Pooling", kPool, {act}, "pool")}, "top");
  EXPECT_FALSE(is_kept(deferred(net), "act"));
  EXPECT_TRUE(is_kept(deferred(net), "pool"));
}

TEST(DeferScatter, ActivationsThatAreJoinedAreNotKept) {
  const Symbol x = Symbol::variable("x");
  const auto relu = [&](const char* name) { return op("Activation", {{"act_type", "relu"}}, {x}, name); };
  const TextPairs both = {{"dim", "1"}, {"num_args", "2"}};
  const Symbol net = op("elemwise_mul", {},
                        {op("Concat", both, {relu("a"), relu("b")}, "join"), Symbol::variable("y")}, "top");
  const Graph graph = deferred(net);
  EXPECT_FALSE(is_kept(graph, "a"));
  EXPECT_FALSE(is_kept(graph, "b"));
  EXPECT_TRUE(is_kept(graph, "join"));
}

TEST(DeferScatter, WhatIsReadElsewhereStays) {
  const Symbol act = op("Activation", {{"act_type", "tanh"}}, {Symbol::variable("x")}, "act");
  const Symbol pool = op("Pooling", kPool, {act}, "pool");
  const Symbol net = op("broadcast_add", {}, {pool, op("sum", {{"keepdims", "True"}}, {act}, "sum")}, "top");
  EXPECT_TRUE(
      is_kept(deferred(net), "act"));  // its gradient comes from two nodes, so it does not only scatter
}

TEST(DeferScatter, ValuesOfOtherNodesStay) {
  const Symbol x = Symbol::variable("x");
  const Symbol act = op("Activation", {{"act_type", "tanh"}}, {x}, "act");
  const TextPairs both = {{"dim", "1"}, {"num_args", "2"}};
  // One input is no activation, so that nothing can come before the joining.
  EXPECT_TRUE(is_kept(deferred(op("Concat", both, {act, x}, "join")), "act"));
}

class KeptValuesTest : public testing_run::RunTest {
 protected:
  struct Result {
    Floats values;
    int64_t planned = 0;
    std::string explanation;
  };

  // Two training passes. Without `plan` as a monitor has it: each value in memory of its own, and no pass but gradient.
  Result train(const Symbol& net, const PlanOptions* plan, ops::Req request = ops::Req::write) {
    runtime_.generators().seed_all(3);
    SimpleBindRequest wanted;
    wanted.shapes.emplace_back("x", Shape{2, 4, 9, 9});
    wanted.requests.assign(net.list_arguments().size(), request);
    BindOptions options;
    if (plan) options.plan = *plan;
    const auto executor = BoundExecutor::simple_bind(runtime_, net, Device::cpu(), wanted, options);
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    for (const NDArray& argument : executor->arrays().arguments) {
      Floats items(static_cast<size_t>(argument.size()));
      std::ranges::generate(items, [&] { return normal(random); });
      NDArray(argument).copy_from_host(items.data(), argument.bytes());
    }
    if (!plan) executor->set_monitor({[](const std::string&, const std::string&, const NDArray&) {}});
    Result result;
    for (int step = 0; step < 2; ++step) {
      const auto outputs = executor->forward(RunMode::training);
      std::vector<NDArray> heads;
      for (const NDArray& out : outputs)
        heads.push_back(array(out.shape(), Floats(static_cast<size_t>(out.size()), 0.5F)));
      executor->backward(heads);
    }
    const auto add = [&](const NDArray& from) {
      const Floats items = values(from);
      result.values.insert(result.values.end(), items.begin(), items.end());
    };
    std::ranges::for_each(executor->outputs(), add);
    std::ranges::for_each(executor->arrays().gradients, add);
    std::ranges::for_each(executor->arrays().auxiliary_states, add);
    result.planned = executor->plan(RunMode::training).memory.bytes();
    result.explanation = executor->explain(RunMode::training);
    return result;
  }

  static void expect_near(const Floats& got, const Floats& want) {
    ASSERT_EQ(got.size(), want.size());
    double norm = 0, distance = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      norm += double{want[i]} * want[i];
      distance += (double{got[i]} - want[i]) * (double{got[i]} - want[i]);
    }
    EXPECT_GT(norm, 0);
    EXPECT_LE(std::sqrt(distance), 1e-5 * std::sqrt(norm));  // NaN fails, too
  }

  static Symbol chain() {
    Symbol net = Symbol::variable("x");
    for (int i = 0; i < 8; ++i) {
      const std::string n = std::to_string(i);
      net = op("Convolution", {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}, {"num_filter", "16"}}, {net},
               "conv" + n);
      net = op("BatchNorm", {{"fix_gamma", "False"}}, {net}, "bn" + n);
      net = op("Activation", {{"act_type", "relu"}}, {net}, "relu" + n);
    }
    return net;
  }
};

TEST_F(KeptValuesTest, WhatIsCheapIsComputedAgain) {
  PlanOptions plan;
  plan.poison = true;
  plan.ordering = memplan::Ordering::extend;  // small plans are as large as side by side needs
  plan.recompute_share = 0;
  const Result kept = train(chain(), &plan);
  EXPECT_EQ(kept.explanation.find("_BatchNorm_again"), std::string::npos);
  plan.recompute_share = 1;
  const Result again = train(chain(), &plan);
  EXPECT_NE(again.explanation.find("_BatchNorm_again"), std::string::npos);
  EXPECT_LT(again.planned, kept.planned * 3 / 4);
  EXPECT_EQ(again.values, kept.values);
  plan.recompute_share = 1e-9;
  EXPECT_EQ(train(chain(), &plan).planned, kept.planned);
}

TEST_F(KeptValuesTest, DroppedElementsStayDropped) {
  Symbol net = Symbol::variable("x");
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    net =
        op("Convolution", {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}, {"num_filter", "16"}}, {net}, "conv" + n);
    net = op("Dropout", {{"p", "0.5"}}, {net}, "drop" + n);
  }
  PlanOptions plan;
  plan.poison = true;
  plan.ordering = memplan::Ordering::extend;  // small plans are as large as side by side needs
  plan.recompute_share = 0;
  const Result kept = train(net, &plan);
  plan.recompute_share = 1;
  const Result again = train(net, &plan);
  EXPECT_LT(again.planned, kept.planned);
  EXPECT_EQ(again.values, kept.values);
}

Symbol random_net(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Symbol> nets = {Symbol::variable("x")};  // all of one shape
  const auto pick = [&] { return nets[nets.size() - 1 - random() % std::min<size_t>(nets.size(), 3)]; };
  const char* const acts[] = {"relu", "sigmoid", "tanh", "softrelu"};
  for (int i = 0; i < 12; ++i) {
    const std::string n = std::to_string(i);
    const auto pool = [&](const char* type, const Symbol& of) {
      return op("Pooling", {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}, {"pool_type", type}}, {of}, "pool" + n);
    };
    const auto act = [&] {
      return op("Activation", {{"act_type", acts[random() % 4]}}, {pick()}, "act" + n);
    };
    switch (random() % 9) {
      case 0: nets.push_back(act()); break;
      case 1: nets.push_back(pool("max", act())); break;
      case 2: nets.push_back(pool("avg", act())); break;
      case 3:
        nets.push_back(op("BatchNorm", {{"fix_gamma", random() % 2 ? "True" : "False"}}, {pick()}, "bn" + n));
        break;
      case 4: nets.push_back(op("Dropout", {{"p", "0.3"}}, {pick()}, "drop" + n)); break;
      case 5: nets.push_back(op("LRN", {{"nsize", "3"}}, {pick()}, "lrn" + n)); break;
      case 6: nets.push_back(op("elemwise_add", {}, {pick(), pick()}, "add" + n)); break;
      case 7: nets.push_back(op("L2Normalization", {{"mode", "channel"}}, {pick()}, "norm" + n)); break;
      default: {
        const char* const type = acts[random() % 3];
        const auto part = [&](const char* side) {
          return op("Activation", {{"act_type", type}}, {pick()}, side + n);
        };
        const Symbol joined =
            op("Concat", {{"dim", "1"}, {"num_args", "2"}}, {part("left"), part("right")}, "join" + n);
        nets.push_back(op("Convolution", {{"kernel", "(1, 1)"}, {"num_filter", "4"}}, {joined}, "conv" + n));
      }
    }
  }
  return nets.back();
}

TEST_F(KeptValuesTest, RandomNetworksHaveTheSameGradients) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Symbol net = random_net(seed);
    const ops::Req request = seed % 2 ? ops::Req::add : ops::Req::write;
    const Result want = train(net, nullptr, request);
    for (const double share : {0.0, 0.02, 1.0}) {
      for (const auto ordering :
           {memplan::Ordering::keep, memplan::Ordering::balance, memplan::Ordering::extend}) {
        PlanOptions plan;
        plan.poison = true;
        plan.recompute_share = share;
        plan.ordering = ordering;
        expect_near(train(net, &plan, request).values, want.values);
      }
    }
  }
}

PlanOptions with_budget(int64_t bytes) {
  PlanOptions plan;
  plan.poison = true;
  plan.ordering = memplan::Ordering::extend;
  plan.recompute_share = 0;
  plan.memory_budget = bytes;
  return plan;
}

TEST_F(KeptValuesTest, ABudgetIsKept) {
  const PlanOptions plan = with_budget(0);
  const Result free = train(chain(), &plan);
  for (const int percent : {95, 85, 75}) {
    SCOPED_TRACE(percent);
    const PlanOptions bounded = with_budget(free.planned * percent / 100);
    const Result fitted = train(chain(), &bounded);
    EXPECT_LE(fitted.planned, bounded.memory_budget);
    EXPECT_EQ(fitted.values, free.values);
  }
}

TEST_F(KeptValuesTest, ALargeBudgetChangesNothing) {
  const PlanOptions plan = with_budget(0), large = with_budget(int64_t{1} << 40);
  EXPECT_EQ(train(chain(), &large).explanation, train(chain(), &plan).explanation);
}

// The smallest budget, as the error for one byte names it.
int64_t smallest_budget(const std::function<void(const PlanOptions&)>& train) {
  try {
    train(with_budget(1));
  } catch (const ValueError& error) {
    const std::string text = error.what(), before = "to be enough is ";
    EXPECT_NE(text.find("memory_budget of 1 bytes is too small"), std::string::npos) << text;
    return std::stoll(text.substr(text.find(before) + before.size()));
  }
  ADD_FAILURE() << "one byte was enough";
  return 0;
}

TEST_F(KeptValuesTest, TheSmallestBudgetThatIsNamedIsEnough) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Symbol net = seed == 0 ? chain() : random_net(seed);
    const Result want = train(net, nullptr);
    const int64_t smallest = smallest_budget([&](const PlanOptions& plan) { train(net, &plan); });
    const PlanOptions plan = with_budget(smallest);
    const Result got = train(net, &plan);
    EXPECT_LE(got.planned, smallest);
    expect_near(got.values, want.values);
  }
}

// Depth 64 in the memory of about its square root: what lies between two kept values is made again at once.
TEST_F(KeptValuesTest, DeepChainsFitLittleMemory) {
  Symbol net = Symbol::variable("x");
  for (int i = 0; i < 64; ++i) {
    const std::string n = std::to_string(i);
    net = op("Convolution", {{"kernel", "(1, 1)"}, {"num_filter", "4"}}, {net}, "conv" + n);
    net = op("Activation", {{"act_type", "tanh"}}, {net}, "act" + n);
  }
  const PlanOptions plan = with_budget(0);
  const Result free = train(net, &plan);
  const PlanOptions third = with_budget(free.planned / 3);
  const Result fitted = train(net, &third);
  EXPECT_LE(fitted.planned, free.planned / 3);
  EXPECT_EQ(fitted.values, free.values);
}

TEST_F(KeptValuesTest, PredictionHasNothingToMakeAgain) {
  SimpleBindRequest wanted;
  wanted.shapes.emplace_back("x", Shape{2, 4, 9, 9});
  const Symbol net = chain();
  wanted.requests.assign(net.list_arguments().size(), ops::Req::null);
  BindOptions options;
  options.plan.memory_budget = 1;
  EXPECT_THROW(BoundExecutor::simple_bind(runtime_, net, Device::cpu(), wanted, options), ValueError);
}

}  // namespace
}  // namespace loomix

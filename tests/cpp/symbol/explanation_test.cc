// SPDX-License-Identifier: Apache-2.0
// What the compiler tells of itself: notes of passes, reports of programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/blocked/blocked.h"
#include "symbol/executor/bound_executor.h"
#include "symbol/executor/pass_log.h"
#include "tests/cpp/symbol/run_fixture.h"

namespace loomix {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ExplanationTest : public testing_run::RunTest {
 protected:
  Symbol op(const char* name, const TextPairs& attrs, std::vector<Symbol> inputs, const std::string& node) {
    std::vector<NamedSymbol> named;
    for (Symbol& input : inputs) named.push_back({"", std::move(input)});
    return Symbol::create(table(), name, attrs, named, node);
  }
  Symbol dense(const Symbol& x, int hidden, const std::string& name) {
    return op("FullyConnected", {{"num_hidden", std::to_string(hidden)}}, {x}, name);
  }
  SimpleBindRequest request(const Symbol& symbol, const Shape& data, ops::Req req) {
    SimpleBindRequest result;
    result.shapes = {{"data", data}};
    result.requests.assign(symbol.list_arguments().size(), req);
    return result;
  }
};

TEST_F(ExplanationTest, NotesSayWhatAPassChanged) {
  const ops::OpDef& tanh = table().at("tanh");
  const auto named = [](const char* name) {
    auto info = make_ref<NodeInfo>();
    info->name = name;
    return info;
  };
  const auto graph_of = [&](std::initializer_list<const char*> names, bool held) {
    Graph graph;
    ValueRef last{graph.add_variable(named("x")), 0};
    for (const char* name : names)
      last = {graph.add_op(tanh, table().parse(tanh, {}), {&last, 1}, *name ? named(name) : Ref<NodeInfo>()),
              0};
    graph[last.node].held = held;
    const ops::OpDef& block = table().at("_block_channels");
    graph.add_op(block, table().parse(block, {}), {&last, 1});
    return graph;
  };
  PassLog log;
  log.note("first", graph_of({"a", "b", ""}, false));
  log.note("second", graph_of({"b", "b", "c", ""}, true));
  log.note("third", graph_of({"b", "b", "c", ""}, true));
  const auto& notes = log.notes();
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_THAT(notes[0].gone, IsEmpty());
  EXPECT_EQ(notes[0].after, 4);
  EXPECT_EQ(notes[0].held, 0);
  EXPECT_EQ(notes[1].pass, "second");
  EXPECT_EQ(notes[1].before, 4);
  EXPECT_EQ(notes[1].after, 4);  // b, b, c and the conversion: what is held does not count
  EXPECT_EQ(notes[1].held, 1);
  ASSERT_EQ(notes[1].gone.size(), 1u);
  EXPECT_EQ(notes[1].gone[0].count, 2);  // a, and the one without a name
  EXPECT_THAT(notes[1].gone[0].names, ElementsAre("a"));
  ASSERT_EQ(notes[1].made.size(), 1u);
  EXPECT_THAT(notes[1].made[0].names, ElementsAre("b", "c"));
  EXPECT_EQ(notes[1].conversions, 0);
  EXPECT_THAT(notes[2].gone, IsEmpty());
  EXPECT_THAT(notes[2].made, IsEmpty());
}

TEST_F(ExplanationTest, ConversionsOfLayoutsAreCounted) {
  PassLog log;
  Graph graph;
  ValueRef value{graph.add_variable(), 0};
  log.note("before", graph);
  for (const char* name : {"_block_channels", "_block_channels"})
    value = {graph.add_op(table().at(name), table().parse(table().at(name), {}), {&value, 1}), 0};
  log.note("layout", graph);
  EXPECT_EQ(log.notes()[1].conversions, 2);
}

TEST_F(ExplanationTest, ThePlanOfASymbolIsThatOfItsExecutor) {
  const Symbol net = dense(op("tanh", {}, {dense(Symbol::variable("data"), 30, "one")}, "t"), 5, "two");
  const auto wanted = request(net, {8, 20}, ops::Req::write);
  const Explanation plan =
      BoundExecutor::explain_symbol(runtime_, net, Device::cpu(), wanted, {}, RunMode::training, true);
  auto executor = BoundExecutor::simple_bind(runtime_, net, Device::cpu(), wanted);
  const std::string text = executor->explain(RunMode::training);
  EXPECT_EQ(to_text(plan.program), text);
  ASSERT_TRUE(plan.strategies);
  EXPECT_EQ(plan.strategies->both, executor->plan(RunMode::training).memory.bytes());
  EXPECT_EQ(to_text(executor->explanation(RunMode::training, false).program), text);
  EXPECT_TRUE(plan.with_gradients);
  EXPECT_EQ(plan.arrays.size(), 6u);  // data, two weights, two biases, the output
  EXPECT_EQ(plan.passes.front().pass, "prune");
}

TEST_F(ExplanationTest, ExplainingLeavesThePassAlone) {
  const Symbol net = dense(op("tanh", {}, {dense(Symbol::variable("data"), 30, "one")}, "t"), 5, "two");
  const auto wanted = request(net, {8, 20}, ops::Req::write);
  std::vector<float> gradients[2];
  for (const bool explained : {false, true}) {
    auto executor = BoundExecutor::simple_bind(runtime_, net, Device::cpu(), wanted);
    for (const NDArray& argument : executor->arrays().arguments) {
      std::vector<float> items(static_cast<size_t>(argument.size()));
      for (size_t i = 0; i < items.size(); ++i) items[i] = 0.01f * static_cast<float>(i % 17);
      NDArray(argument).copy_from_host(items.data(), argument.bytes());
    }
    executor->forward(RunMode::training);
    if (explained) {
      EXPECT_EQ(executor->explained_mode(), RunMode::training);
      executor->explanation(RunMode::training, true);
      executor->explanation(RunMode::inference, true);
    }
    const NDArray head = array({8, 5}, std::vector<float>(40, 1));
    executor->backward({&head, 1});
    gradients[explained] = values(executor->arrays().gradients[0]);
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

TEST_F(ExplanationTest, LongCallsAreTimed) {
  const Symbol net = dense(Symbol::variable("data"), 300, "one");
  auto executor =
      BoundExecutor::simple_bind(runtime_, net, Device::cpu(), request(net, {200, 200}, ops::Req::null));
  const auto time = [&] {
    return executor->explanation(RunMode::inference, false).program.calls.at(0).last_ns;
  };
  EXPECT_EQ(time(), std::nullopt);
  executor->forward(RunMode::inference);
  ASSERT_TRUE(time());
  EXPECT_GT(*time(), 1000);
}

TEST_F(ExplanationTest, ContradictionsNameBothNodesAndShapes) {
  const Symbol w = Symbol::variable("w");
  const Symbol net = op("FullyConnected", {{"num_hidden", "4"}}, {Symbol::variable("data"), w, w}, "fc");
  try {
    BoundExecutor::simple_bind(runtime_, net, Device::cpu(), request(net, {2, 3}, ops::Req::null));
    FAIL() << "w is a matrix and a row";
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("node 'fc' (FullyConnected) asks for shape (4,) of variable 'w'"));
    EXPECT_THAT(error.what(), HasSubstr("(4, 3)"));
  }
}

}  // namespace
}  // namespace loomix

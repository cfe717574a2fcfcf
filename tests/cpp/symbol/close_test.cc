// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/close.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ops/table.h"
#include "symbol/passes/gradient.h"
#include "symbol/verify.h"

namespace loomix {
namespace {

class Close : public testing::Test {
 protected:
  ValueRef variable(const char* name) {
    auto info = make_ref<NodeInfo>();
    info->name = name;
    return {graph_.add_variable(info), 0};
  }
  ValueRef add(const char* name, std::vector<ValueRef> inputs, const TextPairs& attrs = {}) {
    const ops::OpDef& op = table_.at(name);
    return {graph_.add_op(op, table_.parse(op, attrs), inputs), 0};
  }
  ValueRef layer(ValueRef data) {
    return add("FullyConnected", {data, variable("weight"), variable("bias")}, {{"num_hidden", "4"}});
  }
  ValueRef activation(ValueRef of, const char* type = "relu") {
    return add("Activation", {of}, {{"act_type", type}});
  }

  Inference known() const {
    const ValueIndex index(graph_);
    const auto size = static_cast<size_t>(index.size());
    Inference known{std::vector<Shape>(size, Shape::unknown()), std::vector<DType>(size, DType::float32)};
    known.shapes[static_cast<size_t>(index[data_])] = Shape{2, 3};
    infer_shapes(graph_, known.shapes);
    return known;
  }
  Graph closed(std::vector<ValueRef> outputs, const ops::ClosedOperators& operators) {
    graph_.outputs = std::move(outputs);
    Graph made = close(graph_, table_, known(), operators);
    verify(made, "close");
    return made;
  }
  Graph closed(std::vector<ValueRef> outputs) {
    const auto products = [](const ops::OpDef& op, const AttrsBase&, const ops::KernelSpec& spec) {
      const bool is_layer = op.name == "FullyConnected" && spec.out[0].shape == Shape{2, 4};
      return is_layer ? "_relu_FullyConnected" : nullptr;
    };
    return closed(std::move(outputs), {.with_relu = products});
  }
  static int count(const Graph& graph, std::string_view op) {
    int found = 0;
    for (NodeId id = 0; id < graph.size(); ++id) found += graph.op_name(id) == op ? 1 : 0;
    return found;
  }

  const ops::OpTable& table_ = ops::builtin_table();
  Graph graph_;
  const ValueRef data_ = variable("data");
};

TEST_F(Close, TakesAnActivationIn) {
  const ValueRef first = activation(layer(data_)), second = activation(layer(first));
  const Graph made = closed({second, first});
  EXPECT_EQ(made.size(), graph_.size() - 2);
  EXPECT_EQ(count(made, "_relu_FullyConnected"), 2);
  EXPECT_EQ(count(made, "Activation"), 0);
  EXPECT_EQ(made.inputs(made.outputs[0].node)[0], made.outputs[1]);
  EXPECT_TRUE(*made[made.outputs[0].node].attrs == *graph_[second.node - 1].attrs);
}

TEST_F(Close, TwoOfThemInARowBecomeOne) {
  const Graph made = closed({activation(activation(layer(data_)))});
  EXPECT_EQ(count(made, "_relu_FullyConnected"), 1);
  EXPECT_EQ(count(made, "Activation"), 1);
}

TEST_F(Close, LeavesWhatOthersRead) {
  const ValueRef sums = layer(data_), positive = activation(sums);
  for (const auto& outputs :
       {std::vector{positive, sums}, std::vector{add("elemwise_add", {positive, sums})}}) {
    const Graph made = closed(outputs);
    EXPECT_EQ(count(made, "_relu_FullyConnected"), 0);
    EXPECT_EQ(count(made, "FullyConnected"), 1);
    EXPECT_EQ(count(made, "Activation"), 1);
  }
}

TEST_F(Close, LeavesOtherOperators) {
  const Graph made = closed({activation(layer(data_), "tanh"), activation(data_)});
  EXPECT_EQ(count(made, "_relu_FullyConnected"), 0);
  EXPECT_EQ(count(made, "Activation"), 2);
}

TEST_F(Close, LeavesAllWhereTheDeviceHasNoSuchOperator) {
  const auto none = [](const ops::OpDef&, const AttrsBase&, const ops::KernelSpec&) -> const char* {
    return nullptr;
  };
  const Graph made = closed({activation(layer(data_))}, {.with_relu = none});
  EXPECT_EQ(dump(made), dump(graph_));
}

TEST_F(Close, LeavesHeldNodesWithOthers) {
  const ValueRef sums = layer(data_), positive = activation(sums);
  graph_[sums.node].held = true;
  EXPECT_EQ(count(closed({positive}), "_relu_FullyConnected"), 0);
}

TEST_F(Close, GradientsReadTheResult) {
  const ValueRef positive = activation(layer(data_)), head = variable("head");
  const ValueRef heads[] = {positive}, head_grads[] = {head}, wrt[] = {data_};
  graph_.outputs = {positive};
  GradientResult result = gradient(graph_, table_, {heads, head_grads, wrt});
  ASSERT_TRUE(result.grads[0]);
  graph_ = std::move(result.graph);
  const Graph made = closed({positive, result.grads[0]});
  EXPECT_EQ(count(made, "_relu_FullyConnected"), 1);
  EXPECT_EQ(count(made, "Activation"), 0);
  const NodeId layer = made.outputs[0].node;
  int gates = 0;
  for (NodeId id = 0; id < made.size(); ++id) {
    if (made.op_name(id) != "_backward_relu") continue;
    ++gates;
    EXPECT_EQ(made.inputs(id)[1], made.outputs[0]);
    EXPECT_EQ(made[id].forward, layer);
  }
  EXPECT_EQ(gates, 1);
}

}  // namespace
}  // namespace loomix

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "symbol/passes/gradient.h"
#include "symbol/passes/place.h"
#include "symbol/passes/plan.h"
#include "symbol/passes/prune.h"
#include "symbol/passes/simplify.h"
#include "symbol/symbol.h"
#include "symbol/verify.h"
#include "tests/cpp/symbol/test_ops.h"

namespace loomix {
namespace {

using test::test_table;

NodeId add(Graph& graph, const char* name, std::vector<ValueRef> inputs, const TextPairs& attrs = {}) {
  const ops::OpDef& op = test_table().at(name);
  return graph.add_op(op, test_table().parse(op, attrs), inputs);
}

NodeId variable(Graph& graph, const char* name) {
  auto info = make_ref<NodeInfo>();
  info->name = name;
  return graph.add_variable(info);
}

TEST(Gradient, SumsWhatMeetsInOneValue) {
  Graph graph;
  const NodeId x = variable(graph, "x"), head = variable(graph, "head");
  const NodeId square = add(graph, "elemwise_mul", {{x, 0}, {x, 0}});
  const NodeId cube = add(graph, "elemwise_mul", {{square, 0}, {x, 0}});
  const ValueRef heads[] = {{cube, 0}}, head_grads[] = {{head, 0}}, wrt[] = {{x, 0}};
  const GradientResult result = gradient(graph, test_table(), {heads, head_grads, wrt});
  verify(result.graph, "gradient");
  ASSERT_TRUE(result.grads[0]);
  // From cube directly and twice through square.
  EXPECT_EQ(result.graph.op_name(result.grads[0].node), "add_n");
  EXPECT_EQ(result.graph[result.grads[0].node].num_inputs, 3u);
  for (NodeId id = graph.size(); id < result.graph.size(); ++id) EXPECT_GE(result.graph[id].forward, 0);
  EXPECT_EQ(dump(gradient(graph, test_table(), {heads, head_grads, wrt}).graph), dump(result.graph));
}

TEST(Gradient, LeavesOutWhatNobodyWants) {
  Graph graph;
  const NodeId x = variable(graph, "x"), y = variable(graph, "y"), z = variable(graph, "z"),
               head = variable(graph, "head");
  const NodeId product = add(graph, "elemwise_mul", {{x, 0}, {y, 0}});
  add(graph, "tanh", {{z, 0}});
  const ValueRef heads[] = {{product, 0}}, head_grads[] = {{head, 0}}, wrt[] = {{y, 0}, {z, 0}};
  const GradientResult result = gradient(graph, test_table(), {heads, head_grads, wrt});
  EXPECT_EQ(result.graph.size(), graph.size() + 1);
  EXPECT_TRUE(result.grads[0]);
  EXPECT_FALSE(result.grads[1]);
}

TEST(Gradient, OperatorsWithoutOneAreNamed) {
  Graph graph;
  const NodeId x = variable(graph, "x"), head = variable(graph, "head");
  const NodeId parts = add(graph, "SliceChannel", {{x, 0}}, {{"num_outputs", "2"}});
  const NodeId best = add(graph, "argmax", {{x, 0}});
  const ValueRef wrt[] = {{x, 0}}, head_grads[] = {{head, 0}};
  const ValueRef first[] = {{parts, 0}}, second[] = {{best, 0}};
  try {
    gradient(graph, test_table(), {first, head_grads, wrt});
    ADD_FAILURE();
  } catch (const NotImplementedError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("SliceChannel"));
  }
  EXPECT_FALSE(gradient(graph, test_table(), {second, head_grads, wrt}).grads[0]);
}

TEST(Simplify, MergesEqualNodesButNotAcrossChangedStates) {
  Graph graph;
  const NodeId x = variable(graph, "x");
  const NodeId a = add(graph, "tanh", {{x, 0}}), b = add(graph, "tanh", {{x, 0}});
  const NodeId sum = add(graph, "elemwise_add", {{a, 0}, {b, 0}});
  add(graph, "tanh", {{sum, 0}});  // unused
  graph.outputs = {{sum, 0}};
  const Graph simple = simplify(graph, {}, {}, graph.outputs.size(), true).graph;
  verify(simple, "simplify");
  EXPECT_EQ(simple.size(), 3);
  EXPECT_EQ(simple.inputs(2)[0], simple.inputs(2)[1]);
  graph.outputs = {{a, 0}, {b, 0}};
  EXPECT_EQ(simplify(graph, {}, {}, graph.outputs.size(), true).graph.size(),
            3);  // outputs keep nodes of their own

  const NodeId gamma = variable(graph, "gamma"), mean = variable(graph, "mean"), var = variable(graph, "var");
  const NodeId before = add(graph, "tanh", {{mean, 0}});
  const NodeId norm = add(graph, "BatchNorm", {{x, 0}, {gamma, 0}, {gamma, 0}, {mean, 0}, {var, 0}});
  const NodeId after = add(graph, "tanh", {{mean, 0}});
  graph.outputs = {{add(graph, "elemwise_add", {{before, 0}, {after, 0}}), 0}, {norm, 0}};
  const Graph kept = simplify(graph, {}, {}, graph.outputs.size(), true).graph;
  EXPECT_EQ(kept.size(), 8);
}

TEST(Simplify, TransposesThatCancelGo) {
  const ops::OpTable& table = ops::builtin_table();
  const auto transpose = [&](Graph& graph, NodeId input, const char* axes) {
    const ops::OpDef& op = table.at("transpose");
    const ValueRef value{input, 0};
    return graph.add_op(op, table.parse(op, {{"axes", axes}}), {&value, 1});
  };
  const auto count = [&](const char* first, const char* second) {
    Graph graph;
    const NodeId x = variable(graph, "x");
    const ValueRef turned{transpose(graph, transpose(graph, x, first), second), 0};
    const ops::OpDef& op = table.at("tanh");
    graph.outputs = {{graph.add_op(op, table.parse(op, {}), {&turned, 1}), 0}};
    Inference known{{{2, 3, 4}, Shape::unknown(), Shape::unknown(), Shape::unknown()},
                    std::vector<DType>(4, DType::float32)};
    infer_shapes(graph, known.shapes);
    const Graph simple = simplify(graph, known, {}, 1, true).graph;
    verify(simple, "simplify");
    return simple.size();
  };
  EXPECT_EQ(count("(1, 2, 0)", "(2, 0, 1)"), 2);
  EXPECT_EQ(count("()", "()"), 2);
  EXPECT_EQ(count("(1, 2, 0)", "(1, 2, 0)"), 4);
  EXPECT_EQ(count("(0, 2, 1)", "(2, 1, 0)"), 4);
}

TEST(Simplify, DropoutsGoWhereTheyDropNothing) {
  const ops::OpTable& table = ops::builtin_table();
  const auto count = [&](const TextPairs& attrs, bool training, bool own) {
    const ops::OpDef &dropout = table.at("Dropout"), &tanh = table.at("tanh");
    Graph graph;
    const ValueRef x{variable(graph, "x"), 0};
    const ValueRef dropped{graph.add_op(dropout, table.parse(dropout, attrs), {&x, 1}), 0};
    graph.outputs = {own ? dropped : ValueRef{graph.add_op(tanh, table.parse(tanh, {}), {&dropped, 1}), 0}};
    return simplify(graph, {}, {}, 1, training).graph.size();
  };
  EXPECT_EQ(count({{"p", "0.5"}}, false, false), 2);
  EXPECT_EQ(count({{"p", "0.5"}}, true, false), 3);
  EXPECT_EQ(count({{"p", "0"}}, true, false), 2);
  EXPECT_EQ(count({{"p", "0.5"}, {"mode", "always"}}, false, false), 3);
  EXPECT_EQ(count({{"p", "0.5"}}, false, true), 2) << "an output of the graph keeps its node";
}

TEST(Place, CopiesWhereDevicesDiffer) {
  const Symbol x = Symbol::variable("x");
  const Symbol a =
      Symbol::create(test_table(), "tanh", {{"ctx_group", "one"}}, std::vector<NamedSymbol>{{"", x}}, "a");
  const Symbol b = Symbol::create(test_table(), "elemwise_add", {{"ctx_group", "two"}},
                                  std::vector<NamedSymbol>{{"", a}, {"", a}}, "b");
  const Placement placed =
      place(b.graph(), test_table(), {Device::cpu(0), {{"one", Device::cpu(0)}, {"two", Device::cpu(1)}}});
  verify(placed.graph, "place");
  ASSERT_EQ(placed.graph.size(), 4);
  EXPECT_EQ(placed.graph.op_name(2), "_copy");
  EXPECT_EQ(placed.devices[2], Device::cpu(1));
  EXPECT_EQ(placed.devices[1], Device::cpu(0));
  EXPECT_EQ(place(b.graph(), test_table(), {Device::cpu(0), {}}).graph.size(), 3);
  EXPECT_THROW(place(b.graph(), test_table(), {Device::cpu(0), {{"two", Device::cpu(1)}}}), DeviceError);
}

TEST(Verify, FindsBrokenGraphs) {
  Graph graph;
  const NodeId x = variable(graph, "x");
  const NodeId a = add(graph, "tanh", {{x, 0}});
  graph.outputs = {{a, 0}};
  EXPECT_NO_THROW(verify(graph, "test"));
  Graph broken = graph;
  broken.inputs(a)[0] = {a, 0};
  EXPECT_THROW(verify(broken, "test"), InternalError);
  broken = graph;
  broken.inputs(a)[0] = {x, 1};
  EXPECT_THROW(verify(broken, "test"), InternalError);
  broken = graph;
  broken.outputs = {{7, 0}};
  EXPECT_THROW(verify(broken, "test"), InternalError);
  broken = graph;
  broken[a].num_outputs = 2;
  EXPECT_THROW(verify(broken, "test"), InternalError);
}

}  // namespace
}  // namespace loomix

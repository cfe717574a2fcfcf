// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/reduce_precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "ops/table.h"
#include "symbol/symbol_precision.h"
#include "symbol/verify.h"

namespace loomix {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ops::OpTable& table() { return ops::builtin_table(); }

PrecisionRules empty_rules(DType low) { return {low, table().at("amp_cast"), table().at("amp_multicast")}; }

PrecisionRules rules(DType low = DType::bfloat16) {
  PrecisionRules result = empty_rules(low);
  result.set(table().at("FullyConnected"), Precision::low);
  result.set(table().at("Embedding"), Precision::low);
  result.set(table().at("exp"), Precision::full);
  result.set(table().at("pick"), Precision::full);
  result.set(table().at("elemwise_add"), Precision::widest);
  result.set(table().at("Concat"), Precision::widest);
  result.set_full_if(table().at("Activation"), "act_type", {"softrelu"});
  return result;
}

Symbol var(const std::string& name, const TextPairs& attrs = {}) { return Symbol::variable(name, attrs); }

Symbol call(const char* op, std::vector<Symbol> inputs, const char* name, TextPairs attrs = {}) {
  std::vector<NamedSymbol> named;
  for (Symbol& input : inputs) named.push_back({{}, std::move(input)});
  return Symbol::create(table(), op, attrs, named, name);
}

Symbol dense(Symbol input, const char* name) {
  return call("FullyConnected", {std::move(input)}, name, {{"num_hidden", "3"}});
}

// The names of the casts, in order.
std::vector<std::string> casts(const Symbol& symbol) {
  const Graph graph = symbol.graph();
  verify(graph, "test");
  std::vector<std::string> names;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.op_name(id).starts_with("amp_")) names.push_back(graph.name_of(id));
  }
  return names;
}

// The casts inside: those of the outputs, which all get float32, are left out.
std::vector<std::string> reduced(const Symbol& symbol, const std::vector<std::string>& excluded = {},
                                 const std::vector<std::string>& parameters = {}) {
  const Symbol result = reduce_precision(symbol, table(), rules(), excluded, parameters);
  std::vector<std::string> names = casts(result);
  for (const SymbolOutput& output : result.outputs()) {
    if (output.node->op == &table().at("amp_cast")) std::erase(names, output.node->name);
  }
  return names;
}

template <class E, class F>
std::string error_of(F&& run) {
  try {
    run();
  } catch (const E& error) {
    return error.what();
  }
  return "no error";
}

TEST(ReducePrecision, CastsWhatProductsAndExponentialsRead) {
  EXPECT_THAT(reduced(call("exp", {dense(var("x"), "fc")}, "exp")),
              ElementsAre("x_amp_cast_bfloat16", "fc_weight_amp_cast_bfloat16", "fc_bias_amp_cast_bfloat16",
                          "fc_output_amp_cast_float32"));
}

TEST(ReducePrecision, ValuesAreCastOnceAndOnlyWhereTheirTypeDiffers) {
  const Symbol first = dense(var("x"), "a"), second = dense(var("x2"), "b");
  const Symbol chain = dense(call("relu", {first}, "relu"), "c");
  const Symbol all[] = {call("exp", {first}, "e1"), call("exp", {first}, "e2"), chain, second};
  const auto names = reduced(Symbol::group(all));
  EXPECT_EQ(std::ranges::count(names, "a_output_amp_cast_float32"), 1);
  EXPECT_EQ(std::ranges::count(names, "relu_output_amp_cast_bfloat16"), 0);  // it is of that type already
  EXPECT_EQ(names.size(), 9u);
}

TEST(ReducePrecision, OutputsAreFloat32) {
  const Symbol fc = dense(var("x"), "fc");
  const Symbol both[] = {fc, call("exp", {fc}, "exp")};
  const Symbol result = reduce_precision(Symbol::group(both), table(), rules());
  EXPECT_THAT(result.list_outputs(), ElementsAre("fc_output_amp_cast_float32_output", "exp_output"));
  EXPECT_EQ(casts(result).size(), 4u);  // one for both readers
}

TEST(ReducePrecision, RunningItTwiceAddsNothing) {
  const Symbol once = reduce_precision(call("exp", {dense(var("x"), "fc")}, "exp"), table(), rules());
  EXPECT_EQ(reduce_precision(once, table(), rules()).to_json(), once.to_json());
}

TEST(ReducePrecision, StatesAndParametersOfFixedTypeStay) {
  const Symbol norm = call("BatchNorm", {dense(var("x"), "fc")}, "bn");
  EXPECT_EQ(reduced(norm).size(), 3u);
  // In float32 by name, only its data changes.
  EXPECT_EQ(reduced(norm, {"bn"}).back(), "fc_output_amp_cast_float32");
  EXPECT_EQ(reduced(norm, {"bn"}).size(), 4u);
}

TEST(ReducePrecision, IndicesStay) {
  const Symbol words = call("Embedding", {var("words")}, "emb", {{"input_dim", "9"}, {"output_dim", "2"}});
  EXPECT_THAT(reduced(words), ElementsAre("emb_weight_amp_cast_bfloat16"));
  const Symbol picked = call("pick", {dense(var("x"), "fc"), var("index", {{"__dtype__", "12"}})}, "pick");
  EXPECT_EQ(reduced(picked).back(), "fc_output_amp_cast_float32");
  EXPECT_EQ(reduced(picked).size(), 4u);
}

TEST(ReducePrecision, TheWidestOfKnownTypesIsCastTo) {
  const Symbol low = dense(var("x"), "fc");
  EXPECT_EQ(reduced(call("elemwise_add", {low, var("y")}, "add")).back(), "fc_output_amp_cast_float32");
  EXPECT_EQ(reduced(call("elemwise_add", {low, low}, "add")).size(), 3u);
}

TEST(ReducePrecision, TheWidestOfUnknownTypesIsLeftToTheRun) {
  Graph graph;
  auto stranger = make_ref<NodeInfo>();
  stranger->name = "stranger";
  stranger->unknown_op = "_of_another_library";
  const NodeId node = graph.add_unknown(stranger, {}, 2);
  const ops::OpDef& add = table().at("elemwise_add");
  const ValueRef inputs[] = {{node, 0}, {node, 1}};
  graph.outputs.push_back({graph.add_op(add, table().parse(add, {}), inputs), 0});
  const ReducedPrecision result = reduce_precision(graph, table(), rules());
  verify(result.graph, "test");
  ASSERT_EQ(result.graph.size(), 3);
  EXPECT_EQ(result.graph.op_name(1), "amp_multicast");
  EXPECT_THAT(result.origin, ElementsAre(0, -1, 1));
  EXPECT_EQ(result.graph.inputs(2)[1], (ValueRef{1, 1}));
}

TEST(ReducePrecision, MixedInputsOfOtherOperatorsBecomeFloat32) {
  const Symbol mixed = call("LeakyReLU", {dense(var("x"), "fc")}, "prelu", {{"act_type", "prelu"}});
  EXPECT_EQ(reduced(mixed).back(), "fc_output_amp_cast_float32");
  EXPECT_EQ(reduced(call("LeakyReLU", {dense(var("x"), "fc")}, "leaky")).size(), 3u);
}

TEST(ReducePrecision, ConditionsAreOnAttributes) {
  const auto activation = [](const char* kind) {
    return call("Activation", {dense(var("x"), "fc")}, "act", {{"act_type", kind}});
  };
  EXPECT_EQ(reduced(activation("softrelu")).back(), "fc_output_amp_cast_float32");
  EXPECT_EQ(reduced(activation("tanh")).size(), 3u);
}

TEST(ReducePrecision, ExcludedNodesRunInFloat32) {
  EXPECT_THAT(reduced(dense(var("x"), "fc"), {"fc"}), IsEmpty());
  EXPECT_THAT(error_of<ValueError>([] { reduced(dense(var("x"), "fc"), {"fc_weight"}); }),
              HasSubstr("no operator of the symbol is called 'fc_weight'"));
}

TEST(ReducePrecision, ParametersOfOneUseGetTheType) {
  const Symbol both[] = {dense(var("x"), "fc"), call("exp", {var("fc_bias")}, "exp")};
  const Symbol result =
      reduce_precision(both[0], table(), rules(), {}, std::vector<std::string>{"fc_weight", "fc_bias"});
  EXPECT_THAT(casts(result), ElementsAre("x_amp_cast_bfloat16", "fc_output_amp_cast_float32"));
  EXPECT_EQ(result.to_json().find("\"__dtype__\": \"12\"") != std::string::npos, true);
  // One with another reader in float32 keeps its type.
  const Symbol weight = var("w"), x = var("x");
  const Symbol users[] = {
      call("FullyConnected", {x, weight}, "fc", {{"num_hidden", "3"}, {"no_bias", "True"}}),
      call("exp", {weight}, "exp")};
  EXPECT_THAT(reduced(Symbol::group(users), {}, {"w"}),
              ElementsAre("x_amp_cast_bfloat16", "w_amp_cast_bfloat16"));
}

TEST(ReducePrecision, ComposedNodesGetTheirCastsAtOnce) {
  const Symbol fc = dense(var("x"), "fc");
  cast_inputs(*fc.outputs()[0].node, table(), rules());
  EXPECT_THAT(casts(fc), ElementsAre("fc_data_amp_cast", "fc_weight_amp_cast", "fc_bias_amp_cast"));
  const Symbol exp = call("exp", {call("relu", {fc}, "relu")}, "exp");
  cast_inputs(*exp.outputs()[0].node, table(), rules());
  EXPECT_EQ(casts(exp).back(), "exp_data_amp_cast");
  const Symbol next = dense(call("relu", {fc}, "relu"), "next");
  cast_inputs(*next.outputs()[0].node, table(), rules());
  EXPECT_EQ(casts(next).size(), 5u);  // its weight and bias; the data has the type
}

TEST(PrecisionRules, WhatTheyRefuse) {
  EXPECT_THAT(error_of<TypeError>([] { empty_rules(DType::int8); }),
              HasSubstr("expected float16 or bfloat16"));
  PrecisionRules some = rules();
  EXPECT_THAT(error_of<ValueError>([&] { some.set(table().at("exp"), Precision::low); }),
              HasSubstr("exp is in two lists"));
  EXPECT_THAT(error_of<ValueError>([&] { some.set_full_if(table().at("Activation"), "slope", {}); }),
              HasSubstr("has no attribute 'slope'; it has: act_type"));
}

}  // namespace
}  // namespace loomix

// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "symbol/verify.h"
#include "tests/cpp/symbol/test_ops.h"

namespace loomix {
namespace {

using test::test_table;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Symbol op(const char* name, const TextPairs& attrs, std::vector<NamedSymbol> inputs, const char* node) {
  return Symbol::create(test_table(), name, attrs, inputs, node);
}

Symbol mlp() {
  const Symbol data = Symbol::variable("data");
  const Symbol fc1 = op("FullyConnected", {{"num_hidden", "6"}}, {{"", data}}, "fc1");
  const Symbol act = op("tanh", {}, {{"data", fc1}}, "act");
  return op("FullyConnected", {{"num_hidden", "4"}, {"no_bias", "True"}}, {{"data", act}}, "fc2");
}

template <class E, class Fn>
void expect_error(Fn&& fn, const std::string& text) {
  try {
    fn();
    ADD_FAILURE() << "no error; expected one with: " << text;
  } catch (const E& error) {
    EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

TEST(Symbol, MissingInputsBecomeVariables) {
  const Symbol net = mlp();
  EXPECT_THAT(net.list_arguments(), ElementsAre("data", "fc1_weight", "fc1_bias", "fc2_weight"));
  EXPECT_THAT(net.list_outputs(), ElementsAre("fc2_output"));
  EXPECT_EQ(net.name(), "fc2");
  EXPECT_EQ(net.internals().output("fc1_weight").attr("num_hidden"), "6");
  EXPECT_THAT(op("FullyConnected", {{"num_hidden", "1"}}, {}, "a").list_arguments(),
              ElementsAre("a_data", "a_weight", "a_bias"));
}

TEST(Symbol, AuxiliaryStatesAreWhatOperatorsChange) {
  const Symbol bn = op("BatchNorm", {}, {{"", mlp()}}, "bn");
  EXPECT_THAT(bn.list_auxiliary_states(), ElementsAre("bn_moving_mean", "bn_moving_var"));
  EXPECT_THAT(bn.list_outputs(), ElementsAre("bn_output"));
  EXPECT_EQ(bn.list_inputs().size(), 8u);
  EXPECT_EQ(bn.internals().output("bn_moving_var").attr("__init__"), R"(["one", {}])");
  EXPECT_EQ(bn.internals().output("bn_gamma").attr("__init__"), std::nullopt);
  expect_error<ValueError>(
      [&] {
        op("BatchNorm", {}, {{"moving_mean", mlp()}}, "bad");
      },
      "must be a variable");
}

TEST(Symbol, SeveralOutputsAndGroups) {
  const Symbol parts = op("SliceChannel", {{"num_outputs", "3"}}, {{"", Symbol::variable("x")}}, "s");
  EXPECT_THAT(parts.list_outputs(), ElementsAre("s_output0", "s_output1", "s_output2"));
  const std::vector<Symbol> members = {parts[1], mlp(), Symbol::variable("y")};
  const Symbol group = Symbol::group(members);
  EXPECT_THAT(group.list_outputs(), ElementsAre("s_output1", "fc2_output", "y"));
  EXPECT_EQ(group.name(), std::nullopt);
  EXPECT_EQ(group.output("y").name(), "y");
  EXPECT_THAT(group.children().list_outputs(), ElementsAre("x", "act_output", "fc2_weight"));
  EXPECT_TRUE(Symbol::variable("x").children().empty());
  expect_error<ValueError>([&] { group.output("z"); }, "'fc2_output'");
  EXPECT_THROW(group[3], IndexError);
  expect_error<ValueError>([&] { op("tanh", {}, {{"", parts}}, "t"); }, "3 outputs");
}

TEST(Symbol, BadCallsAreNamed) {
  const Symbol x = Symbol::variable("x");
  expect_error<KeyError>([&] { op("no_such_operator", {}, {}, "n"); }, "no_such_operator");
  expect_error<ValueError>([&] { op("FullyConnected", {}, {{"", x}}, "n"); }, "num_hidden");
  expect_error<ValueError>(
      [&] {
        op("FullyConnected", {{"num_hidden", "2"}, {"colour", "red"}}, {{"", x}}, "n");
      },
      "colour");
  expect_error<ValueError>([&] { op("tanh", {}, {{"", x}, {"", x}}, "n"); }, "more than its 1 inputs");
  expect_error<ValueError>([&] { op("tanh", {}, {{"weight", x}}, "n"); }, "no input 'weight'");
  expect_error<ValueError>([&] { op("tanh", {}, {{"", x}, {"data", x}}, "n"); }, "given twice");
  expect_error<ValueError>(
      [&] {
        op("FullyConnected", {{"num_hidden", "2"}, {"no_bias", "1"}}, {{"", x}, {"bias", x}}, "n");
      },
      "no input 'bias'");
  expect_error<ValueError>(
      [&] {
        op("FullyConnected", {{"num_hidden", "2"}, {"weight_lr_mult", "2"}}, {{"", x}}, "n");
      },
      "weight_lr_mult");
  expect_error<ValueError>(
      [&] {
        op("SliceChannel", {{"num_outputs", "2000000000"}}, {{"", x}}, "n");
      },
      "outputs");
}

TEST(Symbol, HiddenKeysAreListedTwice) {
  Symbol x = Symbol::variable("x", {{"lr_mult", "2"}, {"__tag__", "t"}});
  EXPECT_EQ(x.attr("lr_mult"), "2");
  EXPECT_EQ(x.attr("__lr_mult__"), "2");
  EXPECT_THAT(x.list_attr(),
              ElementsAre(Pair("__lr_mult__", "2"), Pair("lr_mult", "2"), Pair("__tag__", "t")));
  x.set_attr(test_table(), {{"wd_mult", "0"}});
  EXPECT_EQ(x.attr("__wd_mult__"), "0");
  Symbol fc = op("FullyConnected", {{"num_hidden", "3"}, {"ctx_group", "a"}}, {{"", x}}, "fc");
  const auto dict = fc.attr_dict();
  ASSERT_EQ(dict.size(), 4u);
  EXPECT_EQ(dict[1].first, "fc_weight");
  EXPECT_THAT(dict[1].second,
              ElementsAre(Pair("__ctx_group__", "a"), Pair("ctx_group", "a"), Pair("num_hidden", "3")));
  fc.set_attr(test_table(), {{"num_hidden", "5"}});
  EXPECT_EQ(fc.attr("num_hidden"), "5");
  EXPECT_THROW(fc.set_attr(test_table(), {{"num_hidden", "many"}}), ValueError);
  EXPECT_EQ(fc.attr("num_hidden"), "5");
  EXPECT_THROW(fc.set_attr(test_table(), {{"no_bias", "True"}}), ValueError);
}

TEST(Symbol, ComposeReplacesVariablesInACopy) {
  const Symbol net = mlp();
  const Symbol front = op("tanh", {}, {{"", Symbol::variable("image")}}, "front");
  const Symbol whole = net.compose(std::vector<NamedSymbol>{{"data", front}}, "again");
  EXPECT_THAT(whole.list_arguments(), ElementsAre("image", "fc1_weight", "fc1_bias", "fc2_weight"));
  EXPECT_EQ(whole.name(), "again");
  EXPECT_EQ(net.name(), "fc2");
  EXPECT_EQ(net.list_arguments()[0], "data");
  expect_error<ValueError>(
      [&] {
        net.compose(std::vector<NamedSymbol>{{"nothing", front}});
      },
      "'fc1_weight'");
}

TEST(Symbol, ShapesAreInferredBothWays) {
  const Symbol net = mlp();
  auto found = net.infer_shape(std::vector<std::pair<std::string, Shape>>{{"data", {3, 5}}});
  EXPECT_TRUE(found.complete);
  EXPECT_THAT(found.arguments, ElementsAre(Shape{3, 5}, Shape{6, 5}, Shape{6}, Shape{4, 6}));
  EXPECT_THAT(found.outputs, ElementsAre(Shape{3, 4}));
  // 0 is unknown; the batch comes from the other operand of the sum.
  const Symbol sum = op("elemwise_add", {}, {{"", net}, {"", Symbol::variable("y")}}, "sum");
  found = sum.infer_shape(std::vector<std::pair<std::string, Shape>>{{"y", {7, 4}}, {"fc1_weight", {0, 5}}});
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.arguments[0], (Shape{7, 5}));
  found = net.infer_shape({});
  EXPECT_FALSE(found.complete);
  EXPECT_EQ(found.arguments[0], (Shape{0, 0}));
  EXPECT_EQ(found.arguments[2], Shape{6});
}

TEST(Symbol, ContradictionsNameTheNode) {
  const auto infer = [](std::vector<std::pair<std::string, Shape>> known) { mlp().infer_shape(known); };
  expect_error<ShapeError>([&] { infer({{"data", {3, 5}}, {"fc1_weight", {6, 4}}}); }, "node 'fc1'");
  expect_error<ValueError>([&] { infer({{"image", {3, 5}}}); }, "'data'");
}

TEST(Symbol, TypesAndVariablesOwnAttributes) {
  const Symbol x = Symbol::variable("data", {{"__dtype__", "1"}, {"__shape__", "(2, 0)"}});
  const Symbol y =
      op("elemwise_add", {}, {{"", x}, {"", Symbol::variable("b", {{"__shape__", "(0, 3)"}})}}, "y");
  EXPECT_EQ(y.infer_type({}).arguments[1], DType::float64);
  EXPECT_EQ(y.infer_shape({}).outputs[0], (Shape{2, 3}));
  EXPECT_THROW(Symbol::variable("z", {{"__shape__", "wide"}}).infer_shape({}), ValueError);
}

TEST(Symbol, AValueUsedTwiceKeepsWhatEitherUseTells) {
  const Symbol x = Symbol::variable("x");
  const Symbol y = op("elemwise_add", {}, {{"", x}, {"", x}}, "y");
  const auto found = y.infer_shape(std::vector<std::pair<std::string, Shape>>{{"x", {2, 0}}});
  EXPECT_FALSE(found.complete);
  EXPECT_EQ(found.outputs[0], (Shape{2, 0}));
}

TEST(Symbol, LongChainsNeedNoStack) {
  Symbol x = Symbol::variable("x");
  for (int i = 0; i < 100000; ++i) x = op("tanh", {}, {{"", x}}, "t");
  EXPECT_EQ(x.list_arguments().size(), 1u);
  const auto found = x.infer_shape(std::vector<std::pair<std::string, Shape>>{{"x", {2}}});
  EXPECT_EQ(found.outputs[0], Shape{2});
  const Graph graph = x.graph();
  verify(graph, "test");
  EXPECT_EQ(graph.size(), 100001);
  EXPECT_EQ(Symbol::from_json(test_table(), x.to_json()).graph().size(), 100001);
}

TEST(Symbol, CastsOfMixedPrecisionCanBeTakenOut) {
  const Symbol x = Symbol::variable("x");
  const Symbol cast = op("amp_cast", {}, {{"", op("amp_cast", {}, {{"", x}}, "c1")}}, "c2");
  const Symbol y = op("tanh", {}, {{"", cast}}, "y");
  EXPECT_EQ(y.without_amp_cast().graph().size(), 2);
  EXPECT_EQ(y.graph().size(), 4);
  EXPECT_THAT(cast.without_amp_cast().list_outputs(), ElementsAre("c2_output"));  // whose type it says
  EXPECT_EQ(cast.without_amp_cast().graph().size(), 2);
}

}  // namespace
}  // namespace loomix

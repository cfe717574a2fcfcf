// SPDX-License-Identifier: Apache-2.0
#include "tests/cpp/c_api/c_api_test.h"

namespace loomix::c_api_test {
namespace {

using ::testing::ElementsAre;

TEST(CApiSymbols, ComposeAndList) {
  const LoomixSymbol network = small_network();
  EXPECT_THAT(list_of(network, "arguments"), ElementsAre("data", "fc_weight", "fc_bias", "softmax_label"));
  EXPECT_THAT(list_of(network, "outputs"), ElementsAre("softmax_output"));
  EXPECT_THAT(list_of(network, "auxiliary_states"), ElementsAre());
  EXPECT_THAT(list_of(network, "name"), ElementsAre("softmax"));
  LoomixSymbol internals = nullptr, output = nullptr, group = nullptr;
  expect_ok(LoomixSymbolGetInternals(network, &internals));
  EXPECT_THAT(list_of(internals, "outputs"),
              ElementsAre("data", "fc_weight", "fc_bias", "fc_output", "softmax_label", "softmax_output"));
  expect_ok(LoomixSymbolGetOutput(internals, 3, &output));
  EXPECT_THAT(list_of(output, "outputs"), ElementsAre("fc_output"));
  const LoomixSymbol both[] = {output, network};
  expect_ok(LoomixSymbolGroup(2, both, &group));
  EXPECT_THAT(list_of(group, "outputs"), ElementsAre("fc_output", "softmax_output"));
  EXPECT_THAT(list_of(group, "name"), ElementsAre());
}

TEST(CApiSymbols, NamedInputsAndAutomaticNames) {
  const LoomixSymbol weight = variable("w");
  const char* name = "weight";
  const LoomixSymbolInputs inputs{1, &name, &weight};
  LoomixSymbol symbol = nullptr, again = nullptr;
  expect_ok(LoomixSymbolCreate("FullyConnected", Pairs({{"num_hidden", "3"}}).get(), &inputs, "fc", &symbol));
  EXPECT_THAT(list_of(symbol, "arguments"), ElementsAre("fc_data", "w", "fc_bias"));
  expect_ok(LoomixSymbolCreate("relu", nullptr, nullptr, nullptr, &symbol));
  expect_ok(LoomixSymbolCreate("relu", nullptr, nullptr, "", &again));
  EXPECT_NE(list_of(symbol, "name"), list_of(again, "name"));
  EXPECT_THAT(list_of(symbol, "name")[0], ::testing::StartsWith("relu"));
}

TEST(CApiSymbols, VariablesAreReplacedInACopy) {
  const LoomixSymbol inner = compose("relu", {}, {variable("x")}, "act");
  const LoomixSymbol other = variable("y");
  const char* name = "x";
  const LoomixSymbolInputs inputs{1, &name, &other};
  LoomixSymbol composed = nullptr;
  expect_ok(LoomixSymbolCompose(inner, &inputs, "renamed", &composed));
  EXPECT_THAT(list_of(composed, "arguments"), ElementsAre("y"));
  EXPECT_THAT(list_of(composed, "name"), ElementsAre("renamed"));
  EXPECT_THAT(list_of(inner, "arguments"), ElementsAre("x"));
  const char* unknown = "z";
  const LoomixSymbolInputs wrong{1, &unknown, &other};
  expect_error(LoomixSymbolCompose(inner, &wrong, nullptr, &composed), "z");
}

TEST(CApiSymbols, JsonGoesBothWays) {
  const char* json = nullptr;
  expect_ok(LoomixSymbolToJson(small_network(), &json));
  const std::string text = json;
  LoomixSymbol loaded = nullptr;
  expect_ok(LoomixSymbolFromJson(text.c_str(), &loaded));
  EXPECT_EQ(list_of(loaded, "arguments").size(), 4u);
  expect_error(LoomixSymbolFromJson(text.substr(0, text.size() / 2).c_str(), &loaded), "");
  expect_error(LoomixSymbolFromJson(nullptr, &loaded), "json is null");
}

TEST(CApiSymbols, AttributesAreSetAndListed) {
  const LoomixSymbol symbol = compose("FullyConnected", {{"num_hidden", "3"}}, {variable("data")}, "fc");
  expect_ok(LoomixSymbolSetAttribute(symbol, "lr_mult", "2"));
  LoomixPairs pairs{};
  expect_ok(LoomixSymbolListAttributes(symbol, 0, &pairs));
  std::vector<std::pair<std::string, std::string>> found;
  for (size_t i = 0; i < pairs.count; ++i) found.emplace_back(pairs.names[i], pairs.values[i]);
  EXPECT_THAT(found, ::testing::Contains(::testing::Pair(std::string("num_hidden"), std::string("3"))));
  EXPECT_THAT(found, ::testing::Contains(::testing::Pair(std::string("lr_mult"), std::string("2"))));
  expect_ok(LoomixSymbolListAttributes(symbol, 1, &pairs));
  found.clear();
  for (size_t i = 0; i < pairs.count; ++i) found.emplace_back(pairs.names[i], pairs.values[i]);
  EXPECT_THAT(found, ::testing::Contains(::testing::Pair(std::string("fc$num_hidden"), std::string("3"))));
}

TEST(CApiSymbols, ShapesAndTypesAreInferred) {
  const LoomixSymbol network = small_network();
  const char* name = "data";
  LoomixShape of = shape({2, 5});
  LoomixInferredShapes shapes{};
  expect_ok(LoomixSymbolInferShape(network, 1, &name, &of, &shapes));
  EXPECT_TRUE(shapes.complete);
  ASSERT_EQ(shapes.arguments, 4u);
  EXPECT_EQ(shapes.argument_shapes[1].sizes[1], 5);
  EXPECT_EQ(shapes.output_shapes[0].sizes[0], 2);
  EXPECT_EQ(shapes.output_shapes[0].sizes[1], 3);
  expect_ok(LoomixSymbolInferShape(network, 0, nullptr, nullptr, &shapes));
  EXPECT_FALSE(shapes.complete);
  EXPECT_EQ(shapes.argument_shapes[0].axes, -1);
  const char* unknown = "nothing";
  expect_error(LoomixSymbolInferShape(network, 1, &unknown, &of, &shapes), "nothing");
  const char* both[] = {"data", "fc_weight"};
  const LoomixShape contradiction[] = {shape({2, 5}), shape({3, 4})};
  expect_error(LoomixSymbolInferShape(network, 2, both, contradiction, &shapes), "fc");

  const int32_t type = LOOMIX_FLOAT64;
  LoomixInferredTypes types{};
  expect_ok(LoomixSymbolInferType(network, 1, &name, &type, &types));
  EXPECT_EQ(types.argument_types[1], LOOMIX_FLOAT64);
  EXPECT_EQ(types.output_types[0], LOOMIX_FLOAT64);
}

TEST(CApiSymbols, BadInputIsAnError) {
  LoomixSymbol symbol = nullptr;
  expect_error(LoomixSymbolCreate("NoOperator", nullptr, nullptr, "x", &symbol), "NoOperator");
  expect_error(LoomixSymbolCreate("FullyConnected", nullptr, nullptr, "x", &symbol), "num_hidden");
  expect_error(LoomixSymbolCreate("relu", Pairs({{"nonsense", "1"}}).get(), nullptr, "x", &symbol),
               "nonsense");
  const LoomixSymbol input = variable("a");
  const char* wrong_name = "wieght";
  const LoomixSymbolInputs inputs{1, &wrong_name, &input};
  expect_error(LoomixSymbolCreate("relu", nullptr, &inputs, "x", &symbol), "wieght");
  expect_error(LoomixSymbolVariable(nullptr, nullptr, &symbol), "name is null");
  expect_error(LoomixSymbolGroup(0, nullptr, &symbol), "no symbols");
  expect_error(LoomixSymbolGetOutput(input, 1, &symbol), "output 1 of 1");
  size_t count = 0;
  const char* const* names = nullptr;
  expect_error(LoomixSymbolList(input, "inputz", &count, &names), "'inputz'");
  expect_ok(LoomixFree(input));
  expect_error(LoomixSymbolList(input, "inputs", &count, &names), "no such handle");
  EXPECT_EQ(symbol, nullptr);
}

}  // namespace
}  // namespace loomix::c_api_test

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "base/error.h"
#include "symbol/symbol.h"
#include "tests/cpp/symbol/test_ops.h"

namespace loomix {
namespace {

using test::test_table;
using ::testing::ElementsAre;

const std::filesystem::path kFiles = std::filesystem::path(LOOMIX_SOURCE_DIR) / "tests/compat/files/symbol";

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::filesystem::path> all_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFiles)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Most of the operators in these files are unknown to the test's table, which must not matter.
TEST(SymbolJson, FilesOfTodayAreWrittenBackByteForByte) {
  int compared = 0;
  for (const auto& path : all_files()) {
    if (path.filename().string().starts_with("old_")) continue;
    const std::string text = read(path);
    EXPECT_EQ(Symbol::from_json(test_table(), text).to_json(), text) << path;
    ++compared;
  }
  EXPECT_GE(compared, 8);
}

TEST(SymbolJson, UnknownOperatorsListTheirArguments) {
  const Symbol net = Symbol::load(test_table(), kFiles / "foreach-symbol.json");
  EXPECT_THAT(net.list_arguments(), ElementsAre("seq", "s0", "w"));
  EXPECT_THAT(net.list_outputs(), ElementsAre("_foreach0_output0", "_foreach0_output1"));
  EXPECT_FALSE(net.infer_shape({}).complete);
}

TEST(SymbolJson, FilesOf08GetTheirAuxiliaryStates) {
  const Symbol net = Symbol::load(test_table(), kFiles / "old_0800-symbol.json");
  EXPECT_THAT(net.list_arguments(), ElementsAre("data", "conv_weight", "conv_bias", "bn_gamma", "bn_beta",
                                                "fc_weight", "fc_bias", "softmax_label"));
  EXPECT_THAT(net.list_auxiliary_states(), ElementsAre("bn_moving_mean", "bn_moving_var"));
  const Symbol inside = net.internals();
  EXPECT_EQ(inside.output("conv_weight").attr("lr_mult"), "2.0");
  EXPECT_EQ(inside.output("bn_moving_mean").attr("__init__"), R"(["zero", {}])");
  EXPECT_EQ(inside.output("bn_moving_mean").attr("momentum"), "0.9");
  EXPECT_EQ(Symbol::from_json(test_table(), net.to_json()).list_auxiliary_states().size(), 2u);
}

TEST(SymbolJson, HiddenKeysOfInputsMoveToTheVariables) {
  const char* text = R"({"nodes": [
      {"op": "null", "name": "x", "inputs": []}, {"op": "null", "name": "w", "inputs": []},
      {"op": "FullyConnected", "name": "fc", "param": {"num_hidden": "2", "no_bias": "True"},
       "attr": {"weight_lr_mult": "3", "ctx_group": "g", "no_such_wd_mult": "1"}, "inputs": [[0, 0], [1, 0]]}],
      "arg_nodes": [0, 1], "heads": [[2, 0]]})";
  const Symbol net = Symbol::from_json(test_table(), text);
  EXPECT_EQ(net.internals().output("w").attr("__lr_mult__"), "3");
  EXPECT_EQ(net.attr("__ctx_group__"), "g");
  EXPECT_EQ(net.attr("weight_lr_mult"), std::nullopt);
  EXPECT_EQ(net.attr("no_such_wd_mult"), "1");
}

TEST(SymbolJson, OldArgmaxOverMinusOneMeantEverything) {
  const Symbol net = Symbol::load(test_table(), kFiles / "old_0904-symbol.json");
  EXPECT_EQ(net.output("am_output").attr("axis"), std::nullopt);
  EXPECT_EQ(net.internals().output("w").attr("lr_mult"), "0.1");
}

TEST(SymbolJson, SharedStatesCountTheirVersions) {
  const Symbol mean = Symbol::variable("m");
  const auto norm = [&](const Symbol& data, const char* name) {
    return Symbol::create(test_table(), "BatchNorm", {},
                          std::vector<NamedSymbol>{{"", data}, {"moving_mean", mean}}, name);
  };
  const std::string text = norm(norm(Symbol::variable("x"), "a"), "b").to_json();
  EXPECT_NE(text.find("[3, 0, 1], [4, 0, 1]]"), std::string::npos);
  EXPECT_NE(text.find("[3, 0, 2], [8, 0, 1]]"), std::string::npos) << text;
}

TEST(SymbolJson, TextIsEscaped) {
  const Symbol x = Symbol::variable("a\"b\\c\n\t\x01", {{"__k__", "\xc3\xa4"}});
  EXPECT_EQ(Symbol::from_json(test_table(), x.to_json()).list_arguments(), x.list_arguments());
}

TEST(SymbolJson, BadGraphsAreErrors) {
  const auto load = [](const std::string& nodes, const std::string& rest) {
    return Symbol::from_json(test_table(), "{\"nodes\": [" + nodes + "], " + rest +
                                               R"(, "attrs": {"mxnet_version": ["int", 10901]}})");
  };
  const std::string x = R"({"op": "null", "name": "x", "inputs": []})";
  const std::string end = R"("arg_nodes": [0], "heads": [[0, 0, 0]])";
  EXPECT_NO_THROW(load(x, end));
  EXPECT_THROW(load(x, R"("arg_nodes": [1], "heads": [[0, 0, 0]])"), ValueError);
  EXPECT_THROW(load(x, R"("arg_nodes": [0], "heads": [[0, 1, 0]])"), ValueError);
  EXPECT_THROW(load(x, R"("arg_nodes": [0], "heads": [[-1, 0, 0]])"), ValueError);
  EXPECT_THROW(load(x, R"("arg_nodes": [0], "heads": [[18446744073709551615, 0, 0]])"), ValueError);
  EXPECT_THROW(load(x, R"("arg_nodes": [0], "heads": [])"), ValueError);
  EXPECT_THROW(load(x, end + R"(, "colour": 1)"), ValueError);
  EXPECT_THROW(load(x + R"(, {"op": "tanh", "name": "t", "inputs": [[1, 0, 0]]})", end),
               ValueError);  // itself
  EXPECT_THROW(load(x + R"(, {"op": "tanh", "name": "t", "inputs": []})", end), ValueError);
  const auto node = [&](const char* op, const char* attrs) {
    return x + R"(, {"op": ")" + op + R"(", "name": "t", "inputs": [[0, 0, 0]], "attrs": )" + attrs + "}";
  };
  EXPECT_THROW(load(node("argmax", R"({"axis": "0", "no": "x"})"), end), ValueError);
  EXPECT_NO_THROW(load(node("tanh", R"({"no": "x"})"), end));  // an operator without parameters: as in MXNet
  EXPECT_THROW(load(x + R"(, {"op": "tanh", "name": "t", "inputs": [[0, 0, 0]], "size": 1})", end),
               ValueError);
  EXPECT_THROW(load(R"({"op": "null", "name": "x", "inputs": [], "attrs": {"k": 1}})", end), ValueError);
  EXPECT_THROW(Symbol::from_json(test_table(), "[]"), ValueError);
  EXPECT_THROW(Symbol::from_json(test_table(), ""), ValueError);
  EXPECT_THROW(Symbol::from_json(test_table(), std::string(1000000, '[')), ValueError);
  EXPECT_THROW(Symbol::load(test_table(), "/no/such/file.json"), FileError);
}

// Truncated and changed files: an Error, or a symbol that can be used; never anything else.
TEST(SymbolJson, DamagedFilesGiveErrors) {
  std::mt19937 random(5);
  int errors = 0;
  for (const auto& path : all_files()) {
    const std::string good = read(path);
    for (int i = 0; i < 300; ++i) {
      std::string text = good;
      if (i % 3 == 0) text.resize(random() % text.size());
      for (int flips = i % 3 == 0 ? 0 : 1 + i % 4; flips > 0; --flips) {
        static constexpr char kLikely[] = "0123456789-[]{},\":e.";
        char& c = text[random() % text.size()];
        c = i % 3 == 1 ? static_cast<char>(c ^ (1 << random() % 8))
                       : kLikely[random() % (sizeof kLikely - 1)];
      }
      try {
        const Symbol net = Symbol::from_json(test_table(), text);
        net.list_arguments();
        net.infer_shape({});
        Symbol::from_json(test_table(), net.to_json());
      } catch (const Error&) {
        ++errors;
      }
    }
  }
  EXPECT_GT(errors, 1000);
}

}  // namespace
}  // namespace loomix

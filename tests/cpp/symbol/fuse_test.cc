// SPDX-License-Identifier: Apache-2.0
// Elementwise operators as one pass over memory: what becomes one node, and that results stay the same.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "ops/fused/fused.h"
#include "ops/limits.h"
#include "tests/cpp/symbol/fuse_fixture.h"

namespace loomix {
namespace {

using testing_fuse::Shapes;
using Fuse = testing_fuse::FuseTest;

TEST_F(Fuse, AChainIsOneCall) {
  const Symbol x = variable("x"), y = variable("y");
  const Symbol net = op("exp", {scalar("_plus_scalar", op("elemwise_mul", {x, y}), 1)});
  for (const int64_t size : {1, 7, 512, 5000, 100'000}) {
    const Shapes shapes{{"x", Shape{size}}, {"y", Shape{size}}};
    EXPECT_EQ(calls(*bind(net, shapes, true)), 1);
    EXPECT_EQ(calls(*bind(net, shapes, false)), 3);
    expect_same(net, shapes, ops::Req::null, 0);
  }
}

TEST_F(Fuse, WhatOthersReadInBetweenStaysBefore) {
  const Symbol x = variable("x");
  const Symbol early = op("relu", {x});
  const Symbol sum = op("sum", {early}, {{"axis", "0"}, {"keepdims", "True"}});
  const Symbol net = op("broadcast_add", {scalar("_mul_scalar", early, 2), sum});
  const auto executor = bind(net, {{"x", {40, 30}}}, true);
  EXPECT_EQ(calls(*executor), 2) << executor->explain(RunMode::inference);  // relu and sum, the rest
  expect_same(net, {{"x", {40, 30}}}, ops::Req::null);
}

TEST_F(Fuse, RowsColumnsAndNumbersSpread) {
  const Symbol x = variable("x"), row = variable("row"), column = variable("column"), one = variable("one");
  Symbol net = op("broadcast_mul", {x, row});
  net = op("broadcast_add", {column, net});
  net = op("broadcast_sub", {net, one});
  for (const int64_t rows : {1, 3, 700}) {
    for (const int64_t size : {1, 5, 300, 5000}) {
      const Shapes shapes{
          {"x", {2, rows, size}}, {"row", Shape{size}}, {"column", {2, rows, 1}}, {"one", Shape{1}}};
      if (rows > 1 && size > 1) {
        EXPECT_EQ(calls(*bind(net, shapes, true)), 1);
      }
      expect_same(net, shapes, ops::Req::null);
      expect_same(net, shapes, ops::Req::write, 1e-5);
    }
  }
}

// Scales of channels, masks of images, rows of different lengths: what they have of a block is brought together.
TEST_F(Fuse, ArraysThatRepeatInTheMiddleAreBroughtTogether) {
  const Symbol x = variable("x"), gamma = variable("gamma"), mask = variable("mask"), line = variable("line");
  Symbol net = op("relu", {op("broadcast_mul", {x, gamma})});
  net = op("broadcast_add", {op("broadcast_sub", {mask, net}), line});
  for (const int64_t width : {16, 130, 9000}) {
    const Shapes shapes{
        {"x", {2, 3, 5, width}}, {"gamma", {1, 3, 1, 1}}, {"mask", {2, 1, 5, width}}, {"line", {5, width}}};
    EXPECT_EQ(calls(*bind(net, shapes, true)), width < ops::kLongestFusedRow ? 1 : 4);
    expect_same(net, shapes, ops::Req::null);
    expect_same(net, shapes, ops::Req::write, 1e-5);
  }
  const Symbol scaled = op("relu", {op("broadcast_mul", {x, gamma})});
  const Shapes large{{"x", {2, 3, 100, 150}}, {"gamma", {3, 1, 1}}};  // planes are longer than rows may be
  EXPECT_EQ(calls(*bind(scaled, large, true)), 1);
  expect_same(scaled, large, ops::Req::write, 1e-5);
  const Shapes narrow{{"x", {2, 3, 4}}, {"gamma", {1, 3, 1}}};
  EXPECT_EQ(calls(*bind(scaled, narrow, true)), 2);
  expect_same(scaled, narrow, ops::Req::write);
}

TEST_F(Fuse, RandomBroadcastsGiveTheSame) {
  for (unsigned seed = 0; seed < 80; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return random() % n; };
    Shape full{1, 1, 1, 1};
    for (int axis = 0; axis < 4; ++axis) full[axis] = static_cast<int64_t>(1 + below(axis == 3 ? 40 : 5));
    Shapes shapes{{"x", full}};
    Symbol net = variable("x");
    for (int i = 0; i < 5; ++i) {
      Shape part = full;
      for (int axis = 0; axis < 4; ++axis) {
        if (below(2) == 0) part[axis] = 1;
      }
      const std::string name = "part" + std::to_string(i);
      shapes.emplace_back(name, part);
      const bool first = below(2) == 0;
      net = op(below(2) == 0 ? "broadcast_add" : "broadcast_mul",
               {first ? net : variable(name), first ? variable(name) : net});
    }
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_same(net, shapes, ops::Req::null);
    expect_same(net, shapes, ops::Req::write, 1e-5);
  }
}

TEST_F(Fuse, GradientsAreFusedApartFromForward) {
  const Symbol x = variable("x"), y = variable("y");
  const Symbol net = op("tanh", {op("sigmoid", {op("elemwise_mul", {x, y})})});
  const Shapes shapes{{"x", {300, 20}}, {"y", {300, 20}}};
  const auto executor = bind(net, shapes, true, ops::Req::write);
  EXPECT_EQ(calls(*executor, RunMode::training), 2) << executor->explain(RunMode::training);
  for (const ops::Req request : {ops::Req::write, ops::Req::add}) expect_same(net, shapes, request);
}

TEST_F(Fuse, TypesMayChangeWithinAFusion) {
  const Symbol half = op("Cast", {variable("x")}, {{"dtype", "float16"}});
  const Symbol net = op("Cast", {scalar("_mul_scalar", op("exp", {half}), 3)}, {{"dtype", "float32"}});
  const Shapes shapes{{"x", Shape{3000}}};
  EXPECT_EQ(calls(*bind(net, shapes, true)), 1);
  expect_same(net, shapes, ops::Req::null, 0);
  expect_same(net, shapes, ops::Req::write, 0);
}

// Outputs of all kinds of graphs, some of which are read on, in the memory of inputs or not.
TEST_F(Fuse, RandomGraphsGiveTheSame) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return random() % n; };
    std::vector<Symbol> values{variable("a"), variable("b"), variable("row"), variable("column"),
                               variable("one")};
    const Shape full{static_cast<int64_t>(1 + below(40)), static_cast<int64_t>(2 + below(90))};
    const Shapes shapes{
        {"a", full}, {"b", full}, {"row", Shape{full[1]}}, {"column", {full[0], 1}}, {"one", Shape{1}}};
    values.push_back(op("elemwise_mul", {values[0], values[1]}));
    for (int i = 0; i < 25; ++i) {
      const Symbol& x = values[5 + below(values.size() - 5)];
      const Symbol& y = values[below(values.size())];
      const char* const unary[] = {"relu", "tanh", "sigmoid", "square", "abs", "negative"};
      const char* const binary[] = {"broadcast_add", "broadcast_sub", "broadcast_maximum"};
      switch (below(5)) {
        case 0: values.push_back(op(unary[below(6)], {x})); break;
        case 1: values.push_back(scalar("_mul_scalar", x, 0.5)); break;
        case 2: values.push_back(op("softmax", {x})); break;  // is not elementwise
        default: values.push_back(op(binary[below(3)], {x, y})); break;
      }
    }
    std::vector<Symbol> outputs;
    for (int i = 0; i < 3; ++i) outputs.push_back(values[5 + below(values.size() - 5)]);
    outputs.push_back(values.back());
    Symbol used = values[5];  // so that each is an argument
    for (int i = 2; i < 5; ++i) used = op("broadcast_add", {used, values[static_cast<size_t>(i)]});
    outputs.push_back(used);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Symbol net = Symbol::group(outputs);
    expect_same(net, shapes, ops::Req::null);
    expect_same(net, shapes, ops::Req::write, 1e-5);
    expect_same(net, shapes, ops::Req::add, 1e-5);
  }
}

TEST_F(Fuse, LongChainsAreCutIntoSeveralCalls) {
  Symbol net = variable("x");
  for (int i = 0; i < 1000; ++i) net = scalar("_plus_scalar", net, 1);
  const auto executor = bind(net, {{"x", Shape{16}}}, true);
  EXPECT_EQ(calls(*executor),
            (1000 + static_cast<int>(ops::kMostFusedSteps) - 1) / static_cast<int>(ops::kMostFusedSteps));
  expect_same(net, {{"x", Shape{16}}}, ops::Req::null, 0);
}

// Such outputs go to memory past the caches; their first and last bytes need not begin or end a line.
TEST_F(Fuse, OutputsLargerThanCachesAreTheSame) {
  const Symbol x = variable("x");
  const Symbol first = op("relu", {scalar("_minus_scalar", x, 1)});
  const std::vector<Symbol> outputs{first, scalar("_mul_scalar", first, 3)};
  const Symbol net = Symbol::group(outputs);
  const Shapes shapes{{"x", Shape{ops::cache_limits().streamed_bytes / 4 + 13}}};
  EXPECT_EQ(calls(*bind(net, shapes, true)), 1);
  expect_same(net, shapes, ops::Req::null, 0);
}

TEST_F(Fuse, GradientsLargerThanCachesAreTheSame) {
  const Symbol a = variable("a"), b = variable("b");
  const Symbol inner = scalar("_mul_scalar", scalar("_plus_scalar", op("elemwise_mul", {a, b}), 1), 2);
  const Symbol net = op("elemwise_mul", {op("tanh", {op("elemwise_sub", {inner, b})}), a});
  const Shape odd{ops::cache_limits().streamed_bytes / 4 + 29};
  const Shapes shapes{{"a", odd}, {"b", odd}};
  for (const ops::Req request : {ops::Req::write, ops::Req::add}) expect_same(net, shapes, request, 0);
}

// A result takes the place of an operand only where nothing reads that one later, not even as another operand.
TEST_F(Fuse, ResultsInTheirOperandsPlacesAreTheSame) {
  const Symbol x = variable("x");
  const Symbol shifted = scalar("_plus_scalar", x, 0.25);
  const Symbol square = op("elemwise_mul", {shifted, shifted});
  const Symbol twice = scalar("_mul_scalar", square, 2);
  const Symbol root = op("sqrt", {op("elemwise_add", {twice, square})});
  const Symbol where = op("where", {scalar("_greater_scalar", root, 1), root, shifted});
  const std::vector<Symbol> outputs{op("elemwise_sub", {where, twice}), root,
                                    op("elemwise_add", {root, where})};
  const Symbol net = Symbol::group(outputs);
  const Shapes shapes{{"x", Shape{1001}}};
  EXPECT_EQ(calls(*bind(net, shapes, true)), 1);
  expect_same(net, shapes, ops::Req::null, 0);
  expect_same(net, shapes, ops::Req::write, 0);
}

TEST_F(Fuse, FilesCannotHaveFusedNodes) {
  const std::string json = R"({"nodes": [{"op": "null", "name": "x", "inputs": []},
      {"op": "_fused", "name": "f", "attrs": {"num_args": "1"}, "inputs": [[0, 0, 0]]}],
      "arg_nodes": [0], "heads": [[1, 0, 0]]})";
  EXPECT_THROW(Symbol::from_json(table(), json), Error);
}

TEST(SpreadOver, IsByTheAxesThatAreLongerThanOne) {
  const auto extent = [](const Shape& operand, const Shape& result) -> std::pair<int, int64_t> {
    const auto row_size = ops::row_size_of(operand, result);
    if (!row_size) return {-1, 0};
    const ops::FusedInput input = ops::spread_over(operand, result, *row_size);
    return {static_cast<int>(input.extent) + (input.is_gathered() ? 10 : 0), *row_size};
  };
  const auto is = [](ops::Extent e, int64_t row = 0) { return std::pair(static_cast<int>(e), row); };
  using enum ops::Extent;
  EXPECT_EQ(extent({2, 3}, {2, 3}), is(full));
  EXPECT_EQ(extent({2, 1, 3}, {1, 2, 1, 3}), is(full));
  EXPECT_EQ(extent({1}, {2, 3}), is(one));
  EXPECT_EQ(extent({}, {2, 3}), is(one));
  EXPECT_EQ(extent({3, 4}, {2, 3, 4}), is(row, 12));
  EXPECT_EQ(extent({4}, {2, 3, 4}), is(row, 4));
  EXPECT_EQ(extent({2, 1, 1}, {2, 3, 4}), is(column, 12));
  EXPECT_EQ(extent({2, 3, 1}, {2, 3, 4}), is(column, 4));
  EXPECT_EQ(extent({1, 3, 1}, {2, 3, 4}), std::pair(10 + static_cast<int>(column), int64_t{4}));
  EXPECT_EQ(extent({2, 1, 4}, {2, 3, 4}), std::pair(10 + static_cast<int>(full), int64_t{4}));
  EXPECT_EQ(ops::spread_over({2, 1, 4}, {2, 3, 4}, 4).steps, (std::vector<int64_t>{4, 0}));
  EXPECT_EQ(ops::spread_over({3, 4}, {2, 3, 4}, 4).steps, (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(extent({2, 3, 4}, {3, 4}).first, -1);
  EXPECT_EQ(extent({5}, {2, 3}).first, -1);
}

}  // namespace
}  // namespace loomix

// SPDX-License-Identifier: Apache-2.0
// Reductions that close a pass over memory, and what they gave, repeated, at the start of another.
#include <cmath>
#include <random>
#include <string>

#include "ops/fused/fused.h"
#include "tests/cpp/symbol/fuse_fixture.h"

namespace loomix {
namespace {

using testing_fuse::Floats;
using testing_fuse::Shapes;

constexpr const char* kReductions[] = {"sum", "mean", "max", "min", "prod", "nansum", "nanprod", "norm"};

class FuseReduce : public testing_fuse::FuseTest {
 protected:
  Symbol reduced(const std::string& name, const Symbol& x, const std::string& axes, bool keepdims = false) {
    TextPairs attrs{{"keepdims", keepdims ? "True" : "False"}};
    if (!axes.empty()) attrs.emplace_back("axis", axes);
    return op(name, {x}, attrs);
  }
};

TEST_F(FuseReduce, AChainAndItsReductionAreOneCall) {
  const Symbol x = variable("x"), y = variable("y");
  for (const char* name : kReductions) {
    for (const char* axes : {"", "(0,)", "(1,)", "(2,)", "(0, 1)", "(1, 2)", "(0, 2)", "(0, 1, 2)"}) {
      // Products of many numbers need numbers near 1.
      const Symbol near = scalar("_plus_scalar", scalar("_mul_scalar", op("elemwise_sub", {x, y}), 1e-3), 1);
      const Symbol net = reduced(name, near, axes);
      for (const Shape& shape : {Shape{2, 3, 5}, Shape{40, 1, 300}, Shape{3, 50, 300}, Shape{700, 9, 33}}) {
        SCOPED_TRACE(fmt::format("{} over {} of {}", name, axes, shape.to_string()));
        const Shapes shapes{{"x", shape}, {"y", shape}};
        const auto executor = bind(net, shapes, true);
        const bool nothing_to_reduce = shape[1] == 1 && axes == std::string("(1,)");
        EXPECT_EQ(calls(*executor), nothing_to_reduce ? 2 : 1) << executor->explain(RunMode::inference);
        expect_same(net, shapes, ops::Req::null);
      }
      expect_same(net, {{"x", {3, 7, 60}}, {"y", {3, 7, 60}}}, ops::Req::write, 1e-5);
      expect_same(net, {{"x", {3, 7, 60}}, {"y", {3, 7, 60}}}, ops::Req::add, 1e-5);
    }
  }
}

// Losses: forward one pass that writes one number, backward one pass that writes the gradients.
TEST_F(FuseReduce, ALossAndItsGradientAreTwoCalls) {
  const Symbol x = variable("x"), y = variable("y");
  const Shapes shapes{{"x", {500, 300}}, {"y", {500, 300}}};
  for (const char* name : {"sum", "mean"}) {
    for (const char* axes : {"", "(0,)", "(1,)"}) {
      const Symbol net = reduced(name, op("square", {op("elemwise_sub", {x, y})}), axes);
      const auto executor = bind(net, shapes, true, ops::Req::write);
      EXPECT_EQ(calls(*executor, RunMode::training), 2) << executor->explain(RunMode::training);
      expect_same(net, shapes, ops::Req::write, 1e-5);
    }
  }
}

// The gradient of a row is the sum over the rows, made in the pass that makes the other gradients.
TEST_F(FuseReduce, GradientsOfRowsAndNumbersCloseTheBackwardPass) {
  const Symbol net = op("tanh", {op("broadcast_mul", {variable("x"), variable("row")})});
  const Shapes shapes{{"x", {300, 200}}, {"row", {1, 200}}};
  const auto executor = bind(net, shapes, true, ops::Req::write);
  EXPECT_EQ(calls(*executor, RunMode::training), 2) << executor->explain(RunMode::training);
  for (const ops::Req request : {ops::Req::write, ops::Req::add}) expect_same(net, shapes, request, 1e-5);
}

// exp(x - max) / sum: the maximum alone, the sum with what it is the sum of, the quotient.
TEST_F(FuseReduce, WhatNeedsAReductionComesAfterItsPass) {
  const Symbol x = variable("x");
  const Symbol e = op("exp", {op("broadcast_sub", {x, reduced("max", x, "(1,)", true)})});
  const Symbol net = op("broadcast_div", {e, reduced("sum", e, "(1,)", true)});
  const Shapes shapes{{"x", {60, 90}}};
  EXPECT_EQ(calls(*bind(net, shapes, true)), 3);
  expect_same(net, shapes, ops::Req::null);
  expect_same(net, shapes, ops::Req::write, 1e-5);
}

// Their sums would have to be kept for every second element.
TEST_F(FuseReduce, ReductionsThatKeepTooMuchStayApart) {
  const Symbol net = reduced("sum", op("square", {variable("x")}), "(0,)");
  const int64_t most = ops::kMostFusedSums;
  EXPECT_EQ(calls(*bind(net, {{"x", {8, most}}}, true)), 1);
  EXPECT_EQ(calls(*bind(net, {{"x", {8, most + 1}}}, true)), 2);
  expect_same(net, {{"x", {8, most}}}, ops::Req::write, 1e-5);
}

// A result may have as many bytes as a row or a column that is still read, and then its memory.
TEST_F(FuseReduce, ResultsMayLieInTheMemoryOfInputs) {
  const Symbol x = variable("x"), y = variable("y");
  for (const auto& [axes, part] : {std::pair("(0,)", Shape{1, 300}), std::pair("(1,)", Shape{300, 1})}) {
    const Symbol small = op("sin", {op("softmax", {y})});
    const Symbol net = op("softmax", {reduced("sum", op("broadcast_mul", {x, small}), axes, true)});
    expect_same(net, {{"x", {300, 300}}, {"y", part}}, ops::Req::null);
    expect_same(net, {{"x", {300, 300}}, {"y", part}}, ops::Req::write, 1e-5);
  }
}

TEST_F(FuseReduce, OtherTypesAreFoldedAsTheReductionAloneDoes) {
  for (const char* type : {"float64", "float16", "int32", "int64", "uint8"}) {
    for (const char* name : {"sum", "mean", "max", "norm"}) {
      for (const char* axes : {"", "(0,)", "(1,)"}) {
        const Symbol x =
            op("Cast", {scalar("_mul_scalar", variable("x"), type == std::string("float16") ? 1 : 10)},
               {{"dtype", type}});
        const Symbol net =
            op("Cast", {reduced(name, scalar("_plus_scalar", x, 1), axes)}, {{"dtype", "float32"}});
        SCOPED_TRACE(fmt::format("{} of {} over {}", name, type, axes));
        expect_same(net, {{"x", {130, 70}}}, ops::Req::null, 1e-6);
      }
    }
  }
}

// How a pass is cut depends on shapes alone.
TEST_F(FuseReduce, SumsHaveTheSameBitsInEachRun) {
  const Symbol x = variable("x");
  const std::vector<Symbol> outputs{reduced("sum", op("exp", {x}), ""),
                                    reduced("mean", op("exp", {x}), "(0,)"),
                                    reduced("sum", op("square", {x}), "(1,)")};
  const Symbol net = Symbol::group(outputs);
  const Shapes shapes{{"x", {500, 700}}};
  const std::vector<Floats> expected = run(*bind(net, shapes, true), false);
  for (int turn = 0; turn < 20; ++turn) EXPECT_EQ(run(*bind(net, shapes, true), false), expected);
}

// Reductions over random axes anywhere in random graphs: of results that others read, too, and read by what follows.
TEST_F(FuseReduce, RandomGraphsGiveTheSame) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const bool gradients = seed % 2 == 0;
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return random() % n; };
    Shape full{1, 1, 1};
    for (int axis = 0; axis < 3; ++axis) full[axis] = static_cast<int64_t>(1 + below(axis == 2 ? 150 : 20));
    const Shapes shapes{{"a", full}, {"b", full}};
    std::vector<Symbol> values{op("elemwise_add", {variable("a"), variable("b")})}, outputs;
    for (int i = 0; i < 14; ++i) {
      const Symbol x = values[below(values.size())];
      // All values are positive: differences of nearly equal ones would have few digits that are right.
      const char* const unary[] = {"relu", "tanh", "sigmoid", "square", "abs"};
      switch (below(4)) {
        case 0: values.push_back(op(unary[below(5)], {x})); break;
        case 1: values.push_back(op("broadcast_add", {x, values[below(values.size())]})); break;
        default: {
          std::string axes;
          int64_t elements = 1;  // that are reduced to one
          for (int axis = 0; axis < 3; ++axis) {
            if (below(2) != 0) continue;
            axes += fmt::format("{}, ", axis);
            elements *= full[axis];
          }
          if (axes.empty()) elements = full.size();
          else axes = "(" + axes + ")";
          // Gradients of a minimum change much with the last place of elements that are nearly equal.
          const char* const names[] = {"mean", "sum", "norm", "min"};
          const size_t name = below(gradients ? 3 : 4);
          // Not so large that tanh has no slope.
          const double scale = std::pow(static_cast<double>(elements), name == 1 ? -1 : name == 2 ? -0.5 : 0);
          const Symbol part = scalar("_mul_scalar", reduced(names[name], x, axes, true), scale);
          if (below(3) == 0) outputs.push_back(part);
          values.push_back(op("tanh", {op("broadcast_add", {values[below(values.size())], part})}));
        }
      }
    }
    outputs.push_back(values.back());
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Symbol net = Symbol::group(outputs);
    expect_same(net, shapes, ops::Req::null, 1e-5);
    if (!gradients) continue;
    expect_same(net, shapes, ops::Req::write, 1e-4);
    expect_same(net, shapes, ops::Req::add, 1e-4);
  }
}

}  // namespace
}  // namespace loomix

// SPDX-License-Identifier: Apache-2.0
// Joining without a copy: parts are written to their places in the whole, and pieces are read where they lie.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/cpp/symbol/fuse_fixture.h"

namespace loomix {
namespace {

using testing_fuse::Floats;
using testing_fuse::Shapes;

class Parts : public testing_fuse::FuseTest {
 protected:
  Symbol concat(const std::vector<Symbol>& inputs, int axis) {
    return op("Concat", inputs, {{"num_args", std::to_string(inputs.size())}, {"dim", std::to_string(axis)}});
  }
  Symbol piece(const Symbol& x, int axis, int begin, int end) {
    return op(
        "slice_axis", {x},
        {{"axis", std::to_string(axis)}, {"begin", std::to_string(begin)}, {"end", std::to_string(end)}});
  }

  Ref<BoundExecutor> bind(const Symbol& symbol, const Shapes& shapes, bool in_place, ops::Req request) {
    PlanOptions plan;
    plan.inplace = plan.co_share = in_place;
    return FuseTest::bind(symbol, shapes, plan, request);
  }
  // How many nodes need no call; what they give is that of every value in memory of its own.
  int expect_same(const Symbol& symbol, const Shapes& shapes, ops::Req request = ops::Req::null) {
    const bool gradients = request != ops::Req::null;
    const auto with = bind(symbol, shapes, true, request), without = bind(symbol, shapes, false, request);
    const RunMode mode = gradients ? RunMode::training : RunMode::inference;
    for (int turn = 0; turn < 2; ++turn)
      EXPECT_EQ(run(*with, gradients), run(*without, gradients)) << with->explain(mode);
    const GraphPlan& plan = with->plan(mode);
    return static_cast<int>(std::count(plan.elided.begin(), plan.elided.end(), char{true}));
  }
};

TEST_F(Parts, AreWrittenToTheirPlaces) {
  const Symbol x = Symbol::variable("x");
  const Symbol net = op("softmax", {concat({op("sin", {x}), op("softmax", {x}), op("exp", {x})}, 1)});
  EXPECT_EQ(expect_same(net, {{"x", {1, 5, 7}}}), 1);
  EXPECT_EQ(expect_same(net, {{"x", {2, 5, 7}}}), 0);  // a part's rows lie apart
  const Symbol first = op("softmax", {concat({op("sin", {x}), op("square", {x})}, 0)});
  EXPECT_EQ(expect_same(first, {{"x", {2, 5, 7}}}), 1);
  EXPECT_EQ(expect_same(first, {{"x", {2, 5, 7}}}, ops::Req::write),
            2);  // and the gradient's parts lie in it
  const Symbol kept = op("softmax", {concat({op("sin", {x}), op("softmax", {x})}, 0)});
  EXPECT_EQ(expect_same(kept, {{"x", {2, 5, 7}}}, ops::Req::write),
            1);  // softmax's gradient reads its output
  const Symbol stacked =
      op("softmax", {op("stack", {op("sin", {x}), op("softmax", {x})}, {{"num_args", "2"}, {"axis", "0"}})});
  EXPECT_EQ(expect_same(stacked, {{"x", {2, 5, 7}}}), 1);
}

TEST_F(Parts, TakeNoMemoryBesideTheWhole) {
  const Symbol x = Symbol::variable("x");
  const Symbol net = op("softmax", {concat({op("sin", {x}), op("softmax", {x})}, 0)});
  const auto executor = bind(net, {{"x", {64, 64}}}, true, ops::Req::null);
  EXPECT_EQ(executor->plan(RunMode::inference).memory.bytes(), 2 * 64 * 64 * 4);
}

// As in DenseNet: each join holds the one before it.
TEST_F(Parts, MayBeJoinsThemselves) {
  Symbol net = op("sin", {Symbol::variable("x")});
  for (int i = 0; i < 4; ++i) net = concat({net, op("softmax", {net})}, 1);
  EXPECT_EQ(expect_same(op("softmax", {net}), {{"x", {1, 3, 8}}}), 4);
}

TEST_F(Parts, WithPlacesOfTheirOwnAreCopied) {
  const Symbol x = Symbol::variable("x"), y = op("sin", {x}), z = op("softmax", {x});
  const Shapes shapes{{"x", {3, 8}}};
  EXPECT_EQ(expect_same(op("softmax", {concat({x, y}, 0)}), shapes), 0);  // the user's array
  EXPECT_EQ(expect_same(op("softmax", {concat({y, y}, 0)}), shapes), 0);  // in two places
  EXPECT_EQ(expect_same(concat({y, z}, 0), shapes), 0);                   // the whole is an output
  const std::vector<Symbol> outputs{op("softmax", {concat({y, z}, 0)}), z};
  EXPECT_EQ(expect_same(Symbol::group(outputs), shapes), 0);  // a part is an output
  const std::vector<Symbol> twice{op("softmax", {concat({y, z}, 0)}), op("softmax", {concat({z, y}, 0)})};
  EXPECT_EQ(expect_same(Symbol::group(twice), shapes), 1);  // one of them
}

TEST_F(Parts, OfOneArrayAreReadWhereTheyLie) {
  const Symbol x = Symbol::variable("x");
  const Symbol y = op("softmax", {x});
  const Symbol net = op("elemwise_add", {op("softmax", {piece(y, 0, 0, 2)}), op("sin", {piece(y, 0, 1, 3)})});
  EXPECT_EQ(expect_same(net, {{"x", {3, 8}}}), 2);
  const Symbol split = op("SliceChannel", {y}, {{"num_outputs", "2"}, {"axis", "1"}});
  const std::vector<Symbol> halves{op("softmax", {split[0]}), op("softmax", {split[1]})};
  EXPECT_EQ(expect_same(Symbol::group(halves), {{"x", {1, 8}}}), 1);
  EXPECT_EQ(expect_same(Symbol::group(halves), {{"x", {2, 8}}}), 0);
  EXPECT_EQ(expect_same(op("softmax", {piece(x, 0, 1, 2)}), {{"x", {3, 8}}}), 1);  // of the user's
}

TEST_F(Parts, OfAnArgumentFollowItWhenItIsReplaced) {
  const Symbol net = op("softmax", {piece(Symbol::variable("x"), 0, 1, 2)});
  const auto executor = bind(net, {{"x", {3, 8}}}, true, ops::Req::null);
  const Floats before = values(executor->forward(RunMode::inference)[0]);
  NDArray other(executor->arrays().arguments[0].engine(), Shape{3, 8}, DType::float32, Device::cpu());
  std::mt19937 random(7);
  fill(other, random);
  executor->replace_argument(0, other);
  const Floats after = values(executor->forward(RunMode::inference)[0]);
  EXPECT_NE(before, after);
  other.copy_from_host(values(executor->arrays().arguments[0]).data(), other.bytes());
  EXPECT_EQ(values(executor->forward(RunMode::inference)[0]), after);
}

// Everything that joins, cuts, gives views, and works in place, in any order.
TEST_F(Parts, OfRandomGraphsGiveTheSame) {
  int without_calls = 0;
  for (unsigned seed = 0; seed < 80; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return random() % n; };
    std::vector<std::pair<Symbol, int>> all{{Symbol::variable("a"), 4},
                                            {Symbol::variable("b"), 6}};  // and rows
    for (int i = 0; i < 16; ++i) {
      const auto [x, rows] = all[below(all.size())];
      const auto& [y, more] = all[below(all.size())];
      switch (below(6)) {
        case 0:
        case 1:
          if (rows + more <= 60) all.push_back({concat({x, y}, 0), rows + more});
          break;
        case 2: {
          const int begin = static_cast<int>(below(static_cast<size_t>(rows)));
          const int end = begin + 1 + static_cast<int>(below(static_cast<size_t>(rows - begin)));
          all.push_back({piece(x, 0, begin, end), end - begin});
          break;
        }
        case 3: all.push_back({op("softmax", {x}), rows}); break;
        case 4: all.push_back({op("Reshape", {op("relu", {x})}, {{"shape", "(-1, 5)"}}), rows}); break;
        default: all.push_back({op("sin", {x}), rows}); break;
      }
    }
    std::vector<Symbol> outputs;
    for (int i = 0; i < 2; ++i) outputs.push_back(all[2 + below(all.size() - 2)].first);
    outputs.push_back(op("softmax", {all.back().first}));
    outputs.push_back(concat({all[0].first, all[1].first}, 0));
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Symbol net = Symbol::group(outputs);
    const Shapes shapes{{"a", {4, 5}}, {"b", {6, 5}}};
    without_calls += expect_same(net, shapes);
    expect_same(net, shapes, ops::Req::write);
    expect_same(net, shapes, ops::Req::add);
  }
  EXPECT_GT(without_calls, 60);
}

}  // namespace
}  // namespace loomix

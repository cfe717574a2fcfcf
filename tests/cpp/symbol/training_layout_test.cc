// SPDX-License-Identifier: Apache-2.0
// Images in blocks of channels in training: gradients with the pass and without.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>
#include <string>

#include "ops/blocked/blocked.h"
#include "symbol/executor/bound_executor.h"
#include "symbol/symbol.h"
#include "tests/cpp/symbol/blocked_fixture.h"

namespace loomix {
namespace {

// The convention 'same' pads by itself.
const char* padding(std::string_view convention, const char* pad) {
  return convention == "same" ? "(0, 0)" : pad;
}

using Floats = std::vector<float>;

class TrainingLayout : public testing_blocked::BlockedTest {
 protected:
  Symbol norm(const Symbol& x, bool fix_gamma = false, bool global = false) {
    return op("BatchNorm",
              {{"fix_gamma", fix_gamma ? "True" : "False"},
               {"eps", "0.01"},
               {"use_global_stats", global ? "True" : "False"}},
              {x});
  }
  Symbol add(const Symbol& a, const Symbol& b) { return op("elemwise_add", {}, {a, b}); }
  Symbol pool(const Symbol& x, const TextPairs& attrs) { return op("Pooling", attrs, {x}); }
  static Symbol group(const std::vector<Symbol>& symbols) { return Symbol::group(symbols); }
  Symbol cast(const Symbol& x, const char* dtype) { return op("Cast", {{"dtype", dtype}}, {x}); }
  Symbol in_bfloat16(const Symbol& x) { return cast(x, "bfloat16"); }
  // With weights that are parameters of float32.
  Symbol conv_of(const char* dtype, const Symbol& x, int filters, int kernel, int stride = 1) {
    const Symbol weight = cast(Symbol::variable("w" + std::to_string(names_)), dtype);
    return op("Convolution",
              {{"kernel", fmt::format("({0}, {0})", kernel)},
               {"num_filter", std::to_string(filters)},
               {"pad", fmt::format("({0}, {0})", kernel / 2)},
               {"stride", fmt::format("({0}, {0})", stride)},
               {"no_bias", "True"}},
              {x, weight});
  }

  // The same random arrays for the same symbol.
  Ref<BoundExecutor> bind(const Symbol& symbol, const Shape& data, bool layout,
                          ops::Req request = ops::Req::write, double recompute = 0) {
    BindOptions options;
    options.plan.choose_layout = layout;
    options.plan.recompute_share = recompute;
    options.plan.poison = true;
    SimpleBindRequest bound;
    bound.shapes = {{"data", data}};
    bound.requests.assign(symbol.list_arguments().size(), request);
    auto executor = BoundExecutor::simple_bind(runtime_, symbol, Device::cpu(), bound, options);
    std::mt19937 random(1);
    for (const NDArray& array : executor->arrays().arguments) fill(array, random, -0.5f);
    for (const NDArray& array : executor->arrays().auxiliary_states) fill(array, random, 0.5f);
    for (const NDArray& array : executor->arrays().gradients) fill(array, random, -0.5f);
    return executor;
  }
  void fill(NDArray array, std::mt19937& random, float least) {
    std::uniform_real_distribution<float> number(least, least + 1);
    Floats items(static_cast<size_t>(array.size()));
    for (float& item : items) item = number(random);
    array.copy_from_host(items.data(), array.bytes());
  }

  // Outputs, gradients and auxiliary states of a training pass.
  std::vector<Floats> train(BoundExecutor& executor) {
    std::vector<Floats> all;
    std::vector<NDArray> heads;
    for (const NDArray& output : executor.forward(RunMode::training)) {
      all.push_back(values(output));
      heads.push_back(array(output.shape(), Floats(static_cast<size_t>(output.size()), 0.0f)));
      std::mt19937 random(2);
      fill(heads.back(), random, -0.5f);
    }
    executor.backward(heads);
    for (const NDArray& gradient : executor.arrays().gradients) all.push_back(values(gradient));
    for (const NDArray& state : executor.arrays().auxiliary_states) all.push_back(values(state));
    return all;
  }
  static int count(BoundExecutor& executor, const std::string& op) {
    std::istringstream lines(executor.explain(RunMode::training));
    int found = 0;
    for (std::string line, number, name; std::getline(lines, line);) {
      if (std::istringstream(line) >> number >> name && name == op) ++found;
    }
    return found;
  }
  // Some gradients are zero but for rounding: that of a bias which a normalisation takes away.
  static double distance(const Floats& a, const Floats& b) {
    EXPECT_EQ(a.size(), b.size());
    double difference = 0, norm = 1e-1 * static_cast<double>(b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      difference += std::pow(double{a[i]} - b[i], 2);
      norm += std::pow(double{b[i]}, 2);
    }
    return std::sqrt(difference / norm);
  }
  void expect_same(const Symbol& symbol, const Shape& data, int convolutions, double tolerance = 1e-4,
                   ops::Req request = ops::Req::write) {
    const auto with = bind(symbol, data, true, request), without = bind(symbol, data, false, request);
    EXPECT_EQ(count(*with, "_blocked_convolution"), convolutions) << with->explain(RunMode::training);
    EXPECT_EQ(count(*without, "_blocked_convolution"), 0);
    for (int run = 0; run < 2; ++run) {
      const auto found = train(*with), expected = train(*without);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i)
        EXPECT_LT(distance(found[i], expected[i]), tolerance) << "array " << i << " of run " << run;
    }
  }
};

const TextPairs kMax = {{"kernel", "(3, 3)"}, {"stride", "(2, 2)"}, {"pad", "(1, 1)"}, {"pool_type", "max"}};
const TextPairs kMean = {{"global_pool", "True"}, {"kernel", "(1, 1)"}, {"pool_type", "avg"}};

TEST_F(TrainingLayout, AResidualNetworkConvertsOnlyItsEnds) {
  const Symbol first = pool(relu(norm(conv(Symbol::variable("data"), 32, 7, 2, 1, false))), kMax);
  const Symbol inner = relu(norm(conv(first, 64, 3, 1, 1, false)));
  const Symbol unit = relu(add(norm(conv(inner, 32, 1, 1, 1, false), true), first));
  const Symbol net = op("FullyConnected", {{"num_hidden", "5"}}, {pool(unit, kMean)});
  const auto executor = bind(net, {4, 3, 24, 24}, true);
  const std::string text = executor->explain(RunMode::training);
  EXPECT_EQ(count(*executor, "_blocked_convolution"), 3) << text;
  EXPECT_EQ(count(*executor, "_backward_blocked_conv_data"), 2) << text;
  EXPECT_EQ(count(*executor, "_backward_blocked_conv_weight"), 3) << text;
  EXPECT_EQ(count(*executor, "_blocked_training_weight"), 5) << text;
  EXPECT_EQ(count(*executor, "_unblock_channels"), 2)
      << text;  // what FullyConnected reads; for the data's gradient
  EXPECT_EQ(count(*executor, "_block_channels"), 1) << text;  // and its gradient
  EXPECT_EQ(count(*executor, "Pooling") + count(*executor, "BatchNorm"), 0) << text;
}

TEST_F(TrainingLayout, EachFormEqualsThePlainOne) {
  const Symbol data = Symbol::variable("data");
  const Shape shape{4, 16, 13, 11};
  expect_same(conv(conv(data, 24, 3), 40, 3), shape, 2);
  expect_same(conv(conv(data, 64, 3), 32, 3), {8, 32, 24, 24}, 2);  // Winograd's
  expect_same(conv(conv(data, 32, 3, 2), 48, 1, 2, 1, false), shape, 2);
  expect_same(conv(conv(data, 32, 3, 2), 32, 3, 1, 32), shape, 2);
  expect_same(conv(conv(data, 64, 1), 64, 3, 1, 2), shape, 2);
  expect_same(relu(conv(relu(conv(data, 32, 3)), 32, 3)), shape, 2);
  expect_same(relu(conv(relu(conv(data, 32, 5, 2)), 32, 3)), {5, 3, 20, 20}, 2);  // a first layer
  const Symbol x = conv(data, 32, 3);
  for (const bool fix_gamma : {false, true}) {
    for (const bool global : {false, true}) {
      expect_same(conv(relu(norm(x, fix_gamma, global)), 32, 1), shape, 2);
      expect_same(conv(norm(x, fix_gamma, global), 24, 1), shape, 2);
      expect_same(conv(norm(conv(data, 24, 3), fix_gamma, global), 24, 1), shape,
                  2);  // blocks that are not full
    }
  }
  expect_same(conv(relu(add(norm(x), conv(data, 32, 1))), 32, 1), shape, 3);
  expect_same(conv(relu(add(conv(data, 24, 3), relu(norm(conv(data, 24, 1))))), 24, 1), shape, 3);
  expect_same(
      conv(op("Concat", {{"num_args", "3"}, {"dim", "1"}}, {conv(data, 32, 1), conv(data, 16, 3), x}), 32, 1),
      shape, 4);
  expect_same(conv(op("elemwise_mul", {}, {op("sigmoid", {}, {x}), x}), 32, 1), shape, 2);
}

TEST_F(TrainingLayout, PoolingsEqualThePlainOnes) {
  const Symbol x = relu(conv(Symbol::variable("data"), 32, 3));  // with equal maxima: zeros
  const Shape shape{4, 16, 13, 11};
  for (const char* convention : {"valid", "full", "same"}) {
    for (const char* type : {"max", "avg"}) {
      for (const char* counted : {"True", "False"}) {
        const TextPairs attrs = {{"kernel", "(3, 2)"},
                                 {"stride", "(2, 2)"},
                                 {"pad", padding(convention, "(1, 0)")},
                                 {"pooling_convention", convention},
                                 {"pool_type", type},
                                 {"count_include_pad", counted}};
        expect_same(conv(pool(x, attrs), 32, 3), shape, 2);
      }
    }
  }
  expect_same(conv(pool(x, {{"kernel", "(2, 2)"}, {"stride", "(3, 1)"}}), 32, 3), shape, 2);
  for (const char* type : {"max", "avg", "sum"}) {
    const TextPairs attrs = {{"global_pool", "True"}, {"kernel", "(1, 1)"}, {"pool_type", type}};
    expect_same(op("FullyConnected", {{"num_hidden", "5"}}, {pool(conv(x, 32, 3), attrs)}), shape, 2);
  }
}

TEST_F(TrainingLayout, ResponsesAreNormalisedInBlocks) {
  const Symbol x = relu(conv(Symbol::variable("data"), 40, 3));  // the last block is not full
  const Shape shape{4, 16, 13, 11};
  for (const int neighbours : {1, 3, 5, 15}) {
    for (const char* beta : {"0.75", "0.5"}) {
      const Symbol net = conv(lrn(x, neighbours, beta), 32, 3);
      const auto executor = bind(net, shape, true);
      EXPECT_EQ(count(*executor, "_blocked_LRN"), 1) << executor->explain(RunMode::training);
      EXPECT_EQ(count(*executor, "_backward_blocked_LRN"), 1) << executor->explain(RunMode::training);
      expect_same(net, shape, 2);
    }
  }
  expect_same(conv(pool(lrn(pool(x, kMax)), kMax), 32, 3), {4, 16, 40, 40}, 2);
  expect_same(conv(lrn(x, 35), 32, 3), shape,
              0);  // windows reach further than a block: conversions do not pay
}

TEST_F(TrainingLayout, GradientsOfClipsStayInBlocks) {
  const auto relu6 = [&](const Symbol& x) { return op("clip", {{"a_min", "0"}, {"a_max", "0.25"}}, {x}); };
  const Symbol x = relu6(norm(conv(Symbol::variable("data"), 32, 3)));
  const Symbol net = conv(relu6(norm(conv(x, 32, 3, 1, 32))), 32, 1);
  const auto executor = bind(net, {4, 16, 13, 11}, true);
  // The data and their gradient, the output and what comes with it.
  EXPECT_EQ(count(*executor, "_block_channels") + count(*executor, "_unblock_channels"), 4)
      << executor->explain(RunMode::training);
  expect_same(net, {4, 16, 13, 11}, 3);
}

TEST_F(TrainingLayout, GradientsAreAddedWhereThatIsAskedFor) {
  const Symbol net = relu(norm(conv(relu(norm(conv(Symbol::variable("data"), 32, 3))), 32, 3)));
  expect_same(net, {4, 16, 9, 9}, 2, 1e-4, ops::Req::add);
}

TEST_F(TrainingLayout, OutputsAndGradientsOfInputsStayPlain) {
  const Symbol x = relu(norm(conv(Symbol::variable("data"), 32, 3)));
  const Symbol y = relu(norm(conv(x, 32, 3)));
  expect_same(group({x, conv(y, 32, 1)}), {4, 16, 9, 9}, 3);
}

// The gradient of ReLU needs neither its output nor the normalised one.
TEST_F(TrainingLayout, NormalisationsTakeInWhatFollows) {
  const Symbol data = Symbol::variable("data");
  const Symbol x = relu(norm(conv(data, 32, 3)));
  const Symbol net = conv(relu(add(norm(conv(x, 32, 3), true), x)), 32, 1);
  const auto executor = bind(net, {4, 16, 9, 9}, true);
  const std::string text = executor->explain(RunMode::training);
  EXPECT_EQ(count(*executor, "_blocked_batch_norm"), 2) << text;
  EXPECT_EQ(count(*executor, "Activation"), 0) << text;
  EXPECT_EQ(count(*executor, "elemwise_add"), 1) << text;    // of gradients
  EXPECT_EQ(count(*executor, "_backward_relu"), 1) << text;  // that of the sum, which two others read
  expect_same(net, {4, 16, 9, 9}, 3);
}

TEST_F(TrainingLayout, SmallBatchesAndPlainNetworksAreLeftAlone) {
  const Symbol data = Symbol::variable("data");
  expect_same(conv(relu(conv(data, 32, 3)), 32, 3), {3, 16, 9, 9}, 0);
  const Symbol plain = op("softmax", {{"axis", "1"}}, {conv(op("softmax", {{"axis", "1"}}, {data}), 32, 3)});
  expect_same(plain, {4, 16, 9, 9}, 0);  // conversions would cost more than they spare
}

TEST_F(TrainingLayout, Bfloat16EqualsThePlainNetwork) {
  if (!ops::is_blocked_type(DType::bfloat16)) GTEST_SKIP() << "this processor does not multiply bfloat16";
  const Symbol data = in_bfloat16(Symbol::variable("data"));
  const Symbol x = pool(relu(norm(conv_of("bfloat16", data, 32, 3))), kMax);
  const Symbol net = relu(add(norm(conv_of("bfloat16", x, 32, 3), true), x));
  expect_same(cast(net, "float32"), {4, 16, 17, 15}, 2, 0.03);
}

// As mixed precision has it: what stays in float32 reads a cast, and so does its gradient.
TEST_F(TrainingLayout, GradientsOfCastsStayInBlocks) {
  if (!ops::is_blocked_type(DType::bfloat16)) GTEST_SKIP() << "this processor does not multiply bfloat16";
  Symbol x = in_bfloat16(Symbol::variable("data"));
  for (int i = 0; i < 4; ++i) x = relu(conv_of("bfloat16", x, 32, 3));
  const Symbol between = cast(lrn(cast(x, "float32")), "bfloat16");
  const Symbol net = cast(conv_of("bfloat16", lrn(between), 32, 3), "float32");
  const auto executor = bind(net, {4, 16, 17, 15}, true);
  EXPECT_EQ(count(*executor, "_backward_blocked_LRN"), 2);
  EXPECT_EQ(count(*executor, "_block_channels") + count(*executor, "_unblock_channels"), 4)
      << executor->explain(RunMode::training);
  expect_same(net, {4, 16, 17, 15}, 5, 0.03);
}

TEST_F(TrainingLayout, Float64StaysPlain) {
  const Symbol x = relu(conv_of("float64", cast(Symbol::variable("data"), "float64"), 32, 3));
  expect_same(cast(conv_of("float64", lrn(x), 16, 3), "float32"), {4, 16, 9, 9}, 0, 1e-10);
}

TEST_F(TrainingLayout, RandomNetworksEqualThePlainOnes) {
  int compared = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const auto any = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
    std::vector<Symbol> images = {Symbol::variable("data")};
    const int filters[] = {16, 32, 32, 48, 24, 5};
    for (int i = 0; i < 6; ++i) {
      const Symbol x = images[static_cast<size_t>(any(static_cast<int>(images.size())))];
      const Symbol made = conv(x, filters[any(6)], 1 + 2 * any(2), 1, 1, any(2) == 0);
      switch (any(8)) {
        case 0: images.push_back(relu(made)); break;
        case 1: images.push_back(norm(made, any(2) == 0)); break;
        case 2: images.push_back(relu(norm(made, any(2) == 0))); break;
        case 3: images.push_back(op("broadcast_add", {}, {norm(made), conv(x, filters[any(6)], 3)})); break;
        case 4: images.push_back(op("Concat", {{"num_args", "2"}}, {made, x})); break;
        case 5: images.push_back(op("tanh", {}, {made})); break;
        case 6: images.push_back(lrn(relu(made))); break;
        default: images.push_back(made);
      }
    }
    const Symbol net =
        any(2) == 0 ? images.back() : group({images.back(), images[1 + static_cast<size_t>(any(5))]});
    const Shape shape{4 + any(5), 16, 7, 8};
    try {
      const auto request = any(3) == 0 ? ops::Req::add : ops::Req::write;
      const double recompute = any(2) == 0 ? 0 : 0.2;
      const auto with = bind(net, shape, true, request, recompute),
                 without = bind(net, shape, false, request, recompute);
      const auto found = train(*with), expected = train(*without);
      for (size_t i = 0; i < found.size(); ++i)
        EXPECT_LT(distance(found[i], expected[i]), 1e-4) << "array " << i << ", seed " << seed;
      compared += count(*with, "_blocked_convolution") > 0 ? 1 : 0;
    } catch (const ShapeError&) {  // different numbers of channels do not add up
    }
  }
  EXPECT_GE(compared, 15);
}

TEST_F(TrainingLayout, ResultsDoNotDependOnTheRun) {
  const Symbol x = relu(norm(conv(Symbol::variable("data"), 64, 3)));
  const Symbol net = relu(add(norm(conv(x, 64, 3)), x));
  const auto first = train(*bind(net, {8, 32, 20, 20}, true));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(train(*bind(net, {8, 32, 20, 20}, true)), first);
}

}  // namespace
}  // namespace loomix

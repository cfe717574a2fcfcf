// SPDX-License-Identifier: Apache-2.0
// What only prediction does: the passes fold_norm and layout, and values that are held.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <sstream>
#include <string>

#include "ops/blocked/blocked.h"
#include "symbol/executor/bound_executor.h"
#include "symbol/passes/hold.h"
#include "symbol/symbol.h"
#include "tests/cpp/symbol/blocked_fixture.h"

namespace loomix {
namespace {

// The convention 'same' pads by itself.
const char* padding(std::string_view convention, const char* pad) {
  return convention == "same" ? "(0, 0)" : pad;
}

using Floats = std::vector<float>;

class Prediction : public testing_blocked::BlockedTest {
 protected:
  Symbol norm(const Symbol& x, bool fix_gamma) {
    return op("BatchNorm", {{"fix_gamma", fix_gamma ? "True" : "False"}, {"eps", "0.001"}}, {x});
  }

  // The same random arrays for the same symbol and seed.
  Ref<BoundExecutor> bind(const Symbol& symbol, const Shape& data, bool passes, unsigned seed = 1) {
    BindOptions options;
    options.plan.fold_norm = options.plan.choose_layout = passes;
    options.plan.poison = true;
    SimpleBindRequest request;
    request.shapes = {{"data", data}};
    request.requests.assign(symbol.list_arguments().size(), ops::Req::null);
    auto executor = BoundExecutor::simple_bind(runtime_, symbol, Device::cpu(), request, options);
    std::mt19937 random(seed);
    for (const NDArray& array : executor->arrays().arguments) fill(array, random, 0.5f);
    for (const NDArray& array : executor->arrays().auxiliary_states) fill(array, random, 1.0f);
    return executor;
  }
  // Auxiliary states, of which half are variances, around 1.
  void fill(NDArray array, std::mt19937& random, float middle) {
    std::uniform_real_distribution<float> number(middle - 0.5f, middle + 0.5f);
    Floats items(static_cast<size_t>(array.size()));
    for (float& item : items) item = middle == 1.0f ? number(random) : 2 * number(random) - 2 * middle;
    array.copy_from_host(items.data(), array.bytes());
  }
  static Floats predict(BoundExecutor& executor) { return values(executor.forward(RunMode::inference)[0]); }
  static const NDArray& argument(BoundExecutor& executor, const std::string& name) {
    const auto names = executor.symbol().list_arguments();
    const auto at = std::find(names.begin(), names.end(), name);
    return executor.arrays().arguments[static_cast<size_t>(at - names.begin())];
  }
  static int count(BoundExecutor& executor, const std::string& op) {
    std::istringstream lines(executor.explain(RunMode::inference));
    int found = 0;
    for (std::string line, number, name; std::getline(lines, line);) {
      if (std::istringstream(line) >> number >> name && name == op) ++found;
    }
    return found;
  }

  static double distance(const Floats& a, const Floats& b) {
    EXPECT_EQ(a.size(), b.size());
    double difference = 0, norm = 1e-30;
    for (size_t i = 0; i < a.size(); ++i) {
      difference += std::pow(double{a[i]} - b[i], 2);
      norm += std::pow(double{b[i]}, 2);
    }
    return std::sqrt(difference / norm);
  }
  // The passes on against off.
  void expect_same(const Symbol& symbol, const Shape& data) {
    const auto with = bind(symbol, data, true), without = bind(symbol, data, false);
    const Floats expected = predict(*without);
    EXPECT_LT(distance(predict(*with), expected), 1e-5);
    EXPECT_LT(distance(predict(*with), expected), 1e-5) << "in the second run";
    EXPECT_EQ(count(*without, "_blocked_convolution"), 0);
  }
};

const TextPairs kMax = {{"kernel", "(3, 3)"}, {"stride", "(2, 2)"}, {"pool_type", "max"}};

TEST_F(Prediction, ABlockOfAResidualNetworkIsThreeConvolutions) {
  const Symbol x = relu(norm(conv(Symbol::variable("data"), 64, 1, 1, 1, false), false));
  const Symbol net = relu(op("elemwise_add", {}, {norm(conv(x, 64, 3), true), norm(conv(x, 64, 1), false)}));
  const auto executor = bind(net, {2, 32, 14, 14}, true);
  const std::string text = executor->explain(RunMode::inference);
  EXPECT_EQ(count(*executor, "_blocked_convolution"), 3) << text;
  EXPECT_EQ(count(*executor, "BatchNorm") + count(*executor, "Activation") + count(*executor, "elemwise_add"),
            0)
      << text;
  EXPECT_EQ(count(*executor, "_block_channels"), 1) << text;
  EXPECT_EQ(count(*executor, "_unblock_channels"), 1) << text;
  EXPECT_NE(text.find("held until an argument changes"), std::string::npos) << text;
  expect_same(net, {2, 32, 14, 14});
}

TEST_F(Prediction, ResidualsOfPartlyFilledBlocksStayBlocked) {
  const auto clip = [&](const Symbol& x, const char* low) {
    return op("clip", {{"a_min", low}, {"a_max", "2"}}, {x});
  };
  const Symbol x = conv(Symbol::variable("data"), 24, 1);
  const Symbol sum = op("elemwise_add", {}, {conv(conv(x, 32, 3), 24, 1), x});
  const auto executor = bind(conv(clip(sum, "-1"), 32, 1), {1, 32, 9, 9}, true);
  EXPECT_EQ(count(*executor, "_unblock_channels"), 1) << executor->explain(RunMode::inference);
  EXPECT_EQ(count(*executor, "elemwise_add") + count(*executor, "clip"), 0);
  expect_same(conv(clip(sum, "-1"), 32, 1), {1, 32, 9, 9});
  expect_same(conv(clip(sum, "0.5"), 32, 1), {1, 32, 9, 9});  // which would make padding 0.5
}

TEST_F(Prediction, BoundsBecomePartsOfWhatTheyRead) {
  const auto clip = [&](const Symbol& x) { return op("clip", {{"a_min", "-0.25"}, {"a_max", "0.5"}}, {x}); };
  const Symbol first = clip(conv(Symbol::variable("data"), 32, 3));
  const Symbol shared = conv(first, 32, 1);  // a normalisation that reads what others read is not folded
  const Symbol net = op("elemwise_add", {}, {clip(norm(shared, false)), shared});
  const auto executor = bind(net, {2, 16, 9, 9}, true);
  EXPECT_EQ(count(*executor, "clip"), 0) << executor->explain(RunMode::inference);
  EXPECT_EQ(count(*executor, "_blocked_norm"), 1) << executor->explain(RunMode::inference);
  expect_same(net, {2, 16, 9, 9});
}

TEST_F(Prediction, FirstLayersTakePlainImages) {
  const Symbol net = op("Pooling", kMax, {relu(conv(Symbol::variable("data"), 32, 7, 2))});
  const auto executor = bind(net, {1, 3, 32, 32}, true);
  EXPECT_EQ(count(*executor, "_block_channels"), 0) << executor->explain(RunMode::inference);
  EXPECT_EQ(count(*executor, "_blocked_pooling"), 1);
  expect_same(net, {1, 3, 32, 32});
}

// Channels that do not fill the last block, groups, joins, normalisations that read what others read, all kinds of pooling.
TEST_F(Prediction, EachFormEqualsThePlainOne) {
  const Symbol data = Symbol::variable("data");
  const Shape shape{2, 16, 13, 11};
  expect_same(conv(conv(data, 24, 3), 40, 3), shape);
  expect_same(conv(conv(data, 32, 3, 2), 32, 3, 1, 32), shape);
  expect_same(conv(conv(data, 64, 1), 64, 3, 1, 2), shape);
  expect_same(op("Concat", {{"num_args", "3"}, {"dim", "1"}},
                 {conv(data, 32, 1), conv(data, 16, 3), conv(data, 24, 5)}),
              shape);
  expect_same(op("Concat", {{"num_args", "2"}, {"dim", "1"}}, {conv(data, 24, 1), conv(data, 16, 3)}), shape);
  const Symbol shared = conv(data, 32, 3);
  expect_same(op("elemwise_add", {}, {relu(norm(shared, false)), shared}), shape);
  expect_same(op("elemwise_mul", {}, {op("sigmoid", {}, {conv(data, 32, 1)}), conv(data, 32, 3)}), shape);
  for (const char* convention : {"valid", "full", "same"}) {
    for (const char* type : {"max", "avg"}) {
      for (const char* counted : {"True", "False"}) {
        const TextPairs pool = {{"kernel", "(3, 2)"},
                                {"stride", "(2, 2)"},
                                {"pad", padding(convention, "(1, 0)")},
                                {"pooling_convention", convention},
                                {"pool_type", type},
                                {"count_include_pad", counted}};
        expect_same(op("Pooling", pool, {conv(data, 32, 3)}), shape);
      }
    }
  }
  for (const char* type : {"max", "avg"}) {
    const TextPairs pool = {{"global_pool", "True"}, {"kernel", "(1, 1)"}, {"pool_type", type}};
    expect_same(op("FullyConnected", {{"num_hidden", "5"}}, {op("Pooling", pool, {conv(data, 32, 3)})}),
                shape);
  }
  expect_same(norm(op("FullyConnected", {{"num_hidden", "6"}, {"no_bias", "True"}}, {data}), false), shape);
}

TEST_F(Prediction, ResponsesAreNormalisedInBlocks) {
  const Symbol x = relu(conv(Symbol::variable("data"), 40, 3));  // the last block is not full
  for (const int neighbours : {1, 3, 5, 9, 15}) {
    for (const char* beta : {"0.75", "0.5"}) {
      const Symbol net = conv(lrn(x, neighbours, beta), 24, 3);
      EXPECT_EQ(count(*bind(net, {1, 16, 33, 21}, true), "_blocked_LRN"), 1);
      expect_same(net, {1, 16, 33, 21});
      expect_same(net, {3, 16, 7, 5});
    }
  }
  expect_same(conv(lrn(x, 35), 24, 3), {1, 16, 9, 9});  // windows that reach further than a block
  const Symbol uneven = relu(conv(Symbol::variable("data"), 36, 3));  // for blocks of 8 and of 16
  const Symbol hollow =
      op("LRN", {{"nsize", "3"}, {"knorm", "0"}}, {uneven});  // would fill blocks up with NaN
  EXPECT_EQ(count(*bind(conv(hollow, 24, 3), {1, 16, 9, 9}, true), "LRN"), 1);
}

// Sizes for which oneDNN lays out the weights of Winograd's method in its several ways, where it has that method.
TEST_F(Prediction, WinogradsWeightsInAllTheirForms) {
  const std::array<int64_t, 3> sizes[] = {{64, 32, 56},  {128, 64, 28}, {32, 48, 14}, {96, 80, 28},
                                          {256, 64, 14}, {64, 128, 7},  {40, 36, 14}};
  for (const auto& [channels, filters, side] : sizes)
    expect_same(conv(Symbol::variable("data"), static_cast<int>(filters), 3), {1, channels, side, side});
}

// Of weights that were let go, executors for other sizes make their own forms from the one that is held.
TEST_F(Prediction, FormsOfWeightsThatWereLetGo) {
  const Symbol x = relu(norm(conv(Symbol::variable("data"), 64, 1, 1, 1, false), false));
  const Symbol net = conv(norm(conv(x, 96, 3), true), 48, 3);
  const Shape first{1, 32, 28, 28};
  const auto reference = bind(net, first, false);
  BindOptions options;
  options.held = make_ref<HeldValues>();
  options.fixed.assign(net.list_arguments().size(), true);
  for (size_t i = 0; i < options.fixed.size(); ++i) options.fixed[i] = net.list_arguments()[i] != "data";
  std::vector<NDArray> weights = reference->arrays().arguments;
  const auto bound = [&](const Shape& shape) {
    BoundArrays arrays = reference->arrays();
    arrays.arguments = weights;
    for (size_t i = 0; i < weights.size(); ++i) {
      if (!options.fixed[i]) arrays.arguments[i] = zeros(*engine_, shape, DType::float32, Device::cpu());
    }
    auto executor = BoundExecutor::bind(runtime_, net, Device::cpu(), std::move(arrays), options);
    executor->prepare();
    return executor;
  };
  const auto held = bound(first);
  int let_go = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!options.fixed[i] || held->needs_argument(i)) continue;
    held->let_go(i);
    weights[i] = held->arrays().arguments[i];
    ++let_go;
  }
  EXPECT_GE(let_go, 3);
  for (const Shape& shape : {first, Shape{2, 32, 14, 14}, Shape{1, 32, 5, 5}, Shape{1, 32, 56, 56}}) {
    const auto plain = bind(net, shape, false);
    const auto other = bound(shape);
    NDArray data = argument(*other, "data");
    data.copy_from_host(values(argument(*plain, "data")).data(), data.bytes());
    for (size_t i = 0; i < weights.size(); ++i) {
      if (options.fixed[i]) plain->replace_argument(i, reference->arrays().arguments[i]);
    }
    for (size_t i = 0; i < reference->arrays().auxiliary_states.size(); ++i)
      plain->replace_auxiliary_state(i, reference->arrays().auxiliary_states[i]);
    EXPECT_LT(distance(predict(*other), predict(*plain)), 1e-5) << shape.to_string();
  }
}

TEST_F(Prediction, RandomNetworksEqualThePlainOnes) {
  int compared = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto any = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
    std::vector<Symbol> images = {Symbol::variable("data")};
    const int filters[] = {8, 16, 24, 32, 64, 5};
    for (int i = 0; i < 10; ++i) {
      const Symbol x = images[static_cast<size_t>(any(static_cast<int>(images.size())))];
      const Symbol made = conv(x, filters[any(6)], 1 + 2 * any(2), 1, 1, any(2) == 0);
      switch (any(6)) {
        case 0: images.push_back(relu(made)); break;
        case 1: images.push_back(norm(made, any(2) == 0)); break;
        case 2: images.push_back(op("broadcast_add", {}, {made, conv(x, filters[any(6)], 3)})); break;
        case 3: images.push_back(op("Concat", {{"num_args", "2"}}, {made, x})); break;
        case 4: images.push_back(lrn(made)); break;
        default: images.push_back(made);
      }
    }
    Symbol net = images.back();
    try {
      expect_same(net, {1 + any(5), 16, 9, 10});
      ++compared;
    } catch (const ShapeError&) {  // different numbers of channels do not add up
    }
  }
  EXPECT_GE(compared, 20);
}

// Constants of equal shapes, alone and in expressions, beside weights and in their place: a value that is another's shows.
TEST_F(Prediction, ExecutorsThatShareHeldValuesKeepThemApart) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto any = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
    const auto column = [&](const Symbol& x, const char* shape) {
      return op("Reshape", {{"shape", shape}}, {x});
    };
    std::vector<Symbol> constants;
    for (int i = 0; i < 4; ++i) {
      const std::string value = fmt::format("{}", 0.01 * (1 + any(40)));
      const Symbol steps = op("_arange", {{"start", "0"}, {"stop", "16"}}, {});
      constants.push_back(i % 2 == 0 ? op("_full", {{"shape", "(16,)"}, {"value", value}}, {})
                                     : op("_mul_scalar", {{"scalar", value}}, {column(steps, "(-1,)")}));
    }
    const auto constant = [&] { return constants[static_cast<size_t>(any(4))]; };
    Symbol x = Symbol::variable("data");
    for (int i = 0; i < 4; ++i) {
      x = conv(x, 16, 3);
      if (any(2) == 0) x = norm(x, false);
      if (any(2) == 0) x = op("broadcast_add", {}, {x, column(constant(), "(1, 16, 1, 1)")});
      if (any(2) == 0) x = op("broadcast_mul", {}, {x, column(constant(), "(1, 1, 1, 16)")});
      if (any(3) == 0)
        x = op("Convolution", {{"kernel", "(1, 1)"}, {"num_filter", "16"}, {"num_group", "16"}},
               {x, column(constant(), "(16, 1, 1, 1)"), constant()});
    }
    const Shape first{1, 16, 16, 16};
    const auto reference = bind(x, first, false, seed);
    const auto names = x.list_arguments();
    BindOptions options;
    options.held = make_ref<HeldValues>();
    for (const std::string& name : names) options.fixed.push_back(name != "data");
    for (const Shape& shape : {first, Shape{2, 16, 16, 16}, first, Shape{1, 16, 32, 16}}) {
      BoundArrays arrays = reference->arrays();
      arrays.arguments[0] = array(shape, Floats(static_cast<size_t>(shape.size()), 0.25f));
      BindOptions without;
      without.plan.fold_norm = without.plan.choose_layout = false;
      const auto plain = BoundExecutor::bind(runtime_, x, Device::cpu(), arrays, without);
      const auto sharing = BoundExecutor::bind(runtime_, x, Device::cpu(), arrays, options);
      sharing->prepare();
      EXPECT_LT(distance(predict(*sharing), predict(*plain)), 1e-5) << "seed " << seed << shape.to_string();
    }
  }
}

TEST_F(Prediction, HeldWeightsFollowTheirArguments) {
  const Symbol net = norm(conv(Symbol::variable("data"), 32, 3), false);
  const auto with = bind(net, {1, 16, 8, 8}, true), without = bind(net, {1, 16, 8, 8}, false);
  predict(*with);
  std::mt19937 random(7);
  for (size_t i = 0; i < with->arrays().arguments.size(); ++i) {
    fill(with->arrays().arguments[i], random, 0.5f);
    std::vector<float> items = values(with->arrays().arguments[i]);
    NDArray(without->arrays().arguments[i]).copy_from_host(items.data(), with->arrays().arguments[i].bytes());
    EXPECT_LT(distance(predict(*with), predict(*without)), 1e-5) << net.list_arguments()[i];
  }
  const NDArray fresh = array({32, 16, 3, 3}, Floats(32 * 16 * 9, 0.25f));
  const auto names = net.list_arguments();
  const auto weight = static_cast<size_t>(std::find(names.begin(), names.end(), "n0_weight") - names.begin());
  with->replace_argument(weight, fresh);
  without->replace_argument(weight, fresh);
  EXPECT_LT(distance(predict(*with), predict(*without)), 1e-5);
  const NDArray mean = array({32}, Floats(32, 0.75f));
  with->replace_auxiliary_state(0, mean);
  without->replace_auxiliary_state(0, mean);
  EXPECT_LT(distance(predict(*with), predict(*without)), 1e-5);
}

// Nobody pushes a task there.
TEST_F(Prediction, HeldWeightsFollowMemoryThatOthersWrite) {
  const Symbol net = conv(Symbol::variable("data"), 32, 3);
  const auto with = bind(net, {1, 16, 8, 8}, true), without = bind(net, {1, 16, 8, 8}, false);
  Floats items(32 * 16 * 9, 0.5f);
  const NDArray weight =
      NDArray::from_external(*engine_, items.data(), Shape{32, 16, 3, 3}, DType::float32, [] {});
  for (const auto& executor : {with, without}) executor->replace_argument(1, weight);
  EXPECT_LT(distance(predict(*with), predict(*without)), 1e-5);
  std::fill(items.begin(), items.end(), -0.25f);
  EXPECT_LT(distance(predict(*with), predict(*without)), 1e-5);

  const NDArray own = array({32, 16, 3, 3}, items);
  for (const auto& executor : {with, without}) executor->replace_argument(1, own);
  EXPECT_LT(distance(predict(*with), predict(*without)), 1e-5);
  {
    const Exposure exposure(own.storage_ref());
    predict(*with);
    std::fill_n(static_cast<float*>(own.view().data), own.size(), 2.0f);
  }
  EXPECT_LT(distance(predict(*with), predict(*without)), 1e-5);
}

// More values are held than the symbol has outputs and gradients.
TEST_F(Prediction, ExecutorsThatTrainPredictInTheSameWay) {
  const Symbol net = norm(conv(conv(Symbol::variable("data"), 32, 3), 24, 3), false);
  SimpleBindRequest request;
  request.shapes = {{"data", {2, 16, 8, 8}}};
  request.requests.assign(net.list_arguments().size(), ops::Req::write);
  const auto training = BoundExecutor::simple_bind(runtime_, net, Device::cpu(), request);
  const auto predicting = bind(net, {2, 16, 8, 8}, true);
  for (size_t i = 0; i < net.list_arguments().size(); ++i)
    training->replace_argument(i, predicting->arrays().arguments[i]);
  for (size_t i = 0; i < predicting->arrays().auxiliary_states.size(); ++i)
    training->replace_auxiliary_state(i, predicting->arrays().auxiliary_states[i]);
  EXPECT_EQ(predict(*training), predict(*predicting));
}

TEST_F(Prediction, WeightsAreMadeReadyOnce) {
  const auto executor = bind(conv(Symbol::variable("data"), 32, 3), {1, 16, 8, 8}, true);
  predict(*executor);
  NDArray data = argument(*executor, "data");
  // Waits count as pushed, too, so the result is not read.
  const auto pushed = [&](bool with_other_data) {
    if (with_other_data)
      data.copy_from_host(Floats(static_cast<size_t>(data.size()), 1.0f).data(), data.bytes());
    engine_->wait_all();
    const int64_t before = engine_->stats().pushed;
    executor->forward(RunMode::inference);
    return engine_->stats().pushed - before;
  };
  const int64_t again = pushed(false);
  EXPECT_EQ(pushed(true), again);
  NDArray weight = argument(*executor, executor->symbol().list_arguments()[1]);
  weight.copy_from_host(Floats(static_cast<size_t>(weight.size()), 1.0f).data(), weight.bytes());
  EXPECT_GT(pushed(false), again);
  EXPECT_EQ(pushed(false), again);
}

TEST_F(Prediction, MonitorsSeeTheGraphAsItWasComposed) {
  const Symbol net = norm(conv(Symbol::variable("data"), 32, 3), false);
  const auto executor = bind(net, {2, 16, 8, 8}, true);
  std::vector<std::string> seen;
  executor->set_monitor(
      {[&](const std::string& name, const std::string&, const NDArray&) { seen.push_back(name); }});
  predict(*executor);
  EXPECT_EQ(
      std::count(seen.begin(), seen.end(), "n0_output") + std::count(seen.begin(), seen.end(), "n1_output"),
      2);
}

TEST_F(Prediction, ResultsDoNotDependOnThreads) {
  const Symbol net = relu(conv(conv(Symbol::variable("data"), 64, 3), 128, 3));
  const auto executor = bind(net, {1, 32, 14, 14}, true);
  const Floats first = predict(*executor);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(predict(*executor), first);
}

}  // namespace
}  // namespace loomix

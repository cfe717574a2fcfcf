// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "loomix/nn.h"
#include "tests/cpp/cpp_api/nn_test.h"

namespace {

using namespace loomix::nn;  // NOLINT: as its users write
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Residual : Block {
  explicit Residual(int64_t wanted) : Block("Residual"), channels(wanted) {}
  Array forward(const Array& x) override { return norm(conv(x)) + x * scale(); }
  int64_t channels;
  Conv2D& conv = child("conv", Conv2D(channels, 3, {.padding = 1}));
  BatchNorm& norm = child("norm", BatchNorm());
  Parameter& scale = parameter("scale", {1}, {.init = Initializer::constant(1)});
};

void expect_near(const Array& a, const Array& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_LT(op::max(op::abs(a - b)).item(), tolerance);
}

TEST(NnBlock, ACustomBlockRunsEagerAndCompiled) {
  seed(1);
  Sequential net(Conv2D(4, 3, {.padding = 1, .activation = "relu"}), Residual(4), MaxPool2D(2), Flatten(),
                 Dense(3));
  net.initialize(Initializer::xavier());
  const Array x = uniform({2, 3, 8, 8});
  const Array eager = net(x);
  EXPECT_EQ(eager.shape(), (Shape{2, 3}));
  std::vector<std::string> names;
  for (const auto& [name, parameter] : net.parameters()) names.push_back(name);
  EXPECT_THAT(names,
              ElementsAre("0.weight", "0.bias", "1.scale", "1.conv.weight", "1.conv.bias", "1.norm.gamma",
                          "1.norm.beta", "1.norm.running_mean", "1.norm.running_var", "4.weight", "4.bias"));
  EXPECT_EQ(net.parameter_at("4.weight").shape(), (Shape{3, 64}));
  Array gradients[2];
  for (const bool compiled : {false, true}) {
    net.hybridize(compiled);
    expect_near(net(x), eager);
    Array loss;
    {
      const Record record;
      loss = net(x).sum();
    }
    loss.backward();
    gradients[compiled] = net.parameter_at("1.conv.weight").grad().copy();
    net.parameter_at("1.norm.running_mean").set(zeros(4));
    net.parameter_at("1.norm.running_var").set(ones(4));
  }
  expect_near(gradients[0], gradients[1], 1e-4);
  EXPECT_NE(net.explain(), "");
  expect_near(net(x(Slice(0, 1))), eager(Slice(0, 1)));  // another batch size
}

TEST(NnBlock, ErrorsNameThePlace) {
  Sequential net(Dense(4), Sequential(Dense(3), Dense(2)));
  EXPECT_THAT(message([&] {
                net(ones({2, 5}));
              }),
              HasSubstr("'weight' of shape (4, 5) has no value yet; initialize() the block"));
  net.initialize();
  net(ones({2, 5}));
  EXPECT_THAT(message([&] {
                net(ones({2, 6}));
              }),
              HasSubstr("[Dense(4)] block '0' of the Sequential, with (2, 6):"));
  Sequential wrong(Dense(4), Sequential(Dense(3, {.in_units = 7})));
  wrong.initialize();
  EXPECT_THAT(message([&] { wrong(ones({2, 5})); }), HasSubstr("block '1.0' of the Sequential"));
  wrong.hybridize();
  EXPECT_THAT(message([&] { wrong(ones({2, 5})); }), HasSubstr("1.0.FullyConnected"));
  Sequential checked(Input({3}), Dense(2));
  checked.initialize();
  EXPECT_THAT(message([&] { checked(ones({2, 5})); }), HasSubstr("samples have shape (5,); expected (3,)"));
  EXPECT_THAT(message([&] { net.parameter_at("2.weight"); }), HasSubstr("no parameter '2.weight'"));
  EXPECT_THAT(message([] { Conv2D(4, {3, 3, 3}); }), HasSubstr("sizes (3, 3, 3) for 2 axes"));
}

TEST(NnBlock, GraphsFollowShapesAndModeWhereForwardReadsThem) {
  auto by_rows = [](const Array& x) { return x * static_cast<double>(x.shape(0)); };
  auto by_mode = [](const Array& x) { return is_training() ? x * 2 : x; };
  Sequential net{Lambda(by_rows), Lambda(by_mode)};
  net.hybridize();
  EXPECT_THAT(net(ones({2})).to_vector(), ElementsAre(2, 2));
  EXPECT_THAT(net(ones({1})).to_vector(), ElementsAre(1));
  const Record record;
  EXPECT_THAT(net(ones({1})).to_vector(), ElementsAre(2));
  const Array constant{1, 2};
  Sequential other{Lambda([&](const Array& x) { return x + constant; })};
  other.hybridize();
  EXPECT_THAT(other(ones({2})).to_vector(), ElementsAre(2, 3));
  Sequential reads{Lambda([](const Array& x) { return x * x.sum().item(); })};
  reads.hybridize();
  EXPECT_THAT(message([&] { reads(ones({2})); }), HasSubstr("depends on elements cannot be hybridized"));
}

TEST(NnBlock, FilesGoBothWays) {
  const std::string folder = std::filesystem::temp_directory_path() / "loomix_nn_files";
  std::filesystem::create_directories(folder);
  Sequential net(Dense(3), BatchNorm(), Dense(2)), other(Dense(3), BatchNorm(), Dense(2)), less(Dense(3));
  net.initialize();
  const Array x = uniform({4, 5}), y = net(x);
  for (const std::string& path : {folder + "/net.params", folder + "/net.safetensors"}) {
    net.save(path);
    other.initialize({}, cpu(), true);
    other.load(path);
    expect_near(other(x), y, 1e-7);
    EXPECT_THAT(message([&] { less.load(path); }), HasSubstr("that the block does not have; ignore_extra"));
    less.load(path, false, true);
  }
  less.save(folder + "/less.safetensors");
  EXPECT_THAT(message([&] { net.load(folder + "/less.safetensors"); }),
              HasSubstr("has no parameter '1.gamma'"));
  net.load(folder + "/less.safetensors", true);
  // Damaged files are errors, whatever is wrong with them.
  detail::File file(folder + "/net.safetensors", "rb");
  const std::string whole = file.read_all();
  for (const size_t length : {size_t{0}, size_t{7}, size_t{20}, whole.size() / 2, whole.size() - 1}) {
    detail::File part(folder + "/part.safetensors", "wb");
    part.write(whole.data(), length);
    part.close();
    EXPECT_THAT(message([&] { net.load(folder + "/part.safetensors"); }), HasSubstr("part.safetensors' "));
  }
  std::filesystem::remove_all(folder);
}

TEST(NnBlock, ConvolutionsByAnAlgorithm) {
  const Array x = uniform({2, 4, 12, 12}, -1, 1);
  const auto with = [&](const char* algorithm) {
    seed(4);
    Sequential net(Conv2D(8, 3, {.padding = 1, .algorithm = algorithm}));
    net.initialize(Initializer::xavier());
    net.hybridize();
    const Array result = net(x);
    result.wait();
    return std::pair(result, net.explain());
  };
  const auto [direct, unused] = with("direct");
  for (const char* const algorithm : {"gemm", "fft"}) {
    const auto [result, text] = with(algorithm);
    EXPECT_LT(op::max(op::abs(result - direct)).item(), 1e-5) << algorithm;
    EXPECT_THAT(text, HasSubstr(std::string("convolution_") + algorithm));
  }
  EXPECT_THAT(message([&] { with("best"); }), HasSubstr("algorithm"));
}

TEST(NnBlock, Summary) {
  Sequential net(Dense(3), Dense(2));
  net.initialize();
  EXPECT_THAT(net.summary({1, 4}),
              HasSubstr("1 Dense(2)                                (1, 2)              8"));
  EXPECT_THAT(net.summary({1, 4}), HasSubstr("parameters: 23"));
}

TEST(NnRecurrent, LayersAreThoseOfTheirCells) {
  seed(2);
  LSTM lstm(3, {.layers = 2, .layout = "NTC", .bidirectional = true});
  lstm.initialize(Initializer::uniform(0.5));
  const Array x = uniform({2, 5, 4});
  const Array out = lstm(x);
  EXPECT_EQ(out.shape(), (Shape{2, 5, 6}));
  Arrays inputs = {x};
  for (const Array& state : lstm.begin_state(2)) inputs.push_back(state);
  const Arrays all_outputs = lstm.call(inputs);
  ASSERT_EQ(all_outputs.size(), 3u);
  expect_near(all_outputs[0], out);
  EXPECT_EQ(all_outputs[1].shape(), (Shape{4, 2, 3}));
  lstm.hybridize();
  expect_near(lstm(x), out);
  lstm(uniform({3, 5, 4}));
  GRU gru(3);
  gru.initialize();
  EXPECT_EQ(gru(uniform({5, 2, 4})).shape(), (Shape{5, 2, 3}));
  EXPECT_THAT(message([&] { gru.call({x, x, x}); }), HasSubstr("expected a sequence, or it and 1 state."));
  // One step of a GRU's relative by hand.
  RNN rnn(2);
  rnn.initialize(Initializer::uniform(0.5));
  const Array one = uniform({1, 1, 3});
  rnn(one);
  const Array by_hand = op::tanh(
      op::dot(one.reshape({1, 3}), rnn.parameter_at("_unfused.0.i2h_weight")(), {.transpose_b = true}));
  expect_near(rnn(one).reshape({1, 2}), by_hand);
}

TEST(NnRecurrent, AttentionIsASoftmaxOverKeys) {
  seed(3);
  MultiHeadAttention attention(4, 2);
  attention.initialize(Initializer::uniform(0.5));
  const Array x = uniform({2, 3, 4});
  const Array out = attention(x);
  EXPECT_EQ(out.shape(), (Shape{2, 3, 4}));
  expect_near(attention(x, x, x), out);
  expect_near(attention(x, ones({2, 3, 3})), out);
  // Who sees nobody but the first key gets its value.
  Array mask = zeros({2, 3, 3});
  mask(all, all, 0) = 1;
  Sequential value_then_out(Dense(4, {.flatten = false}), Dense(4, {.flatten = false}));
  value_then_out.initialize();
  value_then_out(x);
  for (const auto& [from, to] : {std::pair("value.", "0."), std::pair("out.", "1.")}) {
    for (const char* name : {"weight", "bias"})
      value_then_out.parameter_at(std::string(to) + name)
          .set(attention.parameter_at(std::string(from) + name)());
  }
  const Array first = value_then_out(x(all, Slice(0, 1)));
  expect_near(attention(x, mask), first.broadcast_to({2, 3, 4}));
  attention.hybridize();
  expect_near(attention(x, mask), first.broadcast_to({2, 3, 4}));
  EXPECT_THAT(message([] { MultiHeadAttention(5, 2); }),
              HasSubstr("5 units are to be divided among 2 heads"));
}

TEST(NnLoss, Values) {
  const Array prediction = Array{1, 2, 3, 4}.reshape({2, 2}), label{0, 1};
  const double wrong = std::log(1 + std::exp(1)), right = std::log(1 + std::exp(-1));
  expect_near(SoftmaxCrossEntropyLoss()(prediction, label),
              Array{static_cast<float>(wrong), static_cast<float>(right)});
  expect_near(L2Loss()(prediction, ones({2, 2})), Array{0.25f, 3.25f});
  expect_near(L1Loss()(prediction, ones({2, 2})), Array{0.5f, 2.5f});
  expect_near(HuberLoss()(prediction, ones({2, 2})), Array{0.25f, 2.0f});
  expect_near(HingeLoss()(prediction, zeros({2, 2})), Array{1, 1});
  expect_near(SigmoidBinaryCrossEntropyLoss()(Array{0}, Array{1}), Array{std::log(2.0f)});
  EXPECT_THAT(message([&] { L2Loss().call({prediction}); }),
              HasSubstr("got 1 inputs; expected predictions, labels"));
}

}  // namespace

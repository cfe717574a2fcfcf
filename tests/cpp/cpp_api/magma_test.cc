// SPDX-License-Identifier: Apache-2.0
#include "loomix/magma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cpp/cpp_api/nn_test.h"

namespace {

using namespace magmadnn;  // NOLINT: as its users write
using ::testing::HasSubstr;

TEST(Magma, TensorsAndTheirFills) {
  Tensor<float> x({2, 3}, {CONSTANT, {1.5f}}, HOST);
  EXPECT_EQ(x.get_size(), 6u);
  x.set({1, 2}, 4);
  EXPECT_EQ(x.get({1, 2}), 4);
  EXPECT_EQ(x.get(0u), 1.5f);
  EXPECT_EQ(x.get_ptr()[5], 4);
  EXPECT_EQ(Tensor<double>({2, 2}, {IDENTITY, {}}).get({1, 1}), 1);
  EXPECT_EQ(Tensor<double>({2, 2}, {DIAGONAL, {3, 4}}).get({1, 1}), 4);
  Tensor<float> random({50}, {UNIFORM, {2, 3}}), copy({50});
  copy.copy_from(random);
  EXPECT_GE(copy.get(7u), 2);
  EXPECT_LE(copy.get(7u), 3);
  EXPECT_THAT(message([&] { x.get({2, 0}); }), HasSubstr("index 2 of axis 0 is out of range"));
  EXPECT_THAT(message([] { MemoryManager<float>(3, CUDA_MANAGED); }),
              HasSubstr("MANAGED has a host and a device copy"));
  MemoryManager<float> memory(3, HOST);
  memory.set(1, 2);
  memory.sync();
  EXPECT_EQ(memory.get(1), 2);
  EXPECT_THAT(message([&] { memory.get(3); }), HasSubstr("element 3 of 3"));
}

// The outline of MagmaDNN's tutorials.
TEST(Magma, ATutorialRuns) {
  magmadnn_init();
  loomix::nn::seed(1);
  const unsigned samples = 200;
  Tensor<float> x({samples, 4}, {UNIFORM, {-1, 1}}), y({samples, 2}, {ZERO, {}});
  for (int i = 0; i < static_cast<int>(samples); ++i) y.set({i, x.get({i, 0}) > x.get({i, 1}) ? 1 : 0}, 1);

  model::nn_params_t params;
  params.batch_size = 20;
  params.n_epochs = 20;
  params.learning_rate = 0.5;
  auto x_batch = op::var<float>("x_batch", {params.batch_size, 4}, {NONE, {}}, HOST);
  auto input = layer::input(x_batch);
  auto fc1 = layer::fullyconnected(input->out(), 16);
  auto act1 = layer::activation(fc1->out(), layer::TANH);
  auto drop = layer::dropout(act1->out(), 0.1f);
  auto fc2 = layer::fullyconnected(drop->out(), 2, false);
  auto output = layer::output(fc2->out());
  std::vector<layer::Layer<float>*> layers = {input, fc1, act1, drop, fc2, output};
  {
    model::NeuralNetwork<float> network(layers, optimizer::CROSS_ENTROPY, optimizer::SGD, params);
    model::metric_t metrics;
    network.fit(&x, &y, metrics, false);
    EXPECT_GT(metrics.accuracy, 0.9);
    EXPECT_GT(metrics.training_time, 0);
    Tensor<float> one({1, 4}, {ZERO, {}});
    one.set({0, 0}, 0.9f);
    EXPECT_EQ(network.predict_class(&one), 1u);
    EXPECT_EQ(network.predict(&one).get_shape(), (std::vector<unsigned>{1, 2}));
  }
  delete output;

  auto images = layer::input(op::var<float>("images", {4, 1, 8, 8}, {NONE, {}}, HOST));
  auto conv = layer::conv2d(images->out(), {3, 3}, 2, {1, 1});
  auto pool = layer::pooling(conv->out(), {2, 2}, {0, 0}, {2, 2});
  auto flat = layer::flatten(pool->out());
  auto last = layer::output(layer::fullyconnected(flat->out(), 3)->out());
  loomix::nn::Sequential net;
  for (auto* one : {images, conv, pool, flat, last}) net.add(one->block);
  net.initialize();
  EXPECT_EQ(net(loomix::nn::ones({4, 1, 8, 8})).shape(), (loomix::nn::Shape{4, 32}));
  delete last;
  magmadnn_finalize();
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// A small residual network, with blocks of its own, learns CIFAR-10: files of its binary form, or images made by rule.
//   nn_resnet [epochs [data_batch_1.bin ...]]
#include <cstdlib>
#include <iostream>

#include "loomix/nn.h"
#include "loomix/nn/loader.h"

using namespace loomix::nn;

// Blocks of one's own say what they compute. Sizes of inputs are found out.
class Residual : public Block {
 public:
  Residual(int64_t channels, int64_t stride) : Block("Residual"), channels_(channels), stride_(stride) {}
  Array forward(const Array& x) override {
    const Array shortcut = project_ ? (*project_)(x) : x;
    return op::relu(norm2_(conv2_(op::relu(norm1_(conv1_(x))))) + shortcut);
  }

 private:
  int64_t channels_, stride_;
  Conv2D& conv1_ =
      child("conv1", Conv2D(channels_, 3, {.strides = stride_, .padding = 1, .use_bias = false}));
  BatchNorm& norm1_ = child("norm1", BatchNorm());
  Conv2D& conv2_ = child("conv2", Conv2D(channels_, 3, {.padding = 1, .use_bias = false}));
  BatchNorm& norm2_ = child("norm2", BatchNorm());
  Conv2D* project_ = stride_ == 1 ? nullptr : &child("project", Conv2D(channels_, 1, {.strides = stride_}));
};

// The label is the column in which a bright bar stands.
class Bars : public Dataset {
 public:
  int64_t size() const override { return 512; }
  Shape shape() const override { return {3, 32, 32}; }
  float get(int64_t index, std::span<float> sample) const override {
    const size_t label = static_cast<size_t>(index) % 10;
    for (size_t i = 0; i < sample.size(); ++i)
      sample[i] = (i % 32 / 3 == label ? 0.7f : 0.0f) +
                  static_cast<float>((i * 7919 + static_cast<size_t>(index) * 104729) % 1000) / 3000;
    return static_cast<float>(label);
  }
};

int main(int argc, char** argv) {
  try {
    const int epochs = argc > 1 ? std::atoi(argv[1]) : 3;
    std::shared_ptr<Dataset> data = std::make_shared<Bars>();
    if (argc > 2) data = std::make_shared<CifarDataset>(std::vector<std::string>(argv + 2, argv + argc));
    DataLoader training(data, {.batch = 64, .shuffle = true});
    seed(1);
    Sequential net(Conv2D(16, 3, {.padding = 1, .use_bias = false}), BatchNorm(), Activation("relu"),
                   Residual(16, 1), Residual(32, 2), Residual(64, 2), GlobalPooling(), Flatten(), Dense(10));
    Model model(std::move(net),
                {.optimizer = "nag", .settings = {{"learning_rate", 0.05}, {"momentum", 0.9}, {"wd", 1e-4}}});
    model.fit(training, {.epochs = epochs});
    std::cout << model.net().summary({1, 3, 32, 32}) << "accuracy " << model.evaluate(training).metric
              << '\n';
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

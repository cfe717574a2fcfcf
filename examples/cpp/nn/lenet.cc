// SPDX-License-Identifier: Apache-2.0
// LeNet learns Fashion-MNIST: from files to accuracy.
//   nn_lenet [epochs [folder of the data]]
#include <cstdlib>
#include <iostream>

#include "loomix/nn.h"

using namespace loomix::nn;

int main(int argc, char** argv) {
  try {
    const int epochs = argc > 1 ? std::atoi(argv[1]) : 5;
    const std::string folder = argc > 2 ? argv[2] : "/usr/share/datasets/fashion-mnist";
    FileLoader training = mnist(folder + "/train", {.batch = 64, .shuffle = true});
    FileLoader test = mnist(folder + "/t10k", {.batch = 64});

    seed(1);
    Sequential net(Conv2D(20, 5, {.activation = "tanh"}), MaxPool2D(2),  //
                   Conv2D(50, 5, {.activation = "tanh"}), MaxPool2D(2),  //
                   Flatten(), Dense(500, {.activation = "tanh"}), Dense(10));
    Model model(std::move(net),
                {.optimizer = "sgd", .settings = {{"learning_rate", 0.05}, {"momentum", 0.9}}});
    model.fit(training, {.epochs = epochs, .validation = &test});
    std::cout << "accuracy " << model.evaluate(test).metric << '\n';
    model.save("nn_lenet.params");
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

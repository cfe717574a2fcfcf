// SPDX-License-Identifier: Apache-2.0
// A network of 1 to 10 hidden layers with sigmoids learns Fashion-MNIST, as MagmaDNN's paper has it for MNIST.
//   nn_mlp [hidden layers [epochs [folder of the data]]]
#include <cstdlib>
#include <iostream>

#include "loomix/nn.h"

using namespace loomix::nn;

int main(int argc, char** argv) {
  try {
    const int layers = argc > 1 ? std::atoi(argv[1]) : 1, epochs = argc > 2 ? std::atoi(argv[2]) : 5;
    const std::string folder = argc > 3 ? argv[3] : "/usr/share/datasets/fashion-mnist";
    FileLoader training = mnist(folder + "/train", {.batch = 100, .flat = true});
    FileLoader test = mnist(folder + "/t10k", {.batch = 100, .flat = true});

    seed(1);
    Sequential net;
    for (int i = 0; i < layers; ++i) net.add(Dense(528, {.activation = "sigmoid"}));
    net.add(Dense(10));
    Model model(std::move(net), {.settings = {{"learning_rate", 0.05}, {"wd", 0.001}}});
    double seconds = 0;
    for (const EpochReport& report : model.fit(training, {.epochs = epochs})) seconds += report.seconds;
    std::cout << "accuracy " << model.evaluate(test).metric << " after " << seconds << " s of training\n";
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

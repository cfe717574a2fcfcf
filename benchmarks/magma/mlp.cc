// SPDX-License-Identifier: Apache-2.0
// The MLP of MagmaDNN's paper by loomix/nn.h: seconds of an epoch, one line each.
//   mlp HIDDEN_LAYERS EPOCHS
#include <cstdio>
#include <cstdlib>

#include "loomix/nn.h"

using namespace loomix::nn;

int main(int, char** argv) {
  seed(1);
  const Array x = uniform({60000, 784}), y = op::floor(uniform({60000}, 0, 10));
  Sequential net;
  for (int i = 0; i < std::atoi(argv[1]); ++i) net.add(Dense(500, {.activation = "sigmoid"}));
  net.add(Dense(10));
  Model model(std::move(net), {.settings = {{"learning_rate", 0.05}, {"wd", 0.001}}});
  ArrayLoader loader(x, y, {.batch = 100});
  for (const EpochReport& report : model.fit(loader, {.epochs = std::atoi(argv[2]), .verbose = false})) {
    if (report.loss > 10) return 1;
    std::printf("%.4f\n", report.seconds);
  }
}

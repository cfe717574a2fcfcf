// SPDX-License-Identifier: Apache-2.0
// The MLP of MagmaDNN's paper by loomix/nn.h: seconds of an epoch, one line each. With a store it is trained by all processes
// that were started, each with its part of the samples; the first one prints.
//   mlp HIDDEN_LAYERS EPOCHS [STORE]
#include <cstdio>
#include <cstdlib>

#include "loomix/nn.h"

using namespace loomix::nn;

int main(int count, char** argv) {
  seed(1);
  Sequential net;
  for (int i = 0; i < std::atoi(argv[1]); ++i) net.add(Dense(500, {.activation = "sigmoid"}));
  net.add(Dense(10));
  Model model(std::move(net), {.settings = {{"learning_rate", 0.05}, {"wd", 0.001}},
                               .distributed = {.store = count > 3 ? argv[3] : nullptr}});
  const int64_t samples = 60000 / model.trainer().workers();
  const Array x = uniform({samples, 784}), y = op::floor(uniform({samples}, 0, 10));
  ArrayLoader loader(x, y, {.batch = 100});
  for (const EpochReport& report : model.fit(loader, {.epochs = std::atoi(argv[2]), .verbose = false})) {
    if (report.loss > 10) return 1;
    if (model.trainer().rank() == 0) std::printf("%.4f\n", report.seconds);
  }
}

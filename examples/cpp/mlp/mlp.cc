// SPDX-License-Identifier: Apache-2.0
// A network of three layers learns Fashion-MNIST.
//   mlp [epochs [folder of the data]]
#include <cstdlib>
#include <iostream>
#include <string>

#include "loomix/cpp.h"

using namespace loomix::cpp;

namespace {

MXDataIter fashion(const std::string& folder, const std::string& part) {
  return MXDataIter("MNISTIter")
      .SetParam("image", folder + "/" + part + "-images-idx3-ubyte.gz")
      .SetParam("label", folder + "/" + part + "-labels-idx1-ubyte.gz")
      .SetParam("batch_size", 100)
      .SetParam("flat", true)
      .CreateDataIter();
}

void train(int epochs, const std::string& folder) {
  const Symbol fc1 =
      Activation("relu1", FullyConnected("fc1", Symbol("data"), 128), ActivationActType::kRelu);
  const Symbol fc2 = Activation("relu2", FullyConnected("fc2", fc1, 64), ActivationActType::kRelu);
  ModelConfig config(SoftmaxOutput("softmax", FullyConnected("fc3", fc2, 10)));
  config.num_epoch = epochs;
  config.epoch_end = [](int epoch, float accuracy, std::optional<float> validation) {
    std::cout << "epoch " << epoch + 1 << ": accuracy " << accuracy << ", in validation " << *validation
              << std::endl;
  };
  MXDataIter training = fashion(folder, "train"), validation = fashion(folder, "t10k");
  Model model(config);
  model.Fit(&training, &validation);
  model.Save("mlp", epochs);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train(argc > 1 ? std::atoi(argv[1]) : 5, argc > 2 ? argv[2] : "/usr/share/datasets/fashion-mnist");
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

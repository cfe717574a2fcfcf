// SPDX-License-Identifier: Apache-2.0
// Loads a checkpoint and classifies the test pictures of Fashion-MNIST: of `lenet` or of examples/train_fashion_mnist.py.
//   inference PREFIX EPOCH [folder of the data]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "loomix/cpp.h"

using namespace loomix::cpp;

namespace {

const char* const kClasses[] = {"T-shirt", "trousers", "pullover", "dress", "coat",
                                "sandal",  "shirt",    "sneaker",  "bag",   "boot"};

void classify(const std::string& prefix, int epoch, const std::string& folder) {
  char number[16];
  std::snprintf(number, sizeof number, "-%04d", epoch);
  Predictor predictor(prefix + "-symbol.json", prefix + number + ".params", {{"data", Shape(1, 1, 28, 28)}});
  MXDataIter pictures = MXDataIter("MNISTIter")
                            .SetParam("image", folder + "/t10k-images-idx3-ubyte.gz")
                            .SetParam("label", folder + "/t10k-labels-idx1-ubyte.gz")
                            .SetParam("batch_size", 1)
                            .SetParam("shuffle", false)
                            .CreateDataIter();
  int count = 0, right = 0;
  std::chrono::duration<double, std::micro> spent{};
  while (pictures.Next()) {
    const DataBatch batch = pictures.GetDataBatch();
    std::vector<float> pixels;
    batch.data.SyncCopyToCPU(&pixels);
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<float> scores = predictor.Predict("data", pixels);
    spent += std::chrono::steady_clock::now() - begin;
    const auto best = static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    const auto label = static_cast<size_t>(batch.label.At(0));
    if (count < 5)
      std::cout << "picture " << count << ": " << kClasses[best] << " (" << scores[best] << "), it is a "
                << kClasses[label] << '\n';
    ++count;
    if (best == label) ++right;
  }
  std::cout << "accuracy " << static_cast<double>(right) / count << ", " << spent.count() / count
            << " us a picture\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: inference PREFIX EPOCH [folder of the data]\n";
    return 2;
  }
  try {
    classify(argv[1], std::atoi(argv[2]), argc > 3 ? argv[3] : "/usr/share/datasets/fashion-mnist");
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

// SPDX-License-Identifier: Apache-2.0
// LeNet learns Fashion-MNIST. Every step is written out here: what Model does for the MLP beside this example.
//   lenet [epochs [folder of the data]]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "loomix/cpp.h"

using namespace loomix::cpp;

namespace {

constexpr int kBatch = 64;

Symbol stage(const std::string& number, const Symbol& data, int filters) {
  const Symbol conv = Convolution("conv" + number, data, Shape(5, 5), filters);
  const Symbol act = Activation("tanh" + number, conv, ActivationActType::kTanh);
  return Pooling("pool" + number, act, Shape(2, 2), PoolingPoolType::kMax, false, false,
                 PoolingPoolingConvention::kValid, Shape(2, 2));
}

Symbol lenet() {
  const Symbol features = stage("2", stage("1", Symbol("data"), 20), 50);
  const Symbol fc1 = FullyConnected("fc1", Flatten("flatten", features), 500);
  const Symbol fc2 = FullyConnected("fc2", Activation("tanh3", fc1, ActivationActType::kTanh), 10);
  return SoftmaxOutput("softmax", fc2);
}

MXDataIter fashion(const std::string& folder, const std::string& part) {
  return MXDataIter("MNISTIter")
      .SetParam("image", folder + "/" + part + "-images-idx3-ubyte.gz")
      .SetParam("label", folder + "/" + part + "-labels-idx1-ubyte.gz")
      .SetParam("batch_size", kBatch)
      .CreateDataIter();
}

// The accuracy of one pass. With an optimizer it trains.
float pass(MXDataIter& data, Executor& executor, Optimizer* optimizer) {
  std::map<std::string, NDArray> arguments = executor.arg_dict();
  Accuracy accuracy;
  data.Reset();
  while (data.Next()) {
    const DataBatch batch = data.GetDataBatch();
    batch.data.CopyTo(&arguments["data"]);
    batch.label.CopyTo(&arguments["softmax_label"]);
    executor.Forward(optimizer != nullptr);
    if (optimizer != nullptr) {
      executor.Backward();
      for (size_t i = 0; i < executor.arg_arrays.size(); ++i) {
        if (executor.grad_arrays[i].GetHandle() != nullptr)
          optimizer->Update(static_cast<int>(i), executor.arg_arrays[i], executor.grad_arrays[i]);
      }
    }
    accuracy.Update(batch.label, executor.outputs[0]);
  }
  return accuracy.Get();
}

// As Python writes it: lenet-symbol.json, lenet-0005.params.
void save(const Symbol& net, const Executor& executor, int epoch) {
  std::map<std::string, NDArray> parameters;
  for (const auto& [name, array] : executor.arg_dict()) {
    if (name != "data" && name != "softmax_label") parameters["arg:" + name] = array;
  }
  char file[32];
  std::snprintf(file, sizeof file, "lenet-%04d.params", epoch);
  net.Save("lenet-symbol.json");
  NDArray::Save(file, parameters);
  std::cout << "saved to lenet-symbol.json and " << file << '\n';
}

void train(int epochs, const std::string& folder) {
  MXDataIter training = fashion(folder, "train"), validation = fashion(folder, "t10k");
  const Symbol net = lenet();
  const std::map<std::string, NDArray> inputs{{"data", NDArray(Shape(kBatch, 1, 28, 28), Context::cpu())},
                                              {"softmax_label", NDArray(Shape(kBatch), Context::cpu())}};
  const std::unique_ptr<Executor> executor(
      net.SimpleBind(Context::cpu(), inputs, {}, {{"data", kNullOp}, {"softmax_label", kNullOp}}));
  Xavier xavier(Xavier::uniform, Xavier::avg, 3);
  for (auto& [name, array] : executor->arg_dict()) {
    if (inputs.count(name) == 0) xavier(name, &array);
  }
  const std::unique_ptr<Optimizer> optimizer(OptimizerRegistry::Find("sgd"));
  optimizer->SetParam("lr", 0.05)->SetParam("momentum", 0.9)->SetParam("rescale_grad", 1.0 / kBatch);
  optimizer->SetLRScheduler(std::make_unique<FactorScheduler>(3 * 60000 / kBatch, 0.3f));
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const auto begin = std::chrono::steady_clock::now();
    const float accuracy = pass(training, *executor, optimizer.get());
    const std::chrono::duration<float> seconds = std::chrono::steady_clock::now() - begin;
    std::cout << "epoch " << epoch << ": accuracy " << accuracy << ", in validation "
              << pass(validation, *executor, nullptr) << ", " << 60000 / seconds.count() << " images/s"
              << std::endl;
  }
  save(net, *executor, epochs);
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

// SPDX-License-Identifier: Apache-2.0
// The same by PyTorch's C++ frontend; it has a thread a core, or OMP_NUM_THREADS.
#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

int main(int, char** argv) {
  torch::manual_seed(1);
  const auto x = torch::rand({60000, 784});
  const auto y = torch::randint(10, {60000}, torch::kInt64);
  torch::nn::Sequential net;
  int64_t size = 784;
  for (int i = 0; i < std::atoi(argv[1]); ++i) {
    net->push_back(torch::nn::Linear(size, 500));
    net->push_back(torch::nn::Sigmoid());
    size = 500;
  }
  net->push_back(torch::nn::Linear(size, 10));
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.05).weight_decay(0.001));
  for (int epoch = 0; epoch < std::atoi(argv[2]); ++epoch) {
    const auto begin = std::chrono::steady_clock::now();
    auto loss_sum = torch::zeros({}), right = torch::zeros({}, torch::kInt64);
    for (int64_t at = 0; at < 60000; at += 100) {
      const auto data = x.slice(0, at, at + 100), label = y.slice(0, at, at + 100);
      optimizer.zero_grad();
      const auto out = net->forward(data);
      const auto loss = torch::nn::functional::cross_entropy(out, label);
      loss.backward();
      optimizer.step();
      loss_sum += loss.detach();
      right += out.detach().argmax(1).eq(label).sum();
    }
    if (loss_sum.item<float>() > 6000 || right.item<int64_t>() < 0) return 1;
    std::printf("%.4f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
}

// SPDX-License-Identifier: Apache-2.0
// An LSTM learns which letter comes next in a text, then writes one. The training loop is written out.
//   nn_text [steps [file]]
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include "loomix/nn.h"

using namespace loomix::nn;

class Writer : public Block {
 public:
  Writer() : Block("Writer") {}
  Arrays forward_all(const Arrays& inputs) override {  // letters and states, or letters alone
    Arrays all_inputs = inputs;
    all_inputs[0] = embedding_(inputs[0]);
    Arrays outputs = lstm_.call(all_inputs);
    outputs[0] = out_(outputs[0]);
    return outputs;
  }
  Arrays begin_state(int64_t batch) const { return lstm_.begin_state(batch); }

 private:
  Embedding& embedding_ = child("embedding", Embedding(128, 32));
  LSTM& lstm_ = child("lstm", LSTM(96, {.layout = "NTC"}));
  Dense& out_ = child("out", Dense(128, {.flatten = false}));
};

int main(int argc, char** argv) {
  try {
    const int steps = argc > 1 ? std::atoi(argv[1]) : 300, length = 32, batch = 16;
    std::string text;
    if (argc > 2) {
      std::ifstream file(argv[2]);
      text.assign(std::istreambuf_iterator<char>(file), {});
    }
    while (text.size() < 4000) text += "the loom weaves thread by thread, and the cloth grows day by day. ";
    std::vector<float> codes;
    for (const char letter : text) codes.push_back(static_cast<float>(letter & 127));

    seed(1);
    Writer net;
    net.initialize(Initializer::xavier());
    net.hybridize();
    SoftmaxCrossEntropyLoss loss({.axis = 2});
    Trainer trainer(net, "adam", {{"learning_rate", 0.01}});
    for (int step = 1; step <= steps; ++step) {
      std::vector<float> now, next;
      for (int i = 0; i < batch; ++i) {
        const size_t begin =
            (static_cast<size_t>(step) * 997 + static_cast<size_t>(i) * 241) % (codes.size() - length - 1);
        now.insert(now.end(), codes.begin() + static_cast<long>(begin),
                   codes.begin() + static_cast<long>(begin) + length);
        next.insert(next.end(), codes.begin() + static_cast<long>(begin) + 1,
                    codes.begin() + static_cast<long>(begin) + length + 1);
      }
      Array error;
      {
        const Record record;
        error = loss(net(Array::from(now, {batch, length})), Array::from(next, {batch, length}));
      }
      error.backward();
      clip_global_norm(net, 5.0 * batch);
      trainer.step(batch);
      if (step % 50 == 0) std::cout << "step " << step << ": loss " << error.mean().item() << std::endl;
    }

    Arrays state = net.begin_state(1);
    std::string written = "t";
    for (int i = 0; i < 60; ++i) {
      state.insert(state.begin(), Array{static_cast<float>(written.back())}.reshape({1, 1}));
      state = net.call(state);
      written += static_cast<char>(state[0].argmax(2).item());
      state.erase(state.begin());
    }
    std::cout << written << '\n';
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

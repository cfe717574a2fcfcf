// SPDX-License-Identifier: Apache-2.0
// A transformer learns to say at each place of a sequence which number stood there in the reversed sequence.
//   nn_transformer [steps]
#include <cstdlib>
#include <iostream>

#include "loomix/nn.h"

using namespace loomix::nn;

class Layer : public Block {
 public:
  Layer() : Block("Layer") {}
  Array forward(const Array& x) override {
    const Array seen = x + attention_(norm1_(x));
    return seen + down_(up_(norm2_(seen)));
  }

 private:
  LayerNorm& norm1_ = child("norm1", LayerNorm());
  MultiHeadAttention& attention_ = child("attention", MultiHeadAttention(32, 4));
  LayerNorm& norm2_ = child("norm2", LayerNorm());
  Dense& up_ = child("up", Dense(64, {.activation = "gelu", .flatten = false}));
  Dense& down_ = child("down", Dense(32, {.flatten = false}));
};

class Transformer : public Block {
 public:
  explicit Transformer(int64_t length) : Block("Transformer"), length_(length) {}
  Array forward(const Array& x) override {
    return out_(layers_(embedding_(x) + op::expand_dims(places_(), {.axis = 0})));
  }

 private:
  int64_t length_;
  Embedding& embedding_ = child("embedding", Embedding(10, 32));
  Parameter& places_ = parameter("places", {length_, 32}, {.init = Initializer::normal(0.1)});
  Sequential& layers_ = child("layers", Sequential(Layer(), Layer()));
  Dense& out_ = child("out", Dense(10, {.flatten = false}));
};

int main(int argc, char** argv) {
  try {
    const int steps = argc > 1 ? std::atoi(argv[1]) : 200, batch = 32, length = 8;
    seed(1);
    Transformer net(length);
    net.initialize(Initializer::xavier());
    net.hybridize();
    SoftmaxCrossEntropyLoss loss({.axis = 2});
    Accuracy accuracy("accuracy", 2);
    Trainer trainer(net, "adamw",
                    {{"base_lr", 0.005},
                     {"wd", 0.01},
                     {"lr_scheduler", "cosine"},
                     {"max_update", steps},
                     {"warmup_steps", steps / 10}});
    for (int step = 1; step <= steps; ++step) {
      const Array x = op::floor(uniform({batch, length}, 0, 10)), y = op::reverse(x, {.axis = 1});
      Array out, error;
      {
        const Record record;
        out = net(x);
        error = loss(out, y);
      }
      error.backward();
      trainer.step(batch);
      accuracy.update(y, out.detach());
      if (step % 50 == 0) {
        std::cout << "step " << step << ": loss " << error.mean().item() << ", accuracy " << accuracy.get()
                  << std::endl;
        accuracy.reset();
      }
    }
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

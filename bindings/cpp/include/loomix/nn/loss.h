// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/block.h"

// Losses, as Gluon defines them: a number a sample, from predictions and labels (and weights of samples).
namespace loomix::nn {

class Loss : public Block {
 public:
  Arrays forward_all(const Arrays& inputs) override {
    if (inputs.size() != 2 && inputs.size() != 3)
      detail::fail({"[", kind(), "] got ", inputs.size(),
                    " inputs; expected predictions, labels and perhaps weights."});
    Array loss = elements(inputs[0], inputs[1]);
    if (inputs.size() == 3) loss = loss * inputs[2];
    if (weight_ != 1) loss = loss * weight_;
    return {detail::Call("mean").in(loss).set("axis", 0).set("exclude", true).run()};
  }

 protected:
  Loss(const char* kind, double weight) : Block(kind), weight_(weight) {}
  virtual Array elements(const Array& prediction, const Array& label) = 0;
  static Array like(const Array& x, const Array& shape) {
    return detail::Call("reshape_like").in(x).in(shape).run();
  }
  static Array unary(const char* op, const Array& x) { return detail::Call(op).in(x).run(); }

 private:
  double weight_;
};

struct CrossEntropyOptions {
  int axis = -1;
  bool sparse_label = true;  // numbers of classes, else their probabilities
  bool from_logits = false;
  double weight = 1;
};
class SoftmaxCrossEntropyLoss : public Loss {
 public:
  explicit SoftmaxCrossEntropyLoss(const CrossEntropyOptions& options = {})
      : Loss("SoftmaxCrossEntropyLoss", options.weight), options_(options) {}

 protected:
  Array elements(const Array& prediction, const Array& label) override {
    const Array logs = options_.from_logits
                           ? prediction
                           : detail::Call("log_softmax").in(prediction).set("axis", options_.axis).run();
    if (options_.sparse_label)
      return -detail::Call("pick").in(logs).in(label).set("axis", options_.axis).set("keepdims", true).run();
    return -(logs * like(label, logs)).sum(options_.axis, true);
  }

 private:
  CrossEntropyOptions options_;
};

class SigmoidBinaryCrossEntropyLoss : public Loss {
 public:
  explicit SigmoidBinaryCrossEntropyLoss(bool from_sigmoid = false, double weight = 1)
      : Loss("SigmoidBinaryCrossEntropyLoss", weight), from_sigmoid_(from_sigmoid) {}

 protected:
  Array elements(const Array& prediction, const Array& label) override {
    const Array y = like(label, prediction);
    if (from_sigmoid_)
      return -(unary("log", prediction + 1e-12) * y + unary("log", 1.0 + 1e-12 - prediction) * (1.0 - y));
    const Array soft =
        detail::Call("Activation").in(-unary("abs", prediction)).set("act_type", "softrelu").run();
    return unary("relu", prediction) - prediction * y + soft;
  }

 private:
  bool from_sigmoid_;
};

class L2Loss : public Loss {
 public:
  explicit L2Loss(double weight = 1) : Loss("L2Loss", weight / 2) {}

 protected:
  Array elements(const Array& prediction, const Array& label) override {
    return unary("square", like(label, prediction) - prediction);
  }
};
class L1Loss : public Loss {
 public:
  explicit L1Loss(double weight = 1) : Loss("L1Loss", weight) {}

 protected:
  Array elements(const Array& prediction, const Array& label) override {
    return unary("abs", like(label, prediction) - prediction);
  }
};
class HuberLoss : public Loss {
 public:
  explicit HuberLoss(double rho = 1, double weight = 1) : Loss("HuberLoss", weight), rho_(rho) {}

 protected:
  Array elements(const Array& prediction, const Array& label) override {
    const Array far = unary("abs", like(label, prediction) - prediction);
    const Array inside = unary("square", far) * (0.5 / rho_);
    return detail::Call("where").in(far > rho_).in(far - 0.5 * rho_).in(inside).run();
  }

 private:
  double rho_;
};
class HingeLoss : public Loss {
 public:
  explicit HingeLoss(double margin = 1, double weight = 1) : Loss("HingeLoss", weight), margin_(margin) {}

 protected:
  Array elements(const Array& prediction, const Array& label) override {
    return unary("relu", margin_ - prediction * like(label, prediction));
  }

 private:
  double margin_;
};
class KLDivLoss : public Loss {
 public:
  explicit KLDivLoss(bool from_logits = true, int axis = -1, double weight = 1)
      : Loss("KLDivLoss", weight), from_logits_(from_logits), axis_(axis) {}

 protected:
  Array elements(const Array& prediction, const Array& label) override {
    const Array logs =
        from_logits_ ? prediction : detail::Call("log_softmax").in(prediction).set("axis", axis_).run();
    return label * (unary("log", label + 1e-12) - logs);
  }

 private:
  bool from_logits_;
  int axis_;
};

}  // namespace loomix::nn

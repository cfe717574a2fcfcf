// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/array.h"
#include "loomix/nn/autograd.h"

// Measures of predictions. update() pushes work and does not wait; get() does.
namespace loomix::nn {

class Metric {
 public:
  explicit Metric(std::string name) : name_(std::move(name)) {}
  virtual ~Metric() = default;
  const std::string& name() const { return name_; }
  virtual void update(const Array& label, const Array& prediction) = 0;
  virtual double get() const {
    return count_ > 0 ? (sum_ ? sum_.item() : 0) / static_cast<double>(count_) : std::nan("");
  }
  virtual void reset() {
    sum_ = Array();
    count_ = 0;
  }
  int64_t count() const { return count_; }

 protected:
  // Adds the sum of an array, which is of so many samples.
  void add(const Array& values, int64_t count) {
    const Array sum = values.sum().astype(DType::float32);
    sum_ = sum_ ? sum_ + sum : sum;
    count_ += count;
  }

 private:
  std::string name_;
  Array sum_;
  int64_t count_ = 0;
};

class Accuracy : public Metric {
 public:
  explicit Accuracy(std::string name = "accuracy", int axis = 1) : Metric(std::move(name)), axis_(axis) {}
  void update(const Array& label, const Array& prediction) override {
    const Pause pause;
    const Array best =
        (prediction.ndim() > label.ndim() ? prediction.argmax(axis_) : prediction).astype(DType::int32);
    add(best.reshape(Shape(-1)) == label.astype(DType::int32).reshape(Shape(-1)), label.size());
  }

 private:
  int axis_;
};
class TopKAccuracy : public Metric {
 public:
  explicit TopKAccuracy(int k) : Metric("top_" + std::to_string(k) + "_accuracy"), k_(k) {}
  void update(const Array& label, const Array& prediction) override {
    const Pause pause;
    const Array best =
        detail::Call("topk").in(prediction).set("k", k_).set("axis", 1).run().astype(DType::int32);
    add(best == label.astype(DType::int32).reshape({-1, 1}), label.size());
  }

 private:
  int k_;
};
class MeanSquaredError : public Metric {
 public:
  MeanSquaredError() : Metric("mse") {}
  void update(const Array& label, const Array& prediction) override {
    const Pause pause;
    const Array difference = label.reshape(prediction.shape()) - prediction;
    add(difference * difference, prediction.size());
  }
};
class MeanAbsoluteError : public Metric {
 public:
  MeanAbsoluteError() : Metric("mae") {}
  void update(const Array& label, const Array& prediction) override {
    const Pause pause;
    add(detail::Call("abs").in(label.reshape(prediction.shape()) - prediction).run(), prediction.size());
  }
};
// Of probabilities of classes.
class CrossEntropy : public Metric {
 public:
  explicit CrossEntropy(std::string name = "cross_entropy") : Metric(std::move(name)) {}
  void update(const Array& label, const Array& prediction) override {
    const Pause pause;
    const Array of = detail::Call("pick").in(prediction).in(label.reshape(Shape(-1))).run();
    add(-detail::Call("log").in(of + 1e-12).run(), label.size());
  }
};
class Perplexity : public CrossEntropy {
 public:
  Perplexity() : CrossEntropy("perplexity") {}
  double get() const override { return std::exp(CrossEntropy::get()); }
};
// Of two classes, by the scores of both or the probability of the second.
class F1 : public Metric {
 public:
  F1() : Metric("f1") {}
  void update(const Array& label, const Array& prediction) override {
    const Pause pause;
    const Array said = prediction.ndim() > 1 && prediction.shape(1) == 2
                           ? prediction.argmax(1)
                           : prediction.reshape(Shape(-1)) > 0.5;
    const Array is = label.reshape(Shape(-1)).astype(said.dtype());
    both_ = both_ ? both_ + (said * is).sum() : (said * is).sum();
    any_ = any_ ? any_ + (said + is).sum() : (said + is).sum();
  }
  double get() const override {
    const double any = any_ ? any_.item() : 0;
    return any > 0 ? 2 * both_.item() / any : 0;
  }
  void reset() override { both_ = any_ = Array(); }

 private:
  Array both_, any_;
};
// The mean of what it is given, as losses of samples.
class Mean : public Metric {
 public:
  explicit Mean(std::string name = "loss") : Metric(std::move(name)) {}
  void update(const Array&, const Array& values) override { add(values, values.size()); }
};

}  // namespace loomix::nn

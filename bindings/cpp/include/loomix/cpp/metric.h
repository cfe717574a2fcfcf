// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "loomix/cpp/ndarray.h"

namespace loomix::cpp {
inline namespace names {

// A mean over all that Update was given since Reset. Update waits for the arrays.
class EvalMetric {
 public:
  explicit EvalMetric(const std::string& name, int num = 0) : name(name), num(num) {}
  virtual ~EvalMetric() = default;
  virtual void Update(NDArray labels, NDArray preds) = 0;
  void Reset() {
    num_inst = 0;
    sum_metric = 0.0f;
  }
  virtual float Get() { return num_inst == 0 ? 0 : sum_metric / static_cast<float>(num_inst); }
  void GetNameValue(std::string* metric_name, float* value) {
    *metric_name = name;
    *value = Get();
  }
  const std::string& GetName() const { return name; }

 protected:
  // The first sizes are equal; with `strict` all are.
  static bool CheckLabelShapes(const NDArray& labels, const NDArray& preds, bool strict = false) {
    const std::vector<mx_uint> a = labels.GetShape(), b = preds.GetShape();
    if (strict ? a == b : !a.empty() && !b.empty() && a[0] == b[0]) return true;
    throw Error("[EvalMetric] labels of shape " + detail::to_text(Shape(a)) +
                " do not fit predictions of shape " + detail::to_text(Shape(b)) + ".");
  }
  static std::vector<mx_float> values(const NDArray& array) {
    std::vector<mx_float> result;
    array.SyncCopyToCPU(&result);
    return result;
  }
  // Adds a mean over elements.
  template <class Term>
  void add_mean(const NDArray& labels, const NDArray& preds, Term term, bool root = false) {
    const std::vector<mx_float> a = values(labels), b = values(preds);
    if (a.size() != b.size())
      throw Error("[" + name + "] there are " + std::to_string(a.size()) + " labels and " +
                  std::to_string(b.size()) + " predictions.");
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += term(a[i] - b[i]);
    const double mean = a.empty() ? 0 : sum / static_cast<double>(a.size());
    sum_metric += static_cast<float>(root ? std::sqrt(mean) : mean);
    ++num_inst;
  }

  std::string name;
  int num;
  float sum_metric = 0.0f;
  int num_inst = 0;
};

// How many predictions are right. They are classes, or scores of classes along axis 1.
class Accuracy : public EvalMetric {
 public:
  Accuracy() : EvalMetric("accuracy") {}
  void Update(NDArray labels, NDArray preds) override {
    const std::vector<mx_float> label = values(labels), pred = values(preds);
    const std::vector<mx_uint> shape = preds.GetShape();
    if (label.empty()) return;
    const bool scores = pred.size() != label.size();
    if (scores) CheckLabelShapes(labels, preds);
    const size_t classes = scores ? shape.at(1) : 1, inner = scores ? pred.size() / shape[0] / classes : 1;
    if (label.size() * classes != pred.size())
      throw Error("[accuracy] " + std::to_string(label.size()) + " labels do not fit " +
                  std::to_string(pred.size()) + " scores.");
    for (size_t i = 0; i < label.size(); ++i) {
      const mx_float* const begin = &pred[i / inner * inner * classes + i % inner];
      size_t best = 0;
      for (size_t k = 1; k < classes; ++k) {
        if (begin[k * inner] > begin[best * inner]) best = k;
      }
      const auto chosen = scores ? static_cast<mx_float>(best) : begin[0];
      sum_metric += chosen == label[i] ? 1.0f : 0.0f;
      ++num_inst;
    }
  }
};

// The mean of -log(probability of the right class).
class LogLoss : public EvalMetric {
 public:
  LogLoss() : EvalMetric("logloss") {}
  void Update(NDArray labels, NDArray preds) override {
    CheckLabelShapes(labels, preds);
    constexpr float kLeast = 1e-15f;
    const std::vector<mx_float> label = values(labels), pred = values(preds);
    const size_t classes = label.empty() ? 0 : pred.size() / label.size();
    for (size_t i = 0; i < label.size(); ++i) {
      const auto right = static_cast<size_t>(label[i]);
      if (!(label[i] >= 0) || right >= classes)
        throw Error("[logloss] label " + std::to_string(label[i]) + " is none of " + std::to_string(classes) +
                    " classes.");
      sum_metric += -std::log(std::max(pred[i * classes + right], kLeast));
      ++num_inst;
    }
  }
};

class MAE : public EvalMetric {
 public:
  MAE() : EvalMetric("mae") {}
  void Update(NDArray labels, NDArray preds) override {
    add_mean(labels, preds, [](float difference) { return std::abs(difference); });
  }
};

class MSE : public EvalMetric {
 public:
  MSE() : EvalMetric("mse") {}
  void Update(NDArray labels, NDArray preds) override {
    add_mean(labels, preds, [](float difference) { return difference * difference; });
  }
};

class RMSE : public EvalMetric {
 public:
  RMSE() : EvalMetric("rmse") {}
  void Update(NDArray labels, NDArray preds) override {
    add_mean(
        labels, preds, [](float difference) { return difference * difference; }, true);
  }
};

// In decibels, for pictures of values from 0 to 255.
class PSNR : public EvalMetric {
 public:
  PSNR() : EvalMetric("psnr") {}
  void Update(NDArray labels, NDArray preds) override {
    add_mean(labels, preds, [](float difference) { return difference * difference; });
  }
  float Get() override {
    constexpr float kLargest = 255;
    const float mse = EvalMetric::Get();
    return 10 * std::log10(kLargest * kLargest / std::max(mse, 1e-10f));
  }
};

}  // namespace names
}  // namespace loomix::cpp

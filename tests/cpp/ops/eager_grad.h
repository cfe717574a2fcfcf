// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <random>

#include "op_runner.h"

// Evaluates gradient rules at once, on host buffers, and holds them against differences of the operator itself.
namespace loomix::ops::testing {

// A GradBuilder that runs what a rule describes.
class EagerGrad final : public GradBuilder {
 public:
  // `wanted` are the inputs whose gradient is asked for.
  EagerGrad(const std::string& op, std::vector<Tensor> inputs, const TextPairs& attrs,
            std::vector<Tensor> heads, std::vector<int> wanted, const RunOptions& options)
      : op_(builtin_table().at(op)),
        attrs_(builtin_table().parse(op_, attrs)),
        wanted_(std::move(wanted)),
        options_(options) {
    inputs_ = keep(std::move(inputs));
    RunOptions kept = options;
    kept.saved = true;
    RunResult run = run_op(op, *inputs_, attrs, kept);
    outputs_ = keep(std::move(run.out));
    saved_ = keep(std::move(run.saved));
    heads_ = keep(std::move(heads));
    op_.gradient(*attrs_, *this);
  }

  int num_in() const override { return static_cast<int>(inputs_->size()); }
  int num_out() const override { return static_cast<int>(outputs_->size()); }
  GradValue in(int i) override { return {inputs_, i}; }
  GradValue out(int i) override { return {outputs_, i}; }
  GradValue saved(int i) override { return {saved_, i}; }
  GradValue grad_of(int i) override {
    EXPECT_LT(i, static_cast<int>(heads_->size()));
    return {heads_, i};
  }
  bool has_grad_of(int i) override { return i < static_cast<int>(heads_->size()); }
  bool wants(int i) const override { return std::find(wanted_.begin(), wanted_.end(), i) != wanted_.end(); }
  using GradBuilder::call;
  std::vector<GradValue> call(std::string_view op, std::span<const GradValue> inputs,
                              TextPairs attrs) override {
    std::vector<Tensor> arguments;
    for (const GradValue& value : inputs) {
      arguments.push_back((*static_cast<std::vector<Tensor>*>(value.node))[static_cast<size_t>(value.index)]);
    }
    auto* results = keep(run_op(std::string(op), arguments, attrs, options_).out);
    std::vector<GradValue> values;
    for (int i = 0; i < static_cast<int>(results->size()); ++i) values.push_back({results, i});
    return values;
  }
  std::vector<GradValue> call(std::string_view op, std::span<const GradValue> inputs,
                              Ref<const AttrsBase> attrs) override {
    return call(op, inputs, attrs->given());
  }
  Ref<const AttrsBase> attrs() const override { return attrs_; }
  void set(int i, GradValue value) override {
    grads_[i] = (*static_cast<std::vector<Tensor>*>(value.node))[static_cast<size_t>(value.index)];
  }
  const std::map<int, Tensor>& grads() const { return grads_; }
  const std::vector<Tensor>& outputs() const { return *outputs_; }

 private:
  std::vector<Tensor>* keep(std::vector<Tensor> values) { return &values_.emplace_back(std::move(values)); }
  const OpDef& op_;
  Ref<const AttrsBase> attrs_;
  std::vector<int> wanted_;
  RunOptions options_;
  std::deque<std::vector<Tensor>> values_;
  std::vector<Tensor>* inputs_;
  std::vector<Tensor>* outputs_;
  std::vector<Tensor>* saved_;
  std::vector<Tensor>* heads_;
  std::map<int, Tensor> grads_;
};

inline Tensor random_tensor(const Shape& shape, uint32_t seed, DType dtype = DType::float64, double low = -1,
                            double high = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> values(static_cast<size_t>(shape.size()));
  for (double& value : values) value = uniform(generator);
  return Tensor(shape, dtype, values);
}

inline void expect_close(const Tensor& got, const Tensor& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.shape.to_string(), want.shape.to_string()) << what;
  const auto a = got.values();
  const auto b = want.values();
  double scale = 1;
  for (double value : b) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance * scale) << what << " element " << i;
}

// Compares the rule's gradients to central differences of sum(outputs * heads); float64 inputs. Only the first
// `heads` outputs count.
inline void check_gradient(const std::string& op, const std::vector<Tensor>& inputs, const TextPairs& attrs,
                           const std::vector<int>& wanted, int heads = 1, const RunOptions& options = {}) {
  auto first_inputs = inputs;
  const auto outputs = run_op(op, first_inputs, attrs, options).out;
  std::vector<Tensor> head;
  for (int i = 0; i < heads; ++i) {
    head.push_back(random_tensor(outputs[static_cast<size_t>(i)].shape, 77 + static_cast<uint32_t>(i)));
  }
  const auto loss = [&](std::vector<Tensor> at) {
    const auto out = run_op(op, at, attrs, options).out;
    double sum = 0;
    for (int i = 0; i < heads; ++i) {
      const auto values = out[static_cast<size_t>(i)].values();
      const auto weights = head[static_cast<size_t>(i)].values();
      for (size_t j = 0; j < values.size(); ++j) sum += values[j] * weights[j];
    }
    return sum;
  };
  const EagerGrad rule(op, inputs, attrs, head, wanted, options);
  constexpr double kStep = 1e-5;
  for (int input : wanted) {
    ASSERT_TRUE(rule.grads().contains(input)) << op << " gives no gradient to input " << input;
    const auto got = rule.grads().at(input).values();
    const auto values = inputs[static_cast<size_t>(input)].values();
    ASSERT_EQ(got.size(), values.size()) << op;
    for (size_t i = 0; i < values.size(); ++i) {
      auto moved = inputs;
      auto& target = moved[static_cast<size_t>(input)];
      auto shifted = values;
      shifted[i] = values[i] + kStep;
      target = Tensor(target.shape, target.dtype, shifted);
      const double above = loss(moved);
      shifted[i] = values[i] - kStep;
      target = Tensor(target.shape, target.dtype, shifted);
      const double below = loss(moved);
      const double want = (above - below) / (2 * kStep);
      ASSERT_NEAR(got[i], want, 1e-6 * std::max(1.0, std::abs(want)))
          << op << " input " << input << " element " << i;
    }
  }
}

}  // namespace loomix::ops::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <functional>

#include "loomix/cpp/lr_scheduler.h"
#include "loomix/cpp/ndarray.h"

namespace loomix::cpp {
inline namespace names {

// Changes weights by their gradients. Parameters of all: lr, wd, rescale_grad, clip_gradient.
class Optimizer {
 public:
  explicit Optimizer(unsigned begin_num_update = 0)
      : num_update_(begin_num_update), begin_(begin_num_update) {
    SetParam("lr", 0.01f)->SetParam("wd", 0.0f);
  }
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  virtual std::string GetType() const = 0;
  template <class T>
  Optimizer* SetParam(const std::string& name, const T& value) {
    params_[name] = detail::to_text(value);
    return this;
  }
  Optimizer* SetLRScheduler(std::unique_ptr<LRScheduler> scheduler) {
    scheduler->SetLR(number("lr"));
    scheduler_ = std::move(scheduler);
    return this;
  }
  virtual void Update(int index, NDArray weight, NDArray grad) = 0;
  // Rate and decay of this and all later updates.
  void Update(int index, NDArray weight, NDArray grad, mx_float lr, mx_float wd) {
    SetParam("lr", lr)->SetParam("wd", wd);
    Update(index, std::move(weight), std::move(grad));
  }
  // One parameter a line.
  std::string Serialize() const {
    std::string text = "opt_type=" + GetType();
    for (const auto& [name, value] : params_) text += "\n" + name + "=" + value;
    return text;
  }
  const detail::Pairs& params() const { return params_; }

 protected:
  // Counts an update of a weight and gives its learning rate.
  float next_rate(int index) {
    const unsigned count = ++counts_.emplace(index, begin_).first->second;
    num_update_ = std::max(num_update_, count);
    return scheduler_ ? scheduler_->GetLR(num_update_) : number("lr");
  }
  unsigned count_of(int index) const { return counts_.at(index) - begin_; }
  float number(const std::string& name) const { return std::stof(params_.at(name)); }
  // The states of a weight: zeros of its shape at first.
  std::vector<NDArray>& states_of(int index, const NDArray& weight, size_t count) {
    std::vector<NDArray>& states = states_[index];
    while (states.size() < count)
      states.emplace_back(weight.GetShape(), weight.GetContext(), false, weight.GetDType());
    return states;
  }
  // Parameters of an update operator: those that are set of these names, and the rate.
  detail::Pairs pick(std::initializer_list<const char*> names, float lr) const {
    detail::Pairs result{{"lr", detail::to_text(lr)}};
    for (const char* name : {"wd", "rescale_grad", "clip_gradient"}) copy(name, result);
    for (const char* name : names) copy(name, result);
    return result;
  }
  NDArray prepared(const NDArray& grad) const {  // rescaled and clipped
    NDArray result = has("rescale_grad") ? grad * number("rescale_grad") : grad;
    if (has("clip_gradient") && number("clip_gradient") > 0) {
      const std::string bound = params_.at("clip_gradient");
      result = NDArray::invoke("clip", {result}, {{"a_min", "-" + bound}, {"a_max", bound}})[0];
    }
    return result;
  }
  bool has(const std::string& name) const { return params_.count(name) > 0; }

 private:
  void copy(const char* name, detail::Pairs& to) const {
    const auto found = params_.find(name);
    if (found != params_.end()) to[name] = found->second;
  }

  detail::Pairs params_;
  std::unique_ptr<LRScheduler> scheduler_;
  std::map<int, unsigned> counts_;
  std::map<int, std::vector<NDArray>> states_;
  unsigned num_update_, begin_;
};

// momentum
class SGDOptimizer : public Optimizer {
 public:
  explicit SGDOptimizer(unsigned begin_num_update = 0) : Optimizer(begin_num_update) {}
  std::string GetType() const override { return "sgd"; }
  using Optimizer::Update;
  void Update(int index, NDArray weight, NDArray grad) override {
    const float lr = next_rate(index);
    if (has("momentum") && number("momentum") != 0) {
      const NDArray momentum = states_of(index, weight, 1)[0];
      NDArray::invoke_into("sgd_mom_update", {weight, grad, momentum}, pick({"momentum"}, lr), {weight});
    } else {
      NDArray::invoke_into("sgd_update", {weight, grad}, pick({}, lr), {weight});
    }
  }
};

// momentum, wd_lh
class SignumOptimizer : public Optimizer {
 public:
  explicit SignumOptimizer(unsigned begin_num_update = 0) : Optimizer(begin_num_update) {}
  std::string GetType() const override { return "signum"; }
  using Optimizer::Update;
  void Update(int index, NDArray weight, NDArray grad) override {
    const float lr = next_rate(index);
    if (has("momentum") && number("momentum") != 0) {
      const NDArray momentum = states_of(index, weight, 1)[0];
      NDArray::invoke_into("signum_update", {weight, grad, momentum}, pick({"momentum", "wd_lh"}, lr),
                           {weight});
    } else {
      NDArray::invoke_into("signsgd_update", {weight, grad}, pick({}, lr), {weight});
    }
  }
};

// gamma1, gamma2, epsilon
class RMSPropOptimizer : public Optimizer {
 public:
  explicit RMSPropOptimizer(unsigned begin_num_update = 0) : Optimizer(begin_num_update) {
    SetParam("gamma1", 0.9f)->SetParam("gamma2", 0.9f)->SetParam("epsilon", 1e-8f);
  }
  std::string GetType() const override { return "rmsprop"; }
  using Optimizer::Update;
  void Update(int index, NDArray weight, NDArray grad) override {
    const float lr = next_rate(index);
    const std::vector<NDArray> states = states_of(index, weight, 3);
    NDArray::invoke_into("rmspropalex_update", {weight, grad, states[0], states[1], states[2]},
                         pick({"gamma1", "gamma2", "epsilon"}, lr), {weight});
  }
};

// beta1, beta2, epsilon
class AdamOptimizer : public Optimizer {
 public:
  explicit AdamOptimizer(unsigned begin_num_update = 0) : Optimizer(begin_num_update) {
    SetParam("beta1", 0.9f)->SetParam("beta2", 0.999f)->SetParam("epsilon", 1e-8f);
  }
  std::string GetType() const override { return "adam"; }
  using Optimizer::Update;
  void Update(int index, NDArray weight, NDArray grad) override {
    const float lr = next_rate(index);
    const auto count = static_cast<double>(count_of(index));
    const double first = 1 - std::pow(number("beta1"), count), second = 1 - std::pow(number("beta2"), count);
    const std::vector<NDArray> states = states_of(index, weight, 2);
    NDArray::invoke_into(
        "adam_update", {weight, grad, states[0], states[1]},
        pick({"beta1", "beta2", "epsilon"}, static_cast<float>(lr * std::sqrt(second) / first)), {weight});
  }
};

// eps
class AdaGradOptimizer : public Optimizer {
 public:
  explicit AdaGradOptimizer(unsigned begin_num_update = 0) : Optimizer(begin_num_update) {
    SetParam("eps", 1e-7f);
  }
  std::string GetType() const override { return "adagrad"; }
  using Optimizer::Update;
  void Update(int index, NDArray weight, NDArray grad) override {
    const float lr = next_rate(index);
    const NDArray change = prepared(grad);
    NDArray history = states_of(index, weight, 1)[0];
    history += change * change;
    const NDArray root = NDArray::invoke("sqrt", {history + number("eps")}, {})[0];
    weight -= (change / root + weight * number("wd")) * lr;
  }
};

// rho, epsilon
class AdaDeltaOptimizer : public Optimizer {
 public:
  explicit AdaDeltaOptimizer(unsigned begin_num_update = 0) : Optimizer(begin_num_update) {
    SetParam("rho", 0.9f)->SetParam("epsilon", 1e-5f);
  }
  std::string GetType() const override { return "adadelta"; }
  using Optimizer::Update;
  void Update(int index, NDArray weight, NDArray grad) override {
    next_rate(index);
    const float rho = number("rho"), epsilon = number("epsilon");
    const NDArray change = prepared(grad);
    std::vector<NDArray>& states = states_of(index, weight, 2);
    NDArray squares = states[0], deltas = states[1];
    squares *= rho;
    squares += change * change * (1 - rho);
    const auto root = [&](const NDArray& x) { return NDArray::invoke("sqrt", {x + epsilon}, {})[0]; };
    const NDArray delta = root(deltas) / root(squares) * change;
    deltas *= rho;
    deltas += delta * delta * (1 - rho);
    weight -= delta + weight * number("wd");
  }
};

using OptimizerCreator = std::function<Optimizer*()>;

// Optimizers by name: sgd (ccsgd), signum, rmsprop, adam, adagrad, adadelta, and those that a program adds.
class OptimizerRegistry {
 public:
  // A new optimizer, which the caller deletes.
  static Optimizer* Find(const std::string& name) {
    const auto found = creators().find(name);
    if (found == creators().end()) {
      std::string known;
      for (const auto& [other, creator] : creators()) known += (known.empty() ? "" : ", ") + other;
      throw Error("[OptimizerRegistry] there is no optimizer '" + name + "'; there are " + known + ".");
    }
    return found->second();
  }
  // Returns 0, or -1 if there is one of this name.
  static int __REGISTER__(const std::string& name, OptimizerCreator creator) {
    return creators().emplace(name, std::move(creator)).second ? 0 : -1;
  }

 private:
  template <class T>
  static Optimizer* make() {
    return std::make_unique<T>().release();
  }
  static std::map<std::string, OptimizerCreator>& creators() {
    static std::map<std::string, OptimizerCreator> all{
        {"sgd", make<SGDOptimizer>},          {"ccsgd", make<SGDOptimizer>},
        {"signum", make<SignumOptimizer>},    {"rmsprop", make<RMSPropOptimizer>},
        {"adam", make<AdamOptimizer>},        {"adagrad", make<AdaGradOptimizer>},
        {"adadelta", make<AdaDeltaOptimizer>}};
    return all;
  }
};

}  // namespace names
}  // namespace loomix::cpp

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/params.h"
#include "kvstore/optimizer.h"
#include "ops/op.h"

// How rules are made of settings and operators; for the sources of optimizers.
namespace loomix::kvstore {

// As an attribute of an operator.
std::string number_text(double value);

// Settings that all rules have.
struct CommonSettings {
  double learning_rate = 0.01;
  double wd = 0;
  double rescale_grad = 1;
  bool multi_precision = false;
  std::optional<double> clip_gradient;
  std::string lr_scheduler = "none";
  double base_lr = 0.01;
  double final_lr = 0;
  int64_t warmup_steps = 0;
  double warmup_begin_lr = 0;
  std::string warmup_mode = "linear";
  int64_t begin_num_update = 0;
  int64_t step = 1;
  std::string steps;
  double factor = 1;
  double stop_factor_lr = 1e-8;
  int64_t max_update = 1;
  double pwr = 2;

  template <class P>
  static void common_fields(FieldList<P>& f) {
    f("learning_rate", static_cast<double P::*>(&P::learning_rate), "Learning rate.").at_least(0);
    f("wd", static_cast<double P::*>(&P::wd), "Weight decay.");
    f("rescale_grad", static_cast<double P::*>(&P::rescale_grad), "Multiplies the gradient first.");
    f("multi_precision", static_cast<bool P::*>(&P::multi_precision),
      "Whether weights of float16 and bfloat16 are updated through a copy in float32.");
    f("clip_gradient", static_cast<std::optional<double> P::*>(&P::clip_gradient),
      "Clips the gradient to [-c, c].");
    f("lr_scheduler", static_cast<std::string P::*>(&P::lr_scheduler),
      "How the rate changes with the updates.")
        .options({"none", "factor", "multifactor", "poly", "cosine"});
    f("base_lr", static_cast<double P::*>(&P::base_lr), "Schedules: the rate at the start.");
    f("final_lr", static_cast<double P::*>(&P::final_lr), "poly, cosine: the rate at the end.");
    f("warmup_steps", static_cast<int64_t P::*>(&P::warmup_steps), "Updates in which the rate rises.")
        .at_least(0);
    f("warmup_begin_lr", static_cast<double P::*>(&P::warmup_begin_lr), "The rate that it rises from.");
    f("warmup_mode", static_cast<std::string P::*>(&P::warmup_mode),
      "How the rate gets from there to base_lr.")
        .options({"linear", "constant"});
    f("begin_num_update", static_cast<int64_t P::*>(&P::begin_num_update), "Updates that count as done.")
        .at_least(0);
    f("steps", static_cast<std::string P::*>(&P::steps),
      "multifactor: updates after which the rate changes, with commas.");
    f("step", static_cast<int64_t P::*>(&P::step), "factor: updates between changes.").at_least(1);
    f("factor", static_cast<double P::*>(&P::factor), "factor: multiplies the rate at each change.");
    f("stop_factor_lr", static_cast<double P::*>(&P::stop_factor_lr), "factor: the least rate.");
    f("max_update", static_cast<int64_t P::*>(&P::max_update), "poly, cosine: updates until the end.")
        .at_least(1);
    f("pwr", static_cast<double P::*>(&P::pwr), "poly: the power.").at_least(1);
  }

  // Whether an element's update depends on the others.
  bool needs_whole_weights() const { return false; }
  // Of the schedule: updates after which the rate changes.
  std::vector<int64_t> changes() const;
  double rate_at(int64_t updates) const;
  // What all update operators are told.
  TextPairs attrs(double rate, double decay) const;
};

// One update of a weight.
struct UpdateStep {
  const Key& key;
  const NDArray& weight;
  const NDArray& grad;
  NDArray out;  // may be the weight
  std::span<NDArray> states;
  int64_t updates;  // of this weight, this one included
  double rate, decay;
  int8_t priority;
};

// Applies a rule by operators.
class OperatorRule : public Optimizer {
 public:
  void update(const Key& key, const NDArray& weight, const NDArray& grad, const NDArray& out,
              OptimizerState& state, int8_t priority) const final;
  DType gradient_dtype(DType weight) const final { return keeps_master(weight) ? DType::float32 : weight; }

 protected:
  OperatorRule(Runtime& runtime, OptimizerSpec spec) : Optimizer(std::move(spec)), runtime_(runtime) {}
  // Whether updates of such weights go through a copy in float32, which is the last of its states.
  bool keeps_master(DType weight) const {
    return multi_precision() && (weight == DType::float16 || weight == DType::bfloat16);
  }
  virtual bool multi_precision() const = 0;
  virtual double rate(int64_t updates) const = 0;
  virtual double decay() const = 0;
  virtual int state_arrays() const = 0;
  virtual void apply(const UpdateStep& step) const = 0;
  void run(const char* op, const UpdateStep& step, TextPairs attrs) const;
  Runtime& runtime() const noexcept { return runtime_; }

 private:
  void update_rows(const ops::OpDef& op, const Ref<const AttrsBase>& attrs, const UpdateStep& step) const;
  double multiplier(const char* what, const Key& key) const;
  Runtime& runtime_;
};

// Whether a rule with these settings has a way of its own to update a weight; else there is an operator.
template <class S>
concept kHasOwnWay = requires(const S& settings, Runtime& runtime, const OptimizerSpec& spec,
                              const UpdateStep& step) {
  settings.apply(runtime, spec, step);
};

template <class S>
class Rule final : public OperatorRule {
 public:
  Rule(Runtime& runtime, OptimizerSpec spec, const TextPairs& settings)
      : OperatorRule(runtime, std::move(spec)),
        settings_(param_schema<S>().parse(S::kName, settings)->template as<S>()) {
    static_cast<void>(settings_.changes());  // throws for what cannot be read
  }

  bool by_rows(DType weight) const override { return settings_.by_rows() && !keeps_master(weight); }
  bool by_layer() const override { return settings_.needs_whole_weights(); }

 protected:
  bool multi_precision() const override { return settings_.multi_precision; }
  double rate(int64_t updates) const override {
    const int64_t all = settings_.begin_num_update + updates;
    return settings_.corrected(settings_.rate_at(all), all);
  }
  double decay() const override { return settings_.wd; }
  int state_arrays() const override { return settings_.states(); }
  void apply(const UpdateStep& step) const override {
    if constexpr (kHasOwnWay<S>) {
      settings_.apply(runtime(), spec(), step);
    } else {
      TextPairs attrs = settings_.attrs(step.rate, step.decay);
      settings_.add(attrs);
      run(settings_.op(), step, std::move(attrs));
    }
  }

 private:
  const S settings_;
};

// The rules that there are, by name.
using MakeRule = std::shared_ptr<const Optimizer> (*)(Runtime&, OptimizerSpec, const TextPairs&);
struct KnownRule {
  const char* name;
  MakeRule make;
};
template <class S>
constexpr KnownRule known_rule() {
  return {S::kName, [](Runtime& runtime, OptimizerSpec spec, const TextPairs& settings) {
            return std::shared_ptr<const Optimizer>(
                std::make_shared<Rule<S>>(runtime, std::move(spec), settings));
          }};
}

// Those that need the norm of a whole weight: LARS and LAMB.
std::span<const KnownRule> layer_rules();
// Those of several operators a step, or that no store had at first: AdaGrad, AdaDelta, AdamW and others.
std::span<const KnownRule> adaptive_rules();
// Nadam, and gradient descent with noise, for delayed gradients and for large batches.
std::span<const KnownRule> gradient_rules();

}  // namespace loomix::kvstore

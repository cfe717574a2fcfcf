// SPDX-License-Identifier: Apache-2.0
// Rules that scale each weight's step by the history of its gradient, or take its sign, by MXNet's formulas.
#include <array>
#include <cmath>

#include "kvstore/step_operators.h"

namespace loomix::kvstore {
namespace {

// The gradient rescaled, then clipped.
NDArray scaled(const Steps& run, const CommonSettings& settings, const NDArray& grad) {
  const NDArray result = run.scalar("_mul_scalar", grad, settings.rescale_grad);
  if (!settings.clip_gradient) return result;
  return run(
      "clip", {result},
      {{"a_min", number_text(-*settings.clip_gradient)}, {"a_max", number_text(*settings.clip_gradient)}});
}

// The same as attributes of update operators.
TextPairs scaling(const CommonSettings& settings) {
  TextPairs attrs = {{"rescale_grad", number_text(settings.rescale_grad)}};
  if (settings.clip_gradient) attrs.emplace_back("clip_gradient", number_text(*settings.clip_gradient));
  return attrs;
}

struct SignumSettings : CommonSettings {
  double momentum = 0.9;
  double wd_lh = 0;
  static constexpr const char* kName = "signum";
  static void fields(FieldList<SignumSettings>& f) {
    common_fields(f);
    f("momentum", &SignumSettings::momentum, "How much of the last step is kept.");
    f("wd_lh", &SignumSettings::wd_lh, "Decay of the weight itself, apart from the sign.");
  }
  bool by_rows() const { return false; }
  int states() const { return momentum != 0 ? 1 : 0; }
  const char* op() const { return momentum != 0 ? "signum_update" : "signsgd_update"; }
  double corrected(double rate, int64_t) const { return rate; }
  void add(TextPairs& attrs) const {
    if (momentum == 0) return;
    attrs.emplace_back("momentum", number_text(momentum));
    attrs.emplace_back("wd_lh", number_text(wd_lh));
  }
};

struct AdaGradSettings : CommonSettings {
  double eps = 1e-7;
  static constexpr const char* kName = "adagrad";
  static void fields(FieldList<AdaGradSettings>& f) {
    common_fields(f);
    f("eps", &AdaGradSettings::eps, "Added under the root.");
  }
  bool by_rows() const { return false; }
  int states() const { return 1; }
  double corrected(double rate, int64_t) const { return rate; }
  void apply(Runtime& runtime, const OptimizerSpec&, const UpdateStep& step) const {
    const Steps run(runtime, step.priority);
    const NDArray grad = scaled(run, *this, step.grad);
    const NDArray& history = step.states[0];
    run.into(history, "elemwise_add", {history, run("square", {grad})});
    const NDArray root = run("sqrt", {run.scalar("_plus_scalar", history, eps)});
    const NDArray change = run("elemwise_add", {run("elemwise_div", {grad, root}),
                                                run.scalar("_mul_scalar", step.weight, step.decay)});
    run.into(step.out, "elemwise_sub", {step.weight, run.scalar("_mul_scalar", change, step.rate)});
  }
};

struct AdaDeltaSettings : CommonSettings {
  double rho = 0.9;
  double epsilon = 1e-5;
  static constexpr const char* kName = "adadelta";
  static void fields(FieldList<AdaDeltaSettings>& f) {
    common_fields(f);
    f("rho", &AdaDeltaSettings::rho, "Decay of both means.");
    f("epsilon", &AdaDeltaSettings::epsilon, "Added under the roots.");
  }
  bool by_rows() const { return false; }
  int states() const { return 2; }
  double corrected(double rate, int64_t) const { return rate; }
  void apply(Runtime& runtime, const OptimizerSpec&, const UpdateStep& step) const {
    TextPairs attrs = scaling(*this);
    attrs.emplace_back("rho", number_text(rho));
    attrs.emplace_back("epsilon", number_text(epsilon));
    attrs.emplace_back("wd", number_text(step.decay));
    Steps(runtime, step.priority)
        .into(step.out, "_adadelta_update", {step.weight, step.grad, step.states[0], step.states[1]}, attrs);
  }
};

struct AdamaxSettings : CommonSettings {
  double beta1 = 0.9;
  double beta2 = 0.999;
  static constexpr const char* kName = "adamax";
  AdamaxSettings() { learning_rate = 0.002; }
  static void fields(FieldList<AdamaxSettings>& f) {
    common_fields(f);
    f("beta1", &AdamaxSettings::beta1, "Decay of the mean.");
    f("beta2", &AdamaxSettings::beta2, "Decay of the largest gradient.");
  }
  bool by_rows() const { return false; }
  int states() const { return 2; }
  double corrected(double rate, int64_t updates) const {
    return rate / (1 - std::pow(beta1, static_cast<double>(updates)));
  }
  void apply(Runtime& runtime, const OptimizerSpec&, const UpdateStep& step) const {
    TextPairs attrs = scaling(*this);
    attrs.emplace_back("lr", number_text(step.rate));
    attrs.emplace_back("wd", number_text(step.decay));
    attrs.emplace_back("beta1", number_text(beta1));
    attrs.emplace_back("beta2", number_text(beta2));
    Steps(runtime, step.priority)
        .into(step.out, "_adamax_update", {step.weight, step.grad, step.states[0], step.states[1]}, attrs);
  }
};

struct AdamWSettings : CommonSettings {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  static constexpr const char* kName = "adamw";
  AdamWSettings() { learning_rate = 0.001; }
  static void fields(FieldList<AdamWSettings>& f) {
    common_fields(f);
    f("beta1", &AdamWSettings::beta1, "Decay of the mean.");
    f("beta2", &AdamWSettings::beta2, "Decay of the variance.");
    f("epsilon", &AdamWSettings::epsilon, "Avoids a division by zero.");
  }
  bool by_rows() const { return false; }
  int states() const { return 2; }
  double corrected(double rate, int64_t) const { return rate; }
  // The weight decays by the rate times wd, apart from the gradient (arXiv:1711.05101).
  void apply(Runtime& runtime, const OptimizerSpec&, const UpdateStep& step) const {
    const Steps run(runtime, step.priority);
    const auto updates = static_cast<double>(begin_num_update + step.updates);
    const double correction = std::sqrt(1 - std::pow(beta2, updates)) / (1 - std::pow(beta1, updates));
    TextPairs attrs = {{"lr", number_text(step.rate * correction)},
                       {"eta", "1"},
                       {"wd", number_text(step.rate * step.decay)},
                       {"beta1", number_text(beta1)},
                       {"beta2", number_text(beta2)},
                       {"epsilon", number_text(epsilon)}};
    if (clip_gradient) attrs.emplace_back("clip_gradient", number_text(*clip_gradient));
    const NDArray scale = run(
        "_full", {},
        {{"shape", "(1,)"}, {"value", number_text(rescale_grad)}, {"ctx", step.weight.device().to_string()}});
    run.into(step.out, "_adamw_update", {step.weight, step.grad, step.states[0], step.states[1], scale},
             attrs);
  }
};

struct FtmlSettings : CommonSettings {
  double beta1 = 0.6;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  static constexpr const char* kName = "ftml";
  static void fields(FieldList<FtmlSettings>& f) {
    common_fields(f);
    f("beta1", &FtmlSettings::beta1, "Decay of the moving leader.");
    f("beta2", &FtmlSettings::beta2, "Decay of the variance.");
    f("epsilon", &FtmlSettings::epsilon, "Avoids a division by zero.");
  }
  bool by_rows() const { return false; }
  int states() const { return 3; }
  double corrected(double rate, int64_t) const { return rate; }
  void apply(Runtime& runtime, const OptimizerSpec&, const UpdateStep& step) const {
    TextPairs attrs = {{"lr", number_text(step.rate)},
                       {"wd", number_text(step.decay)},
                       {"rescale_grad", number_text(rescale_grad)},
                       {"beta1", number_text(beta1)},
                       {"beta2", number_text(beta2)},
                       {"epsilon", number_text(epsilon)},
                       {"t", std::to_string(begin_num_update + step.updates)}};
    if (clip_gradient) attrs.emplace_back("clip_grad", number_text(*clip_gradient));
    Steps(runtime, step.priority)
        .into(step.out, "ftml_update",
              {step.weight, step.grad, step.states[0], step.states[1], step.states[2]}, attrs);
  }
};

constexpr std::array kAdaptiveRules = {known_rule<AdaDeltaSettings>(), known_rule<AdaGradSettings>(),
                                       known_rule<AdamWSettings>(),    known_rule<AdamaxSettings>(),
                                       known_rule<FtmlSettings>(),     known_rule<SignumSettings>()};

}  // namespace

std::span<const KnownRule> adaptive_rules() { return kAdaptiveRules; }

}  // namespace loomix::kvstore

// SPDX-License-Identifier: Apache-2.0
// Rules whose step depends on the norm of the whole weight.
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "kvstore/step_operators.h"

namespace loomix::kvstore {
namespace {

struct LarsSettings : CommonSettings {
  double momentum = 0;
  double eta = 0.001;
  double eps = 0;
  bool momentum_correction = true;
  static constexpr const char* kName = "lars";
  static void fields(FieldList<LarsSettings>& f) {
    common_fields(f);
    f("momentum", &LarsSettings::momentum, "How much of the last step is kept.");
    f("eta", &LarsSettings::eta, "Multiplies the layer's factor of the rate.");
    f("eps", &LarsSettings::eps, "Added to the factor's divisor.");
    f("momentum_correction", &LarsSettings::momentum_correction,
      "Whether the momentum is scaled by the rate over the last one.");
  }
  bool by_rows() const { return false; }
  bool needs_whole_weights() const { return true; }
  int states() const { return momentum != 0 ? 1 : 0; }

  // Biases and the like, by the names that the worker knows or by their own.
  static bool plain(const OptimizerSpec& spec, const Key& key) {
    const int64_t* const number = std::get_if<int64_t>(&key);
    const std::string name = number ? std::to_string(*number) : std::get<std::string>(key);
    for (const auto& [setting, value] : spec.settings) {
      if (setting == kPlainRate + name) return true;
    }
    return name.ends_with("gamma") || name.ends_with("beta") || name.ends_with("bias");
  }

  void apply(Runtime& runtime, const OptimizerSpec& spec, const UpdateStep& step) const {
    const Steps run(runtime, step.priority);
    NDArray change = run.scalar("_mul_scalar", step.grad, rescale_grad);
    if (clip_gradient) {
      change = run("clip", {change},
                   {{"a_min", number_text(-*clip_gradient)}, {"a_max", number_text(*clip_gradient)}});
    }
    change = run("elemwise_add", {change, run.scalar("_mul_scalar", step.weight, step.decay)});
    if (plain(spec, step.key)) {
      change = run.scalar("_mul_scalar", change, step.rate);
    } else {
      const NDArray weight_norm = run.norm(step.weight);
      const NDArray grad_norm = run.scalar("_mul_scalar", run.norm(step.grad), rescale_grad);
      const NDArray decayed =
          run("elemwise_add", {grad_norm, run.scalar("_mul_scalar", weight_norm, step.decay)});
      const NDArray ratio = run("elemwise_div", {run.scalar("_mul_scalar", weight_norm, eta),
                                                 run.scalar("_plus_scalar", decayed, eps)});
      const NDArray both = run("elemwise_mul", {run.scalar("_greater_scalar", weight_norm, 0),
                                                run.scalar("_greater_scalar", grad_norm, 0)});
      const NDArray factor = run("where", {both, ratio, run("ones_like", {ratio})});
      change = run("broadcast_mul", {change, run.scalar("_mul_scalar", factor, step.rate)});
    }
    if (step.states.empty()) return run.into(step.out, "elemwise_sub", {step.weight, change});
    const NDArray& velocity = step.states[0];
    const int64_t all = begin_num_update + step.updates;
    const double correction = momentum_correction && step.updates > 1 ? rate_at(all) / rate_at(all - 1) : 1;
    run.into(velocity, "elemwise_sub", {run.scalar("_mul_scalar", velocity, momentum * correction), change});
    run.into(step.out, "elemwise_add", {step.weight, velocity});
  }
  double corrected(double rate, int64_t) const { return rate; }
};

struct LambSettings : CommonSettings {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  std::optional<double> lower_bound, upper_bound;
  bool bias_correction = true;
  static constexpr const char* kName = "lamb";
  LambSettings() { learning_rate = 0.001; }
  static void fields(FieldList<LambSettings>& f) {
    common_fields(f);
    f("beta1", &LambSettings::beta1, "Decay of the mean.");
    f("beta2", &LambSettings::beta2, "Decay of the variance.");
    f("epsilon", &LambSettings::epsilon, "Avoids a division by zero.");
    f("lower_bound", &LambSettings::lower_bound, "The least norm of a weight.");
    f("upper_bound", &LambSettings::upper_bound, "The largest norm of a weight.");
    f("bias_correction", &LambSettings::bias_correction,
      "Whether the means are corrected for their start at 0.");
  }
  bool by_rows() const { return false; }
  bool needs_whole_weights() const { return true; }
  int states() const { return 2; }

  void apply(Runtime& runtime, const OptimizerSpec&, const UpdateStep& step) const {
    const Steps run(runtime, step.priority);
    TextPairs first = {{"beta1", number_text(beta1)},
                       {"beta2", number_text(beta2)},
                       {"epsilon", number_text(epsilon)},
                       {"t", std::to_string(begin_num_update + step.updates)},
                       {"bias_correction", bias_correction ? "True" : "False"},
                       {"wd", number_text(step.decay)},
                       {"rescale_grad", number_text(rescale_grad)}};
    if (clip_gradient) first.emplace_back("clip_gradient", number_text(*clip_gradient));
    const NDArray direction =
        run("lamb_update_phase1", {step.weight, step.grad, step.states[0], step.states[1]}, first);
    TextPairs second = {{"lr", number_text(step.rate)}};
    if (lower_bound) second.emplace_back("lower_bound", number_text(*lower_bound));
    if (upper_bound) second.emplace_back("upper_bound", number_text(*upper_bound));
    run.into(step.out, "lamb_update_phase2",
             {step.weight, direction, run("norm", {step.weight}), run("norm", {direction})}, second);
  }
  double corrected(double rate, int64_t) const { return rate; }
};

constexpr std::array kLayerRules = {known_rule<LambSettings>(), known_rule<LarsSettings>()};

}  // namespace

std::span<const KnownRule> layer_rules() { return kLayerRules; }

}  // namespace loomix::kvstore

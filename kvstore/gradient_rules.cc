// SPDX-License-Identifier: Apache-2.0
// Rules of gradient descent with something added: momentum that looks ahead, noise, a compensation of delays, large batches; by
// MXNet's formulas.
#include <array>
#include <cmath>

#include "kvstore/step_operators.h"
#include "ndarray/copy.h"

namespace loomix::kvstore {
namespace {

NDArray clipped(const Steps& run, const CommonSettings& settings, const NDArray& grad) {
  if (!settings.clip_gradient) return grad;
  return run(
      "clip", {grad},
      {{"a_min", number_text(-*settings.clip_gradient)}, {"a_max", number_text(*settings.clip_gradient)}});
}
NDArray scaled(const Steps& run, const CommonSettings& settings, const NDArray& grad) {
  return clipped(run, settings, run.scalar("_mul_scalar", grad, settings.rescale_grad));
}
// x + factor * y
NDArray plus(const Steps& run, const NDArray& x, double factor, const NDArray& y) {
  return run("elemwise_add", {x, run.scalar("_mul_scalar", y, factor)});
}

struct NadamSettings : CommonSettings {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double schedule_decay = 0.004;
  static constexpr const char* kName = "nadam";
  NadamSettings() { learning_rate = 0.001; }
  static void fields(FieldList<NadamSettings>& f) {
    common_fields(f);
    f("beta1", &NadamSettings::beta1, "Decay of the mean.");
    f("beta2", &NadamSettings::beta2, "Decay of the variance.");
    f("epsilon", &NadamSettings::epsilon, "Avoids a division by zero.");
    f("schedule_decay", &NadamSettings::schedule_decay, "How fast the momentum approaches beta1.");
  }
  bool by_rows() const { return false; }
  int states() const { return 2; }
  double corrected(double rate, int64_t) const { return rate; }
  double momentum(int64_t update) const {
    return beta1 * (1 - 0.5 * std::pow(0.96, static_cast<double>(update) * schedule_decay));
  }
  // The product of all momenta so far. It is soon too small to matter.
  double schedule(int64_t updates) const {
    double product = 1;
    for (int64_t i = 1; i <= updates && product > 1e-30; ++i) product *= momentum(i);
    return product;
  }
  void apply(Runtime& runtime, const OptimizerSpec&, const UpdateStep& step) const {
    const Steps run(runtime, step.priority);
    const int64_t now = begin_num_update + step.updates;
    const NDArray grad = clipped(
        run, *this, plus(run, run.scalar("_mul_scalar", step.grad, rescale_grad), step.decay, step.weight));
    const NDArray &mean = step.states[0], &variance = step.states[1];
    run.into(mean, "elemwise_add",
             {run.scalar("_mul_scalar", mean, beta1), run.scalar("_mul_scalar", grad, 1 - beta1)});
    run.into(variance, "elemwise_add",
             {run.scalar("_mul_scalar", variance, beta2),
              run.scalar("_mul_scalar", run("square", {grad}), 1 - beta2)});
    const double next = momentum(now + 1), so_far = schedule(now);
    const NDArray ahead = plus(run, run.scalar("_mul_scalar", grad, (1 - momentum(now)) / (1 - so_far)),
                               next / (1 - so_far * next), mean);
    const double correction = 1 - std::pow(beta2, static_cast<double>(now));
    const NDArray root =
        run.scalar("_plus_scalar", run("sqrt", {run.scalar("_div_scalar", variance, correction)}), epsilon);
    run.into(step.out, "elemwise_sub",
             {step.weight, run("elemwise_div", {run.scalar("_mul_scalar", ahead, step.rate), root})});
  }
};

struct SgldSettings : CommonSettings {
  static constexpr const char* kName = "sgld";
  static void fields(FieldList<SgldSettings>& f) { common_fields(f); }
  bool by_rows() const { return false; }
  int states() const { return 0; }
  double corrected(double rate, int64_t) const { return rate; }
  void apply(Runtime& runtime, const OptimizerSpec&, const UpdateStep& step) const {
    const Steps run(runtime, step.priority);
    const NDArray change = plus(run, scaled(run, *this, step.grad), step.decay, step.weight);
    const NDArray noise = run("_random_normal_like", {step.weight},
                              {{"loc", "0"}, {"scale", number_text(std::sqrt(step.rate))}});
    run.into(step.out, "elemwise_add", {plus(run, step.weight, -step.rate / 2, change), noise});
  }
};

struct DcasgdSettings : CommonSettings {
  double momentum = 0;
  double lamda = 0.04;
  static constexpr const char* kName = "dcasgd";
  static void fields(FieldList<DcasgdSettings>& f) {
    common_fields(f);
    f("momentum", &DcasgdSettings::momentum, "How much of the last step is kept.");
    f("lamda", &DcasgdSettings::lamda, "Strength of the compensation.");
  }
  bool by_rows() const { return false; }
  int states() const { return momentum != 0 ? 2 : 1; }  // the weight before the last step, and that step
  double corrected(double rate, int64_t) const { return rate; }
  void apply(Runtime& runtime, const OptimizerSpec&, const UpdateStep& step) const {
    const Steps run(runtime, step.priority);
    const NDArray& previous = step.states[0];
    if (step.updates == 1) copy(step.weight, previous);
    const NDArray grad = scaled(run, *this, step.grad);
    const NDArray delay =
        run("elemwise_mul", {run("square", {grad}), run("elemwise_sub", {step.weight, previous})});
    const NDArray change = plus(run, plus(run, grad, step.decay, step.weight), lamda, delay);
    NDArray moved = run.scalar("_mul_scalar", change, -step.rate);
    if (momentum != 0) {
      run.into(step.states[1], "elemwise_add", {run.scalar("_mul_scalar", step.states[1], momentum), moved});
      moved = step.states[1];
    }
    copy(step.weight, previous);
    run.into(step.out, "elemwise_add", {step.weight, moved});
  }
};

struct LbsgdSettings : CommonSettings {
  double momentum = 0;
  std::string warmup_strategy = "linear";
  int64_t warmup_epochs = 5;
  int64_t batch_scale = 1;
  int64_t updates_per_epoch = 32;
  int64_t begin_epoch = 0;
  int64_t num_epochs = 60;
  static constexpr const char* kName = "lbsgd";
  static void fields(FieldList<LbsgdSettings>& f) {
    common_fields(f);
    f("momentum", &LbsgdSettings::momentum, "How much of the last step is kept.");
    f("warmup_strategy", &LbsgdSettings::warmup_strategy,
      "How the rate's factor grows from 1 to batch_scale; lars: a factor by the weight's norm and its "
      "gradient's.")
        .options({"linear", "power2", "sqrt", "lars"});
    f("warmup_epochs", &LbsgdSettings::warmup_epochs, "Epochs in which it grows.").at_least(0);
    f("batch_scale", &LbsgdSettings::batch_scale, "Batches whose gradients are added up for a step.")
        .at_least(1);
    f("updates_per_epoch", &LbsgdSettings::updates_per_epoch, "Updates of an epoch.").at_least(1);
    f("begin_epoch", &LbsgdSettings::begin_epoch, "The epoch that training begins with.").at_least(0);
    f("num_epochs", &LbsgdSettings::num_epochs, "Has no effect, as in MXNet.").at_least(0);
  }
  bool by_rows() const { return false; }
  bool needs_whole_weights() const { return warmup_strategy == "lars"; }
  int states() const { return momentum != 0 ? 2 : 1; }  // the sum of gradients, and the last step
  // That of the last update, as MXNet has it.
  double corrected(double, int64_t updates) const { return rate_at(updates - 1); }
  double factor_at(int64_t batches) const {
    const int64_t length = warmup_epochs * updates_per_epoch;
    const auto top = static_cast<double>(batch_scale);
    if (batches >= length) return top;
    if (length <= 1) return 1;
    const double done = static_cast<double>(batches) / static_cast<double>(length);
    return 1 + (top - 1) * (warmup_strategy == "linear"   ? done
                            : warmup_strategy == "power2" ? done * done
                                                          : std::sqrt(done));
  }
  void apply(Runtime& runtime, const OptimizerSpec&, const UpdateStep& step) const {
    const Steps run(runtime, step.priority);
    const NDArray& sum = step.states[0];
    const int64_t batches = begin_epoch * updates_per_epoch + step.updates;
    if (step.updates == 1 || (batches - 1) % batch_scale == 0) copy(step.grad, sum);
    else run.into(sum, "elemwise_add", {sum, step.grad});
    if (batches % batch_scale != 0) {
      if (step.out.storage_ref() != step.weight.storage_ref()) copy(step.weight, step.out);
      return;
    }
    const NDArray grad = run.scalar("_div_scalar", sum, static_cast<double>(batch_scale));
    if (warmup_strategy == "lars") return by_layer(run, step, grad);
    change(run, step, plus(run, scaled(run, *this, grad), step.decay, step.weight),
           step.rate * factor_at(batches));
  }

 private:
  void change(const Steps& run, const UpdateStep& step, const NDArray& by, double rate) const {
    NDArray moved = run.scalar("_mul_scalar", by, -rate);
    if (momentum != 0) {
      run.into(step.states[1], "elemwise_add", {run.scalar("_mul_scalar", step.states[1], momentum), moved});
      moved = step.states[1];
    }
    run.into(step.out, "elemwise_add", {step.weight, moved});
  }
  void by_layer(const Steps& run, const UpdateStep& step, const NDArray& grad) const {
    const auto square = [&](const NDArray& x) { return run("sum", {run("square", {x})}); };
    const NDArray weights = square(step.weight);
    const NDArray below = run.scalar("_plus_scalar", plus(run, square(grad), step.decay, weights), 1e-18);
    const NDArray factor = run("clip", {run("sqrt", {run("elemwise_div", {weights, below})})},
                               {{"a_min", "0.01"}, {"a_max", "100"}});
    const NDArray by = plus(run, scaled(run, *this, grad), step.decay, step.weight);
    change(run, step, run("broadcast_mul", {by, reshaped(factor, by)}), step.rate);
  }
  // With as many axes, to be broadcast.
  static NDArray reshaped(const NDArray& one, const NDArray& like) {
    return one.reshape(Shape::filled(like.shape().ndim(), 1));
  }
};

constexpr std::array kGradientRules = {known_rule<DcasgdSettings>(), known_rule<LbsgdSettings>(),
                                       known_rule<NadamSettings>(), known_rule<SgldSettings>()};

}  // namespace

std::span<const KnownRule> gradient_rules() { return kGradientRules; }

}  // namespace loomix::kvstore

// SPDX-License-Identifier: Apache-2.0
#include "kvstore/optimizer.h"

#include <array>
#include <cmath>
#include <functional>
#include <mutex>

#include <fmt/core.h>

#include "base/error.h"
#include "kvstore/optimizer_rule.h"
#include "ndarray/copy.h"
#include "symbol/executor/op_call.h"
#include "symbol/executor/run_node.h"

namespace loomix::kvstore {

std::string number_text(double value) { return fmt::format("{}", static_cast<float>(value)); }

std::vector<int64_t> CommonSettings::changes() const {
  std::vector<int64_t> numbers;
  for (size_t begin = 0; begin < steps.size();) {
    const size_t end = std::min(steps.find(',', begin), steps.size());
    int64_t number = 0;
    LOOMIX_CHECK(read_value(std::string_view(steps).substr(begin, end - begin), number), ValueError,
                 "[KVStore] the schedule's steps are '{}'; expected whole numbers with commas between.",
                 steps);
    numbers.push_back(number);
    begin = end + 1;
  }
  return numbers;
}

double CommonSettings::rate_at(int64_t updates) const {
  if (lr_scheduler == "none") return learning_rate;
  if (updates < warmup_steps) {
    if (warmup_mode == "constant") return warmup_begin_lr;
    return warmup_begin_lr +
           (base_lr - warmup_begin_lr) * static_cast<double>(updates) / static_cast<double>(warmup_steps);
  }
  if (lr_scheduler == "factor") {
    const auto changes = static_cast<double>(updates > 0 ? (updates - 1) / step : 0);
    return std::max(base_lr * std::pow(factor, changes), std::min(base_lr, stop_factor_lr));
  }
  if (lr_scheduler == "multifactor") {
    double rate = base_lr;
    for (const int64_t change : changes()) rate *= updates > change ? factor : 1;
    return rate;
  }
  const int64_t length = std::max<int64_t>(max_update - warmup_steps, 1);
  const double done =
      static_cast<double>(std::min(updates - warmup_steps, length)) / static_cast<double>(length);
  const double left =
      lr_scheduler == "poly" ? std::pow(1 - done, pwr) : (1 + std::cos(3.141592653589793 * done)) / 2;
  return final_lr + (base_lr - final_lr) * left;
}

TextPairs CommonSettings::attrs(double rate, double decay) const {
  TextPairs pairs = {
      {"lr", number_text(rate)}, {"wd", number_text(decay)}, {"rescale_grad", number_text(rescale_grad)}};
  if (clip_gradient) pairs.emplace_back("clip_gradient", number_text(*clip_gradient));
  return pairs;
}

namespace {

constexpr const char* kLazyDoc = "Whether a row_sparse gradient changes only the rows that it has.";

struct SgdSettings : CommonSettings {
  double momentum = 0;
  bool lazy_update = true;
  static constexpr const char* kName = "sgd";
  static void fields(FieldList<SgdSettings>& f) {
    common_fields(f);
    f("momentum", &SgdSettings::momentum, "How much of the last step is kept.");
    f("lazy_update", &SgdSettings::lazy_update, kLazyDoc);
  }
  bool by_rows() const { return lazy_update; }
  int states() const { return momentum != 0 ? 1 : 0; }
  const char* op() const { return momentum != 0 ? "sgd_mom_update" : "sgd_update"; }
  double corrected(double rate, int64_t) const { return rate; }
  void add(TextPairs& attrs) const {
    if (momentum != 0) attrs.emplace_back("momentum", number_text(momentum));
    if (!lazy_update) attrs.emplace_back("lazy_update", "False");
  }
};

struct NagSettings : CommonSettings {
  double momentum = 0;
  static constexpr const char* kName = "nag";
  static void fields(FieldList<NagSettings>& f) {
    common_fields(f);
    f("momentum", &NagSettings::momentum, "How much of the last step is kept.");
  }
  bool by_rows() const { return momentum == 0; }
  int states() const { return momentum != 0 ? 1 : 0; }
  const char* op() const { return momentum != 0 ? "nag_mom_update" : "sgd_update"; }
  double corrected(double rate, int64_t) const { return rate; }
  void add(TextPairs& attrs) const {
    if (momentum != 0) attrs.emplace_back("momentum", number_text(momentum));
  }
};

struct AdamSettings : CommonSettings {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  bool lazy_update = true;
  static constexpr const char* kName = "adam";
  AdamSettings() { learning_rate = 0.001; }
  static void fields(FieldList<AdamSettings>& f) {
    common_fields(f);
    f("beta1", &AdamSettings::beta1, "Decay of the mean.");
    f("beta2", &AdamSettings::beta2, "Decay of the variance.");
    f("epsilon", &AdamSettings::epsilon, "Avoids a division by zero.");
    f("lazy_update", &AdamSettings::lazy_update, kLazyDoc);
  }
  bool by_rows() const { return lazy_update; }
  int states() const { return 2; }
  const char* op() const { return "adam_update"; }
  double corrected(double rate, int64_t updates) const {
    const auto t = static_cast<double>(updates);
    return rate * std::sqrt(1 - std::pow(beta2, t)) / (1 - std::pow(beta1, t));
  }
  void add(TextPairs& attrs) const {
    attrs.emplace_back("beta1", number_text(beta1));
    attrs.emplace_back("beta2", number_text(beta2));
    attrs.emplace_back("epsilon", number_text(epsilon));
    if (!lazy_update) attrs.emplace_back("lazy_update", "False");
  }
};

struct RmsPropSettings : CommonSettings {
  double gamma1 = 0.9;
  double gamma2 = 0.9;
  double epsilon = 1e-8;
  bool centered = false;
  static constexpr const char* kName = "rmsprop";
  RmsPropSettings() { learning_rate = 0.001; }
  static void fields(FieldList<RmsPropSettings>& f) {
    common_fields(f);
    f("gamma1", &RmsPropSettings::gamma1, "Decay of the mean square.");
    f("gamma2", &RmsPropSettings::gamma2, "Momentum of the centered form.");
    f("epsilon", &RmsPropSettings::epsilon, "Avoids a division by zero.");
    f("centered", &RmsPropSettings::centered, "Whether the running mean is taken off.");
  }
  bool by_rows() const { return false; }
  int states() const { return centered ? 3 : 1; }
  const char* op() const { return centered ? "rmspropalex_update" : "rmsprop_update"; }
  double corrected(double rate, int64_t) const { return rate; }
  void add(TextPairs& attrs) const {
    attrs.emplace_back("gamma1", number_text(gamma1));
    if (centered) attrs.emplace_back("gamma2", number_text(gamma2));
    attrs.emplace_back("epsilon", number_text(epsilon));
  }
};

struct FtrlSettings : CommonSettings {
  double lamda1 = 0.01;
  double beta = 1;
  static constexpr const char* kName = "ftrl";
  FtrlSettings() { learning_rate = 0.1; }
  static void fields(FieldList<FtrlSettings>& f) {
    common_fields(f);
    f("lamda1", &FtrlSettings::lamda1, "Weight of the L1 penalty.");
    f("beta", &FtrlSettings::beta, "Damps the rate of each coordinate.");
  }
  bool by_rows() const { return true; }
  int states() const { return 2; }
  const char* op() const { return "ftrl_update"; }
  double corrected(double rate, int64_t) const { return rate; }
  void add(TextPairs& attrs) const {
    attrs.emplace_back("lamda1", number_text(lamda1));
    attrs.emplace_back("beta", number_text(beta));
  }
};

constexpr std::array kKnown = {known_rule<AdamSettings>(), known_rule<FtrlSettings>(),
                               known_rule<NagSettings>(), known_rule<RmsPropSettings>(),
                               known_rule<SgdSettings>()};

}  // namespace

double OperatorRule::multiplier(const char* what, const Key& key) const {
  const int64_t* const number = std::get_if<int64_t>(&key);
  const std::string name =
      fmt::format("{}.{}", what, number ? std::to_string(*number) : std::get<std::string>(key));
  for (const auto& [setting, value] : spec().settings) {
    if (setting == name) return std::stod(value);
  }
  return 1;
}

void OperatorRule::update(const Key& key, const NDArray& weight, const NDArray& grad, const NDArray& out,
                          OptimizerState& state, int8_t priority) const {
  const DType dtype = gradient_dtype(weight.dtype());
  const bool master = keeps_master(weight.dtype());
  const auto own = static_cast<size_t>(state_arrays());
  std::vector<NDArray>& arrays = state.arrays;
  // What another rule kept is of no use to one with a copy of the weight, nor such a copy to others.
  if (!arrays.empty() && (arrays[0].dtype() != dtype || (master && arrays.size() != own + 1))) arrays.clear();
  while (arrays.size() < own)
    arrays.push_back(zeros(weight.engine(), weight.shape(), dtype, weight.device()));
  if (master && arrays.size() == own) arrays.push_back(cast(weight, dtype));
  ++state.updates;
  const double rate_now = rate(state.updates) * multiplier("lr_mult", key);
  const double decay_now = decay() * multiplier("wd_mult", key);
  const std::span<NDArray> states(arrays.data(), own);
  const NDArray& from = master ? arrays.back() : weight;
  apply({key, from, grad, master ? from : out, states, state.updates, rate_now, decay_now, priority});
  if (master) copy(from, out);
}

void OperatorRule::run(const char* op, const UpdateStep& step, TextPairs attrs) const {
  const ops::OpDef& def = *runtime_.table().find(op);
  const Ref<const AttrsBase> parsed = def.params->parse(def.name, attrs);
  if (step.grad.stype() == StorageType::row_sparse && by_rows(step.weight.dtype()))
    return update_rows(def, parsed, step);
  std::vector<const NDArray*> in = {&step.weight, &step.grad};
  for (const NDArray& array : step.states) in.push_back(&array);
  NDArray to = step.out;
  NDArray* const out[] = {&to};
  RunOptions options;
  options.out = out;
  options.priority = step.priority;
  run_node(runtime_, def, parsed, in, options);
}

// Stores keep weights and states dense, in whatever shape; rows are updated as if they were row_sparse, too, for then every
// one of these operators leaves the other rows alone.
void OperatorRule::update_rows(const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                               const UpdateStep& step) const {
  if (step.out.storage_ref() != step.weight.storage_ref()) copy(step.weight, step.out);
  const Shape& shape = step.grad.shape();
  std::vector<NDArray> arrays = {step.out, step.grad};
  arrays.insert(arrays.end(), step.states.begin(), step.states.end());
  std::vector<const NDArray*> in;
  std::vector<TensorView> views;
  for (NDArray& array : arrays) {
    if (array.is_dense()) array = array.reshape(shape);
    in.push_back(&array);
    views.push_back({nullptr, array.dtype(), shape});
  }
  const std::vector<StorageType> stypes(arrays.size() + 1, StorageType::row_sparse);
  const ops::Req req = ops::Req::write;
  ops::KernelSpec spec{views, std::span(views).first(1), {&req, 1}};
  spec.stypes = stypes;
  const ops::KernelChoice choice = choose_kernel(runtime_, op, attrs, spec, step.out.device());
  LOOMIX_INTERNAL_CHECK(choice.kernel != nullptr);
  OpCall::make(runtime_, {.op = op,
                          .attrs = attrs,
                          .in = in,
                          .out = std::span(arrays).first(1),
                          .saved = {},
                          .req = {&req, 1},
                          .device = step.out.device(),
                          .choice = &choice})
      ->push(runtime_, step.priority);
}

std::shared_ptr<const Optimizer> make_optimizer(Runtime& runtime, OptimizerSpec spec,
                                                const CodeOptimizerMaker& code) {
  if (spec.name == kCodeOptimizer) {
    LOOMIX_CHECK(
        code, ValueError,
        "[KVStore] the optimizer is pickled code, which this server does not run; start all servers with "
        "LOOMIX_KV_ALLOW_PICKLE=1 to let it, and with it everybody who can reach them, run code there.");
    return code(std::move(spec));
  }
  TextPairs settings;
  for (const auto& [name, value] : spec.settings) {
    if (!name.starts_with("lr_mult.") && !name.starts_with("wd_mult.") && !name.starts_with(kPlainRate)) {
      settings.emplace_back(name, value);
      continue;
    }
    double parsed = 0;
    LOOMIX_CHECK(read_value(value, parsed), ValueError, "[{}] {} is '{}'; expected a number.", spec.name,
                 name, value);
  }
  std::string names;
  for (const std::span<const KnownRule> rules :
       {std::span<const KnownRule>(kKnown), layer_rules(), adaptive_rules(), gradient_rules()}) {
    for (const KnownRule& one : rules) {
      if (spec.name == one.name) return one.make(runtime, std::move(spec), settings);
      names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    }
  }
  detail::throw_error<ValueError>(
      "[optimizer] no optimizer '{}' is written in C++, as stores and C++ programs need; there are {}.",
      spec.name, names);
}

}  // namespace loomix::kvstore

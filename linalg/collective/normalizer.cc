// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

#include "linalg/collective/collective_ops.h"
#include "ops/kernel.h"

namespace loomix::linalg {
namespace {

using ops::KernelArgs;

constexpr const char* kNormalizer = "_parallel_normalizer";

struct NormalizerParams {
  double eps = 1e-3f;
  float momentum = 0.9f;
  bool fix_gamma = true;
  static void fields(FieldList<NormalizerParams>& f) {
    f("eps", &NormalizerParams::eps, "Added to the variance.");
    f("momentum", &NormalizerParams::momentum, "How much of the moving averages is kept at an update.");
    f("fix_gamma", &NormalizerParams::fix_gamma, "Keeps gamma at 1.");
  }
};

// As BatchNorm has it: 0 where it would be infinite.
template <class T>
T inverse_deviation(T variance, double eps) {
  const T shifted = variance + static_cast<T>(eps);
  return shifted == 0 ? T{0} : 1 / std::sqrt(shifted);
}

template <class T>
void forward(const NormalizerParams& p, const KernelArgs& args) {
  const bool by_batch = args.training;
  const T* mean = args.in[by_batch ? 0 : 4].as<T>();
  const T* var = args.in[by_batch ? 1 : 5].as<T>();
  const T *gamma = args.in[2].as<T>(), *beta = args.in[3].as<T>();
  T *shift = args.wanted<T>(0), *scale = args.wanted<T>(1), *offset = args.wanted<T>(2);
  for (int64_t c = 0; c < args.in[0].size(); ++c) {
    if (shift) shift[c] = mean[c];
    if (scale) scale[c] = (p.fix_gamma ? T{1} : gamma[c]) * inverse_deviation(var[c], p.eps);
    if (offset) offset[c] = beta[c];
  }
}

// grads of the outputs, mean, var, gamma, moving_mean, moving_var -> gradients of mean, var, gamma and beta.
template <class T>
void backward(const NormalizerParams& p, const KernelArgs& args) {
  const bool by_batch = args.training;
  const T *shift_grad = args.in[0].as<T>(), *scale_grad = args.in[1].as<T>(),
          *offset_grad = args.in[2].as<T>();
  const T *mean = args.in[3].as<T>(), *var = args.in[4].as<T>(), *gamma = args.in[5].as<T>();
  T *moving_mean = args.in[6].mutable_as<T>(), *moving_var = args.in[7].mutable_as<T>();
  T *mean_grad = args.wanted<T>(0), *var_grad = args.wanted<T>(1);
  T *gamma_grad = args.wanted<T>(2), *beta_grad = args.wanted<T>(3);
  const T kept = T(p.momentum);
  for (int64_t c = 0; c < args.in[3].size(); ++c) {
    const T inverse = inverse_deviation(by_batch ? var[c] : moving_var[c], p.eps);
    const T factor = p.fix_gamma ? T{1} : gamma[c];
    if (mean_grad) mean_grad[c] = by_batch ? shift_grad[c] : T{0};
    if (var_grad)
      var_grad[c] = by_batch ? scale_grad[c] * factor * inverse * inverse * inverse / T{-2} : T{0};
    if (gamma_grad) gamma_grad[c] = p.fix_gamma ? T{0} : scale_grad[c] * inverse;
    if (beta_grad) beta_grad[c] = offset_grad[c];
    if (p.fix_gamma) args.in[5].mutable_as<T>()[c] = T{1};
    if (!by_batch) continue;
    moving_mean[c] = moving_mean[c] * kept + mean[c] * (1 - kept);
    moving_var[c] = moving_var[c] * kept + var[c] * (1 - kept);
  }
}

void normalizer_cpu(const NormalizerParams& p, const KernelArgs& args) {
  if (args.in[0].dtype == DType::float64) forward<double>(p, args);
  else forward<float>(p, args);
}
void normalizer_backward_cpu(const NormalizerParams& p, const KernelArgs& args) {
  if (args.in[3].dtype == DType::float64) backward<double>(p, args);
  else backward<float>(p, args);
}

void add_backward(ops::OpTable& table, const std::string& name, bool fixed_gamma) {
  auto op =
      table.add_hidden<NormalizerParams>(name, {"shift_grad", "scale_grad", "offset_grad", "mean", "var"});
  if (fixed_gamma) op.state("gamma");
  else op.input("gamma");
  op.state("moving_mean")
      .state("moving_var")
      .outputs({"mean", "var", "gamma", "beta"})
      .types({DType::float32, DType::float64})
      .one_shape()
      .training_matters();
  table.kernel<normalizer_backward_cpu>(name, "parallel_normalizer_backward_cpu");
}

}  // namespace

void register_normalizer(ops::OpTable& table) {
  table.add_hidden<NormalizerParams>(kNormalizer, {"mean", "var", "gamma", "beta"})
      .state("moving_mean")
      .state("moving_var")
      .outputs({"shift", "scale", "offset"})
      .types({DType::float32, DType::float64})
      .one_shape()
      .training_matters()
      .gradient([](const NormalizerParams& p, ops::GradBuilder& g) {
        const ops::GradValue inputs[] = {g.grad_of(0), g.grad_of(1), g.grad_of(2), g.in(0),
                                         g.in(1),      g.in(2),      g.in(4),      g.in(5)};
        const auto grads =
            g.call(p.fix_gamma ? "_backward_parallel_normalizer" : "_backward_parallel_normalizer_free_gamma",
                   inputs, g.attrs());
        for (int i = 0; i < 4; ++i)
          if (g.wants(i)) g.set(i, grads[static_cast<size_t>(i)]);
      });
  table.kernel<normalizer_cpu>(kNormalizer, "parallel_normalizer_cpu");
  add_backward(table, "_backward_parallel_normalizer", true);
  add_backward(table, "_backward_parallel_normalizer_free_gamma", false);
}

}  // namespace loomix::linalg

// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "engine/parallel_for.h"
#include "ops/loss/label.h"
#include "ops/loss/regression_output.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kGrain = 16384;

void copy(const KernelArgs& args) {
  if (args.req[0] == Req::null || args.out[0].data == args.in[0].data || args.out[0].size() == 0) return;
  std::memcpy(args.out[0].data, args.in[0].data, static_cast<size_t>(args.out[0].bytes()));
}

template <Regression kind>
void regression_output_cpu(const RegressionOutputParams&, const KernelArgs& args) {
  if constexpr (kind != Regression::logistic) return copy(args);
  dispatch_floating(args.out[0].dtype, "RegressionOutput", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* x = args.in[0].as<T>();
    T* y = args.out[0].mutable_as<T>();
    engine::parallel_each(*args.context, args.out[0].size(), kGrain, [&](int64_t i) {
      y[i] = static_cast<T>(1 / (1 + std::exp(-static_cast<A>(x[i]))));
    });
  });
}

// output, label -> gradient of the data.
template <Regression kind>
void regression_output_backward_cpu(const RegressionOutputParams& p, const KernelArgs& args) {
  const int64_t size = args.out[0].size();
  if (args.req[0] == Req::null || size == 0) return;
  dispatch_floating(args.out[0].dtype, "RegressionOutput", [&]<class T>(Type<T>) {
    dispatch_numeric(args.in[1].dtype, "RegressionOutput", [&]<class L>(Type<L>) {
      using A = Accum<T>;
      const T* y = args.in[0].as<T>();
      const L* label = args.in[1].as<L>();
      T* out = args.out[0].mutable_as<T>();
      const A scale = A(p.grad_scale) / A(size / args.out[0].shape[0]);
      engine::parallel_each(*args.context, size, kGrain, [&](int64_t i) {
        const A distance = static_cast<A>(y[i]) - static_cast<A>(static_cast<Accum<L>>(label[i]));
        const A sign = distance > 0 ? A{1} : distance < 0 ? A{-1} : A{0};
        out[i] = static_cast<T>(scale * (kind == Regression::mae ? sign : distance));
      });
    });
  });
}

template <Regression kind>
void add_regression(OpTable& table, const std::string& name) {
  table.kernel<regression_output_cpu<kind>>(name, "regression_output_cpu");
  table.kernel<regression_output_backward_cpu<kind>>("_backward_" + name, "regression_output_backward_cpu");
}

void svm_output_cpu(const SvmOutputParams&, const KernelArgs& args) { copy(args); }

void svm_output_backward_cpu(const SvmOutputParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null || args.out[0].size() == 0) return;
  dispatch_floating(args.out[0].dtype, "SVMOutput", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* x = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    const Labels labels(args.in[1]);
    const int64_t rows = args.out[0].shape[0];
    const int64_t classes = args.out[0].size() / rows;
    const A margin = A(p.margin);
    const A scale = A(p.regularization_coefficient);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < classes; ++i) {
        const int64_t at = row * classes + i;
        const A side = i == labels[row] ? A{1} : A{-1};  // where the item should lie
        const A missing = margin - side * static_cast<A>(x[at]);
        const A slope = p.use_linear ? A{1} : 2 * missing;
        out[at] = static_cast<T>(missing > 0 ? -side * slope * scale : A{0});
      }
    }
  });
}

}  // namespace

void kernels_regression_output(OpTable& table) {
  add_regression<Regression::linear>(table, "LinearRegressionOutput");
  add_regression<Regression::logistic>(table, "LogisticRegressionOutput");
  add_regression<Regression::mae>(table, "MAERegressionOutput");
  table.kernel<svm_output_cpu>("SVMOutput", "svm_output_cpu");
  table.kernel<svm_output_backward_cpu>("_backward_SVMOutput", "svm_output_backward_cpu");
}

}  // namespace loomix::ops

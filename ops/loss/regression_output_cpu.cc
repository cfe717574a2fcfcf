// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/elemwise/apply.h"
#include "ops/elemwise/unary.h"
#include "ops/loss/label.h"
#include "ops/loss/regression_output.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// What the gradient is: that of the squared or absolute distance.
enum class Regression { distance, sign };

// output, label -> gradient of the data.
template <Regression kind>
void regression_output_backward_cpu(const RegressionOutputParams& p, const KernelArgs& args) {
  const TensorView &out = args.out[0], &label = args.in[1];
  dispatch_floating(out.dtype, "RegressionOutput", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* y = args.in[0].as<T>();
    T* to = out.mutable_as<T>();
    const A scale = A(p.grad_scale) / A(out.size() / out.shape[0]);
    parallel_blocks(args, out.size(), [&](int64_t begin, int64_t end) {
      A labels[kLoopBlock];
      for (int64_t first = begin; first < end; first += kLoopBlock) {
        const int64_t count = std::min(kLoopBlock, end - first);
        convert_row(label.dtype, element(label, first), dtype_of<A>(), labels, count);
        for (int64_t i = 0; i < count; ++i) {
          const A distance = static_cast<A>(y[first + i]) - labels[i];
          const A sign = distance > 0 ? A{1} : A{-1};  // at 0, too, as in MXNet
          to[first + i] = static_cast<T>(scale * (kind == Regression::sign ? sign : distance));
        }
      }
    });
  });
}

void svm_output_backward_cpu(const SvmOutputParams& p, const KernelArgs& args) {
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
  for (const char* op : {"LinearRegressionOutput", "MAERegressionOutput", "SVMOutput"})
    table.kernel<convert_cpu>(op, "copy_cpu");
  table.kernel<unary_cpu<unary_code<fn::Sigmoid>>>("LogisticRegressionOutput", "unary_cpu");
}

void gradients_regression_output(OpTable& table) {
  for (const char* op : {"_backward_LinearRegressionOutput", "_backward_LogisticRegressionOutput"})
    table.kernel<regression_output_backward_cpu<Regression::distance>>(op, "regression_output_backward_cpu");
  table.kernel<regression_output_backward_cpu<Regression::sign>>("_backward_MAERegressionOutput",
                                                                 "regression_output_backward_cpu");
  table.kernel<svm_output_backward_cpu>("_backward_SVMOutput", "svm_output_backward_cpu");
}

}  // namespace loomix::ops

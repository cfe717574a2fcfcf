// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "engine/parallel_for.h"
#include "ops/loss/label.h"
#include "ops/loss/softmax_output.h"
#include "ops/softmax/softmax.h"
#include "ops/table.h"

namespace loomix::ops {

SoftmaxRows rows_of(const SoftmaxOutputParams& p, const Shape& shape) {
  if (p.multi_output && shape.ndim() >= 2) return SoftmaxRows(shape, 1);
  if (p.preserve_shape) return SoftmaxRows(shape, shape.ndim() - 1);
  return SoftmaxRows(shape[0], shape.size_between(1, shape.ndim()));
}

double fixed_divisor(const SoftmaxOutputParams& p, const SoftmaxRows& rows, const Shape& label) {
  const bool by_batch = p.normalization == LossNormalization::batch;
  if (!p.multi_output) return by_batch ? static_cast<double>(label.size()) : 1.0;
  const auto places = static_cast<double>(rows.inner);
  return by_batch ? places * static_cast<double>(label[0]) : places;
}

namespace {

constexpr int64_t kElementsPerThread = 16384;

// What the gradient is divided by.
double divisor(const SoftmaxOutputParams& p, const SoftmaxRows& rows, const TensorView& label) {
  if (p.normalization == LossNormalization::valid) {
    const Labels labels(label);
    const auto ignored = static_cast<int64_t>(p.ignore_label);
    int64_t valid = 0;
    for (int64_t i = 0; i < label.size(); ++i) valid += labels[i] != ignored;
    return static_cast<double>(std::max<int64_t>(valid, 1));
  }
  return fixed_divisor(p, rows, label.shape);
}

// data, label -> softmax(data).
void softmax_output_cpu(const SoftmaxOutputParams& p, const KernelArgs& args) {
  softmax_rows(SoftmaxKind::softmax, rows_of(p, args.in[0].shape), 1.0, args.in[0], args.out[0],
               *args.context);
}

// output, label -> gradient of the data.
void softmax_output_backward_cpu(const SoftmaxOutputParams& p, const KernelArgs& args) {
  const TensorView& label = args.in[1];
  const SoftmaxRows rows = rows_of(p, args.in[0].shape);
  dispatch_floating(args.out[0].dtype, "SoftmaxOutput", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* y = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    const auto put = [&](int64_t at, A value) {
      out[at] = static_cast<T>(p.out_grad ? value * static_cast<A>(y[at]) : value);
    };
    if (label.shape == args.in[0].shape && label.dtype == args.in[0].dtype &&
        rows.size != 1) {  // probabilities
      const T* wanted = label.as<T>();
      const A scale = A(p.grad_scale);
      return engine::parallel_each(*args.context, args.out[0].size(), kElementsPerThread, [&](int64_t i) {
        put(i, scale * (static_cast<A>(y[i]) - static_cast<A>(wanted[i])));
      });
    }
    const Labels labels(label);
    const A scale = A(p.grad_scale / divisor(p, rows, label));
    const A smooth = rows.size > 1 ? A(p.smooth_alpha) / A(rows.size - 1) : A{0};
    const A on_label = A{1} - A(p.smooth_alpha);
    const auto ignored = static_cast<int64_t>(p.ignore_label);
    const int64_t grain = kElementsPerThread / rows.size;
    engine::parallel_each(*args.context, rows.outer * rows.inner, grain, [&](int64_t row) {
      const int64_t first = row / rows.inner * rows.size * rows.inner + row % rows.inner;
      const int64_t wanted = labels[row];
      const bool skip = p.use_ignore && wanted == ignored;
      for (int64_t i = 0; i < rows.size; ++i) {
        const int64_t at = first + i * rows.inner;
        const A target = i == wanted ? on_label : smooth;
        put(at, skip ? A{0} : scale * (static_cast<A>(y[at]) - target));
      }
    });
  });
}

// data (n, k), label (n) -> minus the sum of the logarithms of the labels' probabilities, shape (1,).
void softmax_cross_entropy_cpu(const NoParams&, const KernelArgs& args) {
  dispatch_floating(args.in[0].dtype, "softmax_cross_entropy", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* x = args.in[0].as<T>();
    const Labels labels(args.in[1]);
    const int64_t classes = args.in[0].shape[1];
    double loss = 0;
    for (int64_t row = 0; row < args.in[0].shape[0]; ++row, x += classes) {
      A top = static_cast<A>(x[0]);
      for (int64_t i = 1; i < classes; ++i) top = std::max(top, static_cast<A>(x[i]));
      A sum = 0;
      for (int64_t i = 0; i < classes; ++i) sum += std::exp(static_cast<A>(x[i]) - top);
      const int64_t wanted = std::clamp<int64_t>(labels[row], 0, classes - 1);
      loss += static_cast<double>(std::log(sum) + top - static_cast<A>(x[wanted]));
    }
    args.out[0].mutable_as<T>()[0] = T(static_cast<A>(loss));
  });
}

// grad, data, label -> gradient of the data.
void softmax_cross_entropy_backward_cpu(const NoParams&, const KernelArgs& args) {
  const TensorView& data = args.in[1];
  const SoftmaxRows rows(data.shape[0], data.shape[1]);
  softmax_rows(SoftmaxKind::softmax, rows, 1.0, data, args.out[0], *args.context);
  dispatch_floating(data.dtype, "softmax_cross_entropy", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const A head = static_cast<A>(args.in[0].as<T>()[0]);
    const Labels labels(args.in[2]);
    T* out = args.out[0].mutable_as<T>();
    for (int64_t row = 0; row < rows.outer; ++row, out += rows.size) {
      const int64_t wanted = labels[row];
      for (int64_t i = 0; i < rows.size; ++i) {
        out[i] = static_cast<T>(head * (static_cast<A>(out[i]) - (i == wanted ? A{1} : A{0})));
      }
    }
  });
}

}  // namespace

void kernels_softmax_output(OpTable& table) {
  table.kernel<softmax_output_cpu>("SoftmaxOutput", "softmax_output_cpu");
  table.kernel<softmax_cross_entropy_cpu>("softmax_cross_entropy", "softmax_cross_entropy_cpu");
}

void gradients_softmax_output(OpTable& table) {
  table.kernel<softmax_output_backward_cpu>("_backward_SoftmaxOutput", "softmax_output_backward_cpu");
  table.kernel<softmax_cross_entropy_backward_cpu>("_backward_softmax_cross_entropy",
                                                   "softmax_cross_entropy_backward_cpu");
}

}  // namespace loomix::ops

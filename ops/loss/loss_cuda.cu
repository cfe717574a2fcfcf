// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/arrays.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/lines.h"
#include "ops/elemwise/numbers_cuda.h"
#include "ops/elemwise/unary_functors.h"
#include "ops/families_cuda.h"
#include "ops/loss/regression_output.h"
#include "ops/loss/softmax_output.h"
#include "ops/softmax/softmax_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

constexpr DeviceType kGpu = DeviceType::gpu;

// ---- regressions ------------------------------------------------------------------------------------------------------

void copy_cuda(const KernelArgs& args) { convert_array(args.in[0], args.out[0], stream_of(args)); }

void sigmoid_cuda(const KernelArgs& args) {
  dispatch_floating(args.out[0].dtype, "LogisticRegressionOutput", [&]<class T>(Type<T>) {
    map(stream_of(args), args.out[0].size(), Applied<fn::Sigmoid>{}, args.out[0].mutable_as<T>(),
        args.in[0].as<T>());
  });
}

template <class T>
__global__ void regression_gradient(int64_t count, const T* y, AnyArray labels, Computed<T> scale, bool sign,
                                    T* out) {
  using A = Computed<T>;
  for (const int64_t i : own_items(count)) {
    const A distance = load(y[i]) - static_cast<A>(labels[i]);
    const A direction = distance > 0 ? A(1) : A(-1);  // at 0, too, as in MXNet
    out[i] = store<T>(scale * (sign ? direction : distance));
  }
}

// output, label -> gradient of the data: that of the squared or, by signs, of the absolute distance.
template <bool sign>
void regression_output_backward_cuda(const RegressionOutputParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  dispatch_floating(out.dtype, "RegressionOutput", [&]<class T>(Type<T>) {
    using A = Computed<T>;
    const A scale = A(p.grad_scale) / A(out.size() / out.shape[0]);
    launch(regression_gradient<T>, grid_for(out.size()), stream_of(args), out.size(), args.in[0].as<T>(),
           AnyArray(args.in[1]), scale, sign, out.mutable_as<T>());
  });
}

template <class T>
__global__ void svm_gradient(int64_t count, Divider classes, const T* x, AnyArray labels, SvmOutputParams p,
                             T* out) {
  using A = Computed<T>;
  for (const int64_t at : own_items(count)) {
    const int64_t row = classes.quotient(at);
    const A side =
        at - row * classes.divisor() == labels.whole(row) ? A(1) : A(-1);  // where the item should lie
    const A missing = A(p.margin) - side * load(x[at]);
    const A slope = p.use_linear ? A(1) : 2 * missing;
    out[at] = store<T>(missing > 0 ? -side * slope * A(p.regularization_coefficient) : A(0));
  }
}

void svm_output_backward_cuda(const SvmOutputParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  dispatch_floating(out.dtype, "SVMOutput", [&]<class T>(Type<T>) {
    launch(svm_gradient<T>, grid_for(out.size()), stream_of(args), out.size(),
           Divider(out.size() / out.shape[0]), args.in[0].as<T>(), AnyArray(args.in[1]), p,
           out.mutable_as<T>());
  });
}

// ---- softmax and cross entropy ------------------------------------------------------------------------------------------

// By one block.
__global__ void count_valid(int64_t count, AnyArray labels, int64_t ignored, double* result) {
  int64_t valid = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) valid += labels.whole(i) != ignored ? 1 : 0;
  valid = merge_block(valid, int64_t{0}, Plus());
  if (threadIdx.x == 0) *result = static_cast<double>(valid > 1 ? valid : 1);
}

template <class T>
__global__ void distance_gradient(int64_t count, const T* y, const T* wanted, Computed<T> scale,
                                  bool by_output, T* out) {
  for (const int64_t i : own_items(count)) {
    const Computed<T> own = load(y[i]), value = scale * (own - load(wanted[i]));
    out[i] = store<T>(by_output ? value * own : value);
  }
}

// What the kernel for class numbers needs of the attributes.
struct Target {
  double scale;           // of the gradient, before the division
  const double* divisor;  // null: 1
  double smooth, on_label;
  int64_t ignored;
  bool use_ignore, by_output;
};

template <class T>
__global__ void softmax_output_gradient(int64_t count, Lines lines, Divider classes_and_places, const T* y,
                                        AnyArray labels, Target target, T* out) {
  using A = Computed<T>;
  const A scale = static_cast<A>(target.divisor != nullptr ? target.scale / *target.divisor : target.scale);
  for (const int64_t at : own_items(count)) {
    const int64_t outer = classes_and_places.quotient(at);
    const int64_t rest = at - outer * classes_and_places.divisor();
    const int64_t i = lines.inner.quotient(rest);
    const int64_t wanted = labels.whole(outer * lines.inner.divisor() + rest - i * lines.inner.divisor());
    const A own = load(y[at]);
    A value = scale * (own - static_cast<A>(i == wanted ? target.on_label : target.smooth));
    if (target.use_ignore && wanted == target.ignored) value = 0;
    out[at] = store<T>(target.by_output ? value * own : value);
  }
}

void softmax_output_cuda(const SoftmaxOutputParams& p, const KernelArgs& args) {
  cuda::softmax_rows(SoftmaxKind::softmax, rows_of(p, args.in[0].shape), 1.0, args.in[0], nullptr,
                     args.out[0], stream_of(args));
}

size_t softmax_output_scratch(const KernelSpec&) { return sizeof(double); }

// output, label -> gradient of the data.
void softmax_output_backward_cuda(const SoftmaxOutputParams& p, const KernelArgs& args) {
  const TensorView &label = args.in[1], &out = args.out[0];
  const SoftmaxRows rows = rows_of(p, args.in[0].shape);
  const cudaStream_t stream = stream_of(args);
  const bool probabilities =
      label.shape == args.in[0].shape && label.dtype == args.in[0].dtype && rows.size != 1;
  Target target{.scale = p.grad_scale,
                .divisor = nullptr,
                .smooth = rows.size > 1 ? p.smooth_alpha / static_cast<double>(rows.size - 1) : 0,
                .on_label = 1 - static_cast<double>(p.smooth_alpha),
                .ignored = static_cast<int64_t>(p.ignore_label),
                .use_ignore = p.use_ignore,
                .by_output = p.out_grad};
  if (!probabilities && p.normalization == LossNormalization::valid) {
    double* const valid = reinterpret_cast<double*>(args.scratch.data());
    launch(count_valid, Grid{1, 1024}, stream, label.size(), AnyArray(label), target.ignored, valid);
    target.divisor = valid;
  } else if (!probabilities) {
    target.scale /= fixed_divisor(p, rows, label.shape);
  }
  dispatch_floating(out.dtype, "SoftmaxOutput", [&]<class T>(Type<T>) {
    const T* const y = args.in[0].as<T>();
    if (probabilities) {
      launch(distance_gradient<T>, grid_for(out.size()), stream, out.size(), y, label.as<T>(), target.scale,
             p.out_grad, out.mutable_as<T>());
    } else {
      launch(softmax_output_gradient<T>, grid_for(out.size()), stream, out.size(), Lines(rows),
             Divider(rows.size * rows.inner), y, AnyArray(label), target, out.mutable_as<T>());
    }
  });
}

template <class T>
__global__ void entropy_lines(Lines lines, const T* data, AnyArray labels, double* losses) {
  using A = Computed<T>;
  each_line(lines, [&](int64_t line, int64_t first) {
    const T* const x = data + first;
    A top = load(x[0]);
    for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) top = Larger()(load(x[i]), top);
    top = merge_line(top, load(x[0]), Larger());
    const A sum = sum_line<A>(lines.size, [&](int64_t i) { return Math::exp(load(x[i]) - top); });
    if (threadIdx.x != 0) return;
    const int64_t label = labels.whole(line);
    const int64_t wanted = label < 0 ? 0 : label < lines.size ? label : lines.size - 1;
    losses[line] = static_cast<double>(Math::log(sum) + top - load(x[wanted]));
  });
}

// By one block.
__global__ void add_losses(int64_t count, const double* losses, MutableAnyArray out) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += losses[i];
  sum = merge_block(sum, 0.0, Plus());
  if (threadIdx.x == 0) out.set(0, sum);
}

size_t cross_entropy_scratch(const KernelSpec& spec) {
  return static_cast<size_t>(spec.in[0].shape[0]) * sizeof(double);
}

// data (n, k), label (n) -> minus the sum of the logarithms of the labels' probabilities, shape (1,).
void softmax_cross_entropy_cuda(const KernelArgs& args) {
  const TensorView& data = args.in[0];
  double* const losses = reinterpret_cast<double*>(args.scratch.data());
  const Lines lines(SoftmaxRows(data.shape[0], data.shape[1]));
  if (lines.count > 0 && lines.size > 0) {
    dispatch_floating(data.dtype, "softmax_cross_entropy", [&]<class T>(Type<T>) {
      launch(entropy_lines<T>, lines.grid(), stream_of(args), lines, data.as<T>(), AnyArray(args.in[1]),
             losses);
    });
  }
  launch(add_losses, Grid{1, 1024}, stream_of(args), lines.count, losses, MutableAnyArray(args.out[0]));
}

template <class T>
__global__ void entropy_gradient(int64_t count, Divider classes, AnyArray head, AnyArray labels, T* out) {
  using A = Computed<T>;
  const A factor = static_cast<A>(head[0]);
  for (const int64_t at : own_items(count)) {
    const int64_t row = classes.quotient(at);
    const bool is_wanted = at - row * classes.divisor() == labels.whole(row);
    out[at] = store<T>(factor * (load(out[at]) - (is_wanted ? A(1) : A(0))));
  }
}

// grad, data, label -> gradient of the data.
void softmax_cross_entropy_backward_cuda(const KernelArgs& args) {
  const TensorView &data = args.in[1], &out = args.out[0];
  const SoftmaxRows rows(data.shape[0], data.shape[1]);
  cuda::softmax_rows(SoftmaxKind::softmax, rows, 1.0, data, nullptr, out, stream_of(args));
  dispatch_floating(data.dtype, "softmax_cross_entropy", [&]<class T>(Type<T>) {
    launch(entropy_gradient<T>, grid_for(out.size()), stream_of(args), out.size(), Divider(rows.size),
           AnyArray(args.in[0]), AnyArray(args.in[2]), out.mutable_as<T>());
  });
}

}  // namespace

void kernels_loss_cuda(KernelList& list) {
  for (const char* op : {"LinearRegressionOutput", "MAERegressionOutput", "SVMOutput"})
    list.kernel<copy_cuda>(op, "copy_cuda", kGpu);
  list.kernel<sigmoid_cuda>("LogisticRegressionOutput", "unary_cuda", kGpu);
  for (const char* op : {"_backward_LinearRegressionOutput", "_backward_LogisticRegressionOutput"})
    list.kernel<regression_output_backward_cuda<false>>(op, "regression_output_backward_cuda", kGpu);
  list.kernel<regression_output_backward_cuda<true>>("_backward_MAERegressionOutput",
                                                     "regression_output_backward_cuda", kGpu);
  list.kernel<svm_output_backward_cuda>("_backward_SVMOutput", "svm_output_backward_cuda", kGpu);
  list.kernel<softmax_output_cuda>("SoftmaxOutput", "softmax_cuda", kGpu);
  list.kernel<softmax_output_backward_cuda, softmax_output_scratch>("_backward_SoftmaxOutput",
                                                                    "softmax_output_backward_cuda", kGpu);
  list.kernel<softmax_cross_entropy_cuda, cross_entropy_scratch>("softmax_cross_entropy",
                                                                 "softmax_cross_entropy_cuda", kGpu);
  list.kernel<softmax_cross_entropy_backward_cuda>("_backward_softmax_cross_entropy",
                                                   "softmax_cross_entropy_backward_cuda", kGpu);
}

}  // namespace loomix::ops

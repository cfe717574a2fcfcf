// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/parallel_for.h"
#include "ops/softmax/softmax.h"
#include "ops/table.h"
#include "ops/whole_number.h"

namespace loomix::ops {

double scale_of(SoftmaxKind kind, const SoftmaxParams& p) {
  const double scale = 1.0 / p.temperature.value_or(1.0);
  return kind == SoftmaxKind::softmin ? -scale : scale;
}

SoftmaxRows rows_of(const SoftmaxParams& p, const Shape& shape) {
  return SoftmaxRows(shape, normalize_axis(p.axis, shape.ndim(), "softmax"));
}

SoftmaxRows rows_of(const SoftmaxActivationParams& p, const Shape& shape) {
  if (p.mode == SoftmaxMode::channel && shape.ndim() > 1) return SoftmaxRows(shape, 1);
  return SoftmaxRows(shape, shape.ndim() - 1);
}

namespace {

constexpr int64_t kElementsPerThread = 4096;

// Calls fn(row number, position of its first element) for every row, in parallel.
template <class Fn>
void each_row(const SoftmaxRows& rows, engine::RunContext& context, Fn&& fn) {
  const int64_t grain = kElementsPerThread / std::max<int64_t>(1, rows.size);
  engine::parallel_each(context, rows.outer * rows.inner, grain, [&](int64_t row) {
    fn(row, row / rows.inner * rows.size * rows.inner + row % rows.inner);
  });
}

int64_t length_at(const TensorView& lengths, int64_t row) {
  return dispatch_numeric(lengths.dtype, "softmax",
                          [&]<class L>(Type<L>) { return whole_number(lengths.as<L>()[row]); });
}

template <class In, class Out>
void softmax_of(SoftmaxKind kind, const SoftmaxRows& rows, double scale_value, const In* data,
                const TensorView* lengths, Out* out, engine::RunContext& context) {
  using A = Accum<In>;
  const A scale = static_cast<A>(scale_value);
  const int64_t stride = rows.inner;
  each_row(rows, context, [&](int64_t row, int64_t first) {
    const In* x = data + first;
    Out* y = out + first;
    const int64_t used = lengths ? std::clamp<int64_t>(length_at(*lengths, row), 0, rows.size) : rows.size;
    A top = -std::numeric_limits<A>::infinity();
    for (int64_t i = 0; i < used; ++i) top = std::max(top, static_cast<A>(x[i * stride]) * scale);
    A sum = 0;
    for (int64_t i = 0; i < used; ++i) sum += std::exp(static_cast<A>(x[i * stride]) * scale - top);
    const A log_sum = std::log(sum);
    for (int64_t i = 0; i < used; ++i) {
      const A shifted = static_cast<A>(x[i * stride]) * scale - top;
      const A value = kind == SoftmaxKind::log_softmax ? shifted - log_sum : std::exp(shifted) / sum;
      y[i * stride] = static_cast<Out>(static_cast<Accum<Out>>(value));
    }
    for (int64_t i = used; i < rows.size; ++i) y[i * stride] = Out(Accum<Out>{0});
  });
}

template <class Out, class In>
void backward_of(SoftmaxKind kind, const SoftmaxRows& rows, double scale_value, const Out* grad,
                 const Out* output, In* out, engine::RunContext& context) {
  using A = Accum<Out>;
  const A scale = static_cast<A>(scale_value);
  const int64_t stride = rows.inner;
  const bool log = kind == SoftmaxKind::log_softmax;
  each_row(rows, context, [&](int64_t, int64_t first) {
    const Out* g = grad + first;
    const Out* y = output + first;
    A sum = 0;
    for (int64_t i = 0; i < rows.size; ++i) {
      sum += static_cast<A>(g[i * stride]) * (log ? A{1} : static_cast<A>(y[i * stride]));
    }
    for (int64_t i = 0; i < rows.size; ++i) {
      const A gi = static_cast<A>(g[i * stride]);
      const A yi = static_cast<A>(y[i * stride]);
      const A value = scale * (log ? gi - std::exp(yi) * sum : yi * (gi - sum));
      out[first + i * stride] = static_cast<In>(static_cast<Accum<In>>(value));
    }
  });
}

// Sums of two products along each row, then one value an element: put(head, grad, y, sum0, sum1).
template <class T, class Products, class Value>
void twice(const SoftmaxParams& p, const KernelArgs& args, Products&& products, Value&& value) {
  using A = Accum<T>;
  const T* head = args.in[0].as<T>();
  const T* grad = args.in[1].as<T>();
  const T* output = args.in[2].as<T>();
  T* out = args.out[0].mutable_as<T>();
  const SoftmaxRows rows = rows_of(p, args.in[0].shape);
  each_row(rows, *args.context, [&](int64_t, int64_t first) {
    A sums[2] = {0, 0};
    for (int64_t i = 0; i < rows.size; ++i) {
      const int64_t at = first + i * rows.inner;
      products(static_cast<A>(head[at]), static_cast<A>(grad[at]), static_cast<A>(output[at]), sums);
    }
    for (int64_t i = 0; i < rows.size; ++i) {
      const int64_t at = first + i * rows.inner;
      out[at] = static_cast<T>(
          value(static_cast<A>(head[at]), static_cast<A>(grad[at]), static_cast<A>(output[at]), sums));
    }
  });
}

}  // namespace

void softmax_rows_cpu(SoftmaxKind kind, const SoftmaxRows& rows, double scale, const TensorView& data,
                      const TensorView* length, const TensorView& out, engine::RunContext& context) {
  dispatch_floating(data.dtype, "softmax", [&]<class In>(Type<In>) {
    dispatch_floating(out.dtype, "softmax", [&]<class Out>(Type<Out>) {
      softmax_of(kind, rows, scale, data.as<In>(), length, out.mutable_as<Out>(), context);
    });
  });
}

void softmax_backward_rows_cpu(SoftmaxKind kind, const SoftmaxRows& rows, double scale,
                               const TensorView& grad, const TensorView& output, const TensorView& out,
                               engine::RunContext& context) {
  dispatch_floating(grad.dtype, "softmax", [&]<class Out>(Type<Out>) {
    dispatch_floating(out.dtype, "softmax", [&]<class In>(Type<In>) {
      backward_of(kind, rows, scale, grad.as<Out>(), output.as<Out>(), out.mutable_as<In>(), context);
    });
  });
}

void softmax_rows(SoftmaxKind kind, const SoftmaxRows& rows, double scale, const TensorView& data,
                  const TensorView& out, engine::RunContext& context) {
  if (data.dtype == DType::float32 && out.dtype == DType::float32) {
    softmax_rows_simd(kind, rows, scale, data.as<float>(), out.mutable_as<float>(), context);
  } else {
    softmax_rows_cpu(kind, rows, scale, data, nullptr, out, context);
  }
}

void softmax_backward_rows(SoftmaxKind kind, const SoftmaxRows& rows, double scale, const TensorView& grad,
                           const TensorView& output, const TensorView& out, engine::RunContext& context) {
  if (grad.dtype == DType::float32 && out.dtype == DType::float32) {
    softmax_backward_rows_simd(kind, rows, scale, grad.as<float>(), output.as<float>(),
                               out.mutable_as<float>(), context);
  } else {
    softmax_backward_rows_cpu(kind, rows, scale, grad, output, out, context);
  }
}

namespace {

template <SoftmaxKind kind>
void softmax_cpu(const SoftmaxParams& p, const KernelArgs& args) {
  softmax_rows_cpu(kind, rows_of(p, args.in[0].shape), scale_of(kind, p), args.in[0],
                   args.in.size() > 1 ? &args.in[1] : nullptr, args.out[0], *args.context);
}

// grad, output, data (type only) -> gradient of the data.
template <SoftmaxKind kind>
void softmax_backward_cpu(const SoftmaxParams& p, const KernelArgs& args) {
  softmax_backward_rows_cpu(kind, rows_of(p, args.in[0].shape), scale_of(kind, p), args.in[0], args.in[1],
                            args.out[0], *args.context);
}

template <SoftmaxKind kind>
void softmax_simd(const SoftmaxParams& p, const KernelArgs& args) {
  softmax_rows_simd(kind, rows_of(p, args.in[0].shape), scale_of(kind, p), args.in[0].as<float>(),
                    args.out[0].mutable_as<float>(), *args.context);
}

template <SoftmaxKind kind>
void softmax_backward_simd(const SoftmaxParams& p, const KernelArgs& args) {
  softmax_backward_rows_simd(kind, rows_of(p, args.in[0].shape), scale_of(kind, p), args.in[0].as<float>(),
                             args.in[1].as<float>(), args.out[0].mutable_as<float>(), *args.context);
}

// head, grad, output -> the gradients of the backward operator to grad and to output.
template <SoftmaxKind kind>
void softmax_twice_grad_cpu(const SoftmaxParams& p, const KernelArgs& args) {
  dispatch_floating(args.in[0].dtype, "softmax", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const A scale = static_cast<A>(scale_of(kind, p));
    if constexpr (kind == SoftmaxKind::log_softmax) {
      twice<T>(
          p, args, [](A h, A, A y, A* sums) { sums[0] += h * std::exp(y); },
          [=](A h, A, A, const A* sums) { return scale * (h - sums[0]); });
    } else {
      twice<T>(
          p, args, [](A h, A, A y, A* sums) { sums[0] += h * y; },
          [=](A h, A, A y, const A* sums) { return scale * y * (h - sums[0]); });
    }
  });
}

template <SoftmaxKind kind>
void softmax_twice_output_cpu(const SoftmaxParams& p, const KernelArgs& args) {
  dispatch_floating(args.in[0].dtype, "softmax", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const A scale = static_cast<A>(scale_of(kind, p));
    if constexpr (kind == SoftmaxKind::log_softmax) {
      twice<T>(
          p, args, [](A, A g, A, A* sums) { sums[0] += g; },
          [=](A h, A, A y, const A* sums) { return -scale * h * std::exp(y) * sums[0]; });
    } else {
      twice<T>(
          p, args,
          [](A h, A g, A y, A* sums) {
            sums[0] += g * y;
            sums[1] += h * y;
          },
          [=](A h, A g, A, const A* sums) { return scale * (h * (g - sums[0]) - g * sums[1]); });
    }
  });
}

void softmax_activation_cpu(const SoftmaxActivationParams& p, const KernelArgs& args) {
  softmax_rows(SoftmaxKind::softmax, rows_of(p, args.in[0].shape), 1.0, args.in[0], args.out[0],
               *args.context);
}

void softmax_activation_backward_cpu(const SoftmaxActivationParams& p, const KernelArgs& args) {
  softmax_backward_rows(SoftmaxKind::softmax, rows_of(p, args.in[0].shape), 1.0, args.in[0], args.in[1],
                        args.out[0], *args.context);
}

Support softmax_simd_support(const SoftmaxParams& p, const KernelSpec& spec) {
  if (spec.in[0].dtype != DType::float32 || spec.out[0].dtype != DType::float32) {
    return Support::no("it is for float32");
  }
  if (p.use_length.value_or(false)) return Support::no("it takes whole rows only");
  return Support::yes();
}

template <SoftmaxKind kind>
void add_kind(OpTable& table, const char* name) {
  table.kernel<softmax_simd<kind>, softmax_simd_support>(name, "softmax_simd");
  table.kernel<softmax_cpu<kind>>(name, "softmax_cpu");
}

template <SoftmaxKind kind>
void add_gradients(OpTable& table, const std::string& backward) {
  table.kernel<softmax_backward_simd<kind>, softmax_simd_support>(backward, "softmax_backward_simd");
  table.kernel<softmax_backward_cpu<kind>>(backward, "softmax_backward_cpu");
  table.kernel<softmax_twice_grad_cpu<kind>>(backward + "_grad", "softmax_twice_grad_cpu");
  table.kernel<softmax_twice_output_cpu<kind>>(backward + "_output", "softmax_twice_output_cpu");
}

}  // namespace

void kernels_softmax(OpTable& table) {
  add_kind<SoftmaxKind::softmax>(table, "softmax");
  add_kind<SoftmaxKind::softmin>(table, "softmin");
  add_kind<SoftmaxKind::log_softmax>(table, "log_softmax");
  table.kernel<softmax_activation_cpu>("SoftmaxActivation", "softmax_activation_cpu");
}

void gradients_softmax(OpTable& table) {
  add_gradients<SoftmaxKind::softmax>(table, "_backward_softmax");
  add_gradients<SoftmaxKind::softmin>(table, "_backward_softmin");
  add_gradients<SoftmaxKind::log_softmax>(table, "_backward_log_softmax");
  table.kernel<softmax_activation_backward_cpu>("_backward_SoftmaxActivation",
                                                "softmax_activation_backward_cpu");
}

}  // namespace loomix::ops

// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/softmax_cuda.h"

#include <limits>

#include "ops/cuda/arrays.h"
#include "ops/cuda/lines.h"
#include "ops/cuda/math.h"
#include "ops/families_cuda.h"

// Dense lines are kept in registers. Others are read several times, and come from the caches after the first.
namespace loomix::cuda {

using ops::SoftmaxKind;
using ops::SoftmaxRows;

namespace {

template <class T>
struct Elements {
  T* data;
  template <class C>
  __device__ void set(int64_t i, C value) const {
    data[i] = store<T>(value);
  }
};

// As std::max: NaN is not larger.
struct Top {
  template <class A>
  __device__ A operator()(A a, A b) const {
    return a < b ? b : a;
  }
};

template <class T, class Out>
__global__ void softmax_lines(Lines lines, const T* data, AnyArray lengths, Out out, Computed<T> scale,
                              bool log) {
  using A = Computed<T>;
  each_line(lines, [&](int64_t line, int64_t first) {
    const auto x = [&](int64_t i) { return load(data[lines.at(first, i)]) * scale; };
    int64_t used = lines.size;
    if (lengths.data != nullptr) {
      const int64_t length = lengths.whole(line);
      used = length < 0 ? 0 : length < used ? length : used;
    }
    constexpr A kLeast = -std::numeric_limits<A>::infinity();
    A top = kLeast;
    for (int64_t i = threadIdx.x; i < used; i += blockDim.x) top = Top()(top, x(i));
    top = merge_line(top, kLeast, Top());
    const A sum = sum_line<A>(used, [&](int64_t i) { return Math::exp(x(i) - top); });
    const A log_sum = Math::log(sum);
    for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) {
      A value = 0;
      if (i < used) {
        const A shifted = x(i) - top;
        value = log ? shifted - log_sum : Math::exp(shifted) / sum;
      }
      out.set(lines.at(first, i), value);
    }
  });
}

template <class T>
__global__ void softmax_kept(Lines lines, bool aligned, const T* data, T* out, Computed<T> scale, bool log) {
  using A = Computed<T>;
  using Line = KeptLine<T>;
  constexpr A kLeast = -std::numeric_limits<A>::infinity();
  each_line(lines, [&](int64_t, int64_t first) {
    Line x;
    x.read(data + first, lines.size, aligned);
    A top = kLeast;
    Line::each(lines.size, [&](int p, int k) {
      x.item[p][k] *= scale;
      top = Top()(top, x.item[p][k]);
    });
    top = merge_line(top, kLeast, Top());
    const A sum = Line::sum(lines.size, [&](int p, int k) {
      const A shifted = x.item[p][k] - top, power = Math::exp(shifted);
      x.item[p][k] = log ? shifted : power;
      return power;
    });
    const A log_sum = Math::log(sum), inverse = 1 / sum;
    Line::write(out + first, lines.size, aligned,
                [&](int p, int k) { return log ? x.item[p][k] - log_sum : x.item[p][k] * inverse; });
  });
}

template <class T>
__global__ void softmax_backward_kept(Lines lines, bool aligned, const T* grad, const T* output, T* out,
                                      Computed<T> scale, bool log) {
  using A = Computed<T>;
  using Line = KeptLine<T>;
  each_line(lines, [&](int64_t, int64_t first) {
    Line g, y;
    g.read(grad + first, lines.size, aligned);
    y.read(output + first, lines.size, aligned);
    const A sum =
        Line::sum(lines.size, [&](int p, int k) { return g.item[p][k] * (log ? A(1) : y.item[p][k]); });
    Line::write(out + first, lines.size, aligned, [&](int p, int k) {
      const A own = g.item[p][k], value = y.item[p][k];
      return scale * (log ? own - Math::exp(value) * sum : value * (own - sum));
    });
  });
}

template <class T, class Out>
__global__ void softmax_backward_lines(Lines lines, const T* grad, const T* output, Out out,
                                       Computed<T> scale, bool log) {
  using A = Computed<T>;
  each_line(lines, [&](int64_t, int64_t first) {
    const A sum = sum_line<A>(lines.size, [&](int64_t i) {
      const int64_t at = lines.at(first, i);
      return load(grad[at]) * (log ? A(1) : load(output[at]));
    });
    for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) {
      const int64_t at = lines.at(first, i);
      const A g = load(grad[at]), y = load(output[at]);
      out.set(at, scale * (log ? g - Math::exp(y) * sum : y * (g - sum)));
    }
  });
}

// The gradients of the backward operator: to its gradient, or to the output.
template <class T>
__global__ void softmax_twice_lines(Lines lines, const T* head, const T* grad, const T* output, T* out,
                                    Computed<T> scale, bool log, bool to_output) {
  using A = Computed<T>;
  each_line(lines, [&](int64_t, int64_t first) {
    const A sum = sum_line<A>(lines.size, [&](int64_t i) {
      const int64_t at = lines.at(first, i);
      const A y = load(output[at]);
      if (to_output) return load(grad[at]) * (log ? A(1) : y);
      return load(head[at]) * (log ? Math::exp(y) : y);
    });
    const A product = !to_output || log ? A(0) : sum_line<A>(lines.size, [&](int64_t i) {
      const int64_t at = lines.at(first, i);
      return load(head[at]) * load(output[at]);
    });
    for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) {
      const int64_t at = lines.at(first, i);
      const A h = load(head[at]), g = load(grad[at]), y = load(output[at]);
      A value;
      if (to_output) value = log ? -h * Math::exp(y) * sum : h * (g - sum) - g * product;
      else value = log ? h - sum : y * (h - sum);
      out[at] = store<T>(scale * value);
    }
  });
}

template <class T, class Fn>
void with_output(const TensorView& out, Fn&& fn) {
  if (out.dtype == dtype_of<T>()) fn(Elements<T>{out.mutable_as<T>()});
  else fn(MutableAnyArray(out));
}

}  // namespace

void softmax_rows(SoftmaxKind kind, const SoftmaxRows& rows, double scale, const TensorView& data,
                  const TensorView* length, const TensorView& out, cudaStream_t stream) {
  const Lines lines(rows);
  const AnyArray lengths = length ? AnyArray(*length) : AnyArray(TensorView());
  dispatch_floating(data.dtype, "softmax", [&]<class T>(Type<T>) {
    if (rows.inner == 1 && out.dtype == data.dtype && length == nullptr) {
      const int lanes = KeptLine<T>::lanes(rows.size);
      if (lanes > 0) {
        return launch(softmax_kept<T>, lines.grid_with(lanes), stream, lines,
                      KeptLine<T>::aligned({data.as<T>(), out.as<T>()}), data.as<T>(), out.mutable_as<T>(),
                      scale, kind == SoftmaxKind::log_softmax);
      }
    }
    with_output<T>(out, [&]<class Out>(const Out& to) {
      launch(softmax_lines<T, Out>, lines.grid(), stream, lines, data.as<T>(), lengths, to, scale,
             kind == SoftmaxKind::log_softmax);
    });
  });
}

void softmax_backward_rows(SoftmaxKind kind, const SoftmaxRows& rows, double scale, const TensorView& grad,
                           const TensorView& output, const TensorView& out, cudaStream_t stream) {
  const Lines lines(rows);
  dispatch_floating(grad.dtype, "softmax", [&]<class T>(Type<T>) {
    if (rows.inner == 1 && out.dtype == grad.dtype) {
      const int lanes = KeptLine<T>::lanes(rows.size);
      if (lanes > 0) {
        return launch(softmax_backward_kept<T>, lines.grid_with(lanes), stream, lines,
                      KeptLine<T>::aligned({grad.as<T>(), output.as<T>(), out.as<T>()}), grad.as<T>(),
                      output.as<T>(), out.mutable_as<T>(), scale, kind == SoftmaxKind::log_softmax);
      }
    }
    with_output<T>(out, [&]<class Out>(const Out& to) {
      launch(softmax_backward_lines<T, Out>, lines.grid(), stream, lines, grad.as<T>(), output.as<T>(), to,
             scale, kind == SoftmaxKind::log_softmax);
    });
  });
}

}  // namespace loomix::cuda

namespace loomix::ops {
namespace {

using namespace cuda;

template <SoftmaxKind kind>
void softmax_cuda(const SoftmaxParams& p, const KernelArgs& args) {
  cuda::softmax_rows(kind, rows_of(p, args.in[0].shape), scale_of(kind, p), args.in[0],
                     args.in.size() > 1 ? &args.in[1] : nullptr, args.out[0], stream_of(args));
}

template <SoftmaxKind kind>
void softmax_backward_cuda(const SoftmaxParams& p, const KernelArgs& args) {
  cuda::softmax_backward_rows(kind, rows_of(p, args.in[0].shape), scale_of(kind, p), args.in[0], args.in[1],
                              args.out[0], stream_of(args));
}

template <SoftmaxKind kind, bool to_output>
void softmax_twice_cuda(const SoftmaxParams& p, const KernelArgs& args) {
  const Lines lines(rows_of(p, args.in[0].shape));
  dispatch_floating(args.in[0].dtype, "softmax", [&]<class T>(Type<T>) {
    launch(softmax_twice_lines<T>, lines.grid(), stream_of(args), lines, args.in[0].as<T>(),
           args.in[1].as<T>(), args.in[2].as<T>(), args.out[0].mutable_as<T>(), scale_of(kind, p),
           kind == SoftmaxKind::log_softmax, to_output);
  });
}

void softmax_activation_cuda(const SoftmaxActivationParams& p, const KernelArgs& args) {
  cuda::softmax_rows(SoftmaxKind::softmax, rows_of(p, args.in[0].shape), 1.0, args.in[0], nullptr,
                     args.out[0], stream_of(args));
}
void softmax_activation_backward_cuda(const SoftmaxActivationParams& p, const KernelArgs& args) {
  cuda::softmax_backward_rows(SoftmaxKind::softmax, rows_of(p, args.in[0].shape), 1.0, args.in[0], args.in[1],
                              args.out[0], stream_of(args));
}

template <SoftmaxKind kind>
void add_kind(KernelList& list, const std::string& name) {
  constexpr DeviceType gpu = DeviceType::gpu;
  const std::string backward = "_backward_" + name;
  list.kernel<softmax_cuda<kind>>(name, "softmax_cuda", gpu);
  list.kernel<softmax_backward_cuda<kind>>(backward, "softmax_backward_cuda", gpu);
  list.kernel<softmax_twice_cuda<kind, false>>(backward + "_grad", "softmax_twice_cuda", gpu);
  list.kernel<softmax_twice_cuda<kind, true>>(backward + "_output", "softmax_twice_cuda", gpu);
}

}  // namespace

void kernels_softmax_cuda(KernelList& list) {
  add_kind<SoftmaxKind::softmax>(list, "softmax");
  add_kind<SoftmaxKind::softmin>(list, "softmin");
  add_kind<SoftmaxKind::log_softmax>(list, "log_softmax");
  list.kernel<softmax_activation_cuda>("SoftmaxActivation", "softmax_cuda", DeviceType::gpu);
  list.kernel<softmax_activation_backward_cuda>("_backward_SoftmaxActivation", "softmax_backward_cuda",
                                                DeviceType::gpu);
}

}  // namespace loomix::ops

// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/activation.h"
#include "ops/activation/leaky_relu.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/fold.h"
#include "ops/elemwise/numbers_cuda.h"
#include "ops/families_cuda.h"
#include "ops/random/philox.h"

namespace loomix::ops {
namespace {

using namespace cuda;

constexpr DeviceType kGpu = DeviceType::gpu;

template <class Kinds, class Fn>
void with_kind(size_t place, const Kinds& kinds, Fn&& fn) {
  size_t i = 0;
  std::apply([&](const auto&... kind) { static_cast<void>(((i++ == place && (fn(kind), true)) || ...)); },
             kinds);
}

void activation_cuda(const ActivationParams& p, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  with_kind(static_cast<size_t>(p.act_type), kActivations, [&]<class F>(const ActivationKind<F>&) {
    dispatch_floating(y.dtype, "Activation", [&]<class T>(Type<T>) {
      map(stream_of(args), y.size(), Applied<F>{}, y.mutable_as<T>(), x.as<T>());
    });
  });
}

// ---- LeakyReLU --------------------------------------------------------------------------------------------------------

enum class Order { value, first, second };

// `slope` is an argument, or one for all.
template <class F, Order order, class A>
struct Leaking {
  A own;

  __device__ A operator()(A x) const { return F::f(Math{}, x, own); }
  __device__ A operator()(A a, A b) const {
    if constexpr (order == Order::value) return F::f(Math{}, a, b);
    else return a * F::derivative(Math{}, b, own);
  }
  __device__ A operator()(A a, A b, A c) const {
    if constexpr (order == Order::second) return a * b * F::second_derivative(Math{}, c, own);
    else return a * F::derivative(Math{}, b, c);
  }
};

// The slopes of channels, for data seen as (outer, channels, inner).
struct ChannelSlopes {
  Divider channels, inner;

  ChannelSlopes(const TensorView& gamma, const Shape& data)
      : channels(std::max<int64_t>(1, gamma.size())),
        inner(std::max<int64_t>(1, gamma.size() == 1 ? data.size()
                                   : data.ndim() > 1 ? data.size_between(2, data.ndim())
                                                     : 1)) {}
  __device__ int64_t operator()(int64_t at) const {
    const int64_t row = inner.quotient(at);
    return row - channels.quotient(row) * channels.divisor();
  }
};

template <class T>
__global__ void leak_by_channel(int64_t count, ChannelSlopes channel, const T* grad, const T* x,
                                const T* gamma, T* y) {
  for (const int64_t i : own_items(count)) {
    const Computed<T> slope = load(gamma[channel(i)]), item = load(x[i]);
    y[i] = store<T>(grad == nullptr ? fn::Leaky::f(Math{}, item, slope)
                                    : load(grad[i]) * fn::Leaky::derivative(Math{}, item, slope));
  }
}

// Each word of random numbers serves one element.
template <class T>
__global__ void leak_randomly(int64_t count, RandomStream random, const T* x, Computed<T> low,
                              Computed<T> width, T* y, T* slopes) {
  using A = Computed<T>;
  for (const int64_t i : own_items(count)) {
    const uint64_t n = random.offset + static_cast<uint64_t>(i);
    const A slope = low + width * static_cast<A>(unit_float(philox(random.seed, n / 4, 0).word[n % 4]));
    y[i] = store<T>(fn::Leaky::f(Math{}, load(x[i]), slope));
    if (slopes != nullptr) slopes[i] = store<T>(slope);
  }
}

template <class T, class Fn>
void with_leaky(const LeakyReluParams& p, Fn&& fn) {
  with_kind(static_cast<size_t>(p.act_type), kLeakyRelus,
            [&]<class F>(const LeakyKind<F>&) { fn(Type<F>{}); });
}

// data, gamma (prelu: one slope, or one a channel) -> output; rrelu has the slopes as second output.
void leaky_relu_cuda(const LeakyReluParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const TensorView &x = args.in[0], &y = args.out[0];
  const cudaStream_t stream = stream_of(args);
  const Slopes slopes = slopes_of(p.act_type);
  dispatch_floating(y.dtype, "LeakyReLU", [&]<class T>(Type<T>) {
    using A = Computed<T>;
    if (slopes == Slopes::gamma) {
      if (y.size() == 0) return;
      return launch(leak_by_channel<T>, grid_for(y.size()), stream, y.size(),
                    ChannelSlopes(args.in[1], x.shape), nullptr, x.as<T>(), args.in[1].as<T>(),
                    y.mutable_as<T>());
    }
    A slope = static_cast<A>(p.slope);
    if (slopes == Slopes::random && args.training) {
      if (y.size() == 0) return;
      const A low = static_cast<A>(p.lower_bound);
      return launch(leak_randomly<T>, grid_for(y.size()), stream, y.size(), args.random, x.as<T>(), low,
                    static_cast<A>(p.upper_bound) - low, y.mutable_as<T>(),
                    args.out[1] ? args.out[1].mutable_as<T>() : nullptr);
    }
    if (slopes == Slopes::random) {
      const double middle = (static_cast<double>(p.lower_bound) + static_cast<double>(p.upper_bound)) / 2;
      slope = static_cast<A>(middle);
      if (args.out[1]) fill(args.out[1], middle, stream);
    }
    with_leaky<T>(p, [&]<class F>(Type<F>) {
      map(stream, y.size(), Leaking<F, Order::value, A>{slope}, y.mutable_as<T>(), x.as<T>());
    });
  });
}

// grad, data, slopes (prelu: gamma, rrelu: the second output) -> gradient of the data.
void leaky_relu_backward_cuda(const LeakyReluParams& p, const KernelArgs& args) {
  const TensorView &x = args.in[1], &y = args.out[0];
  const cudaStream_t stream = stream_of(args);
  const Slopes slopes = slopes_of(p.act_type);
  dispatch_floating(y.dtype, "LeakyReLU", [&]<class T>(Type<T>) {
    using A = Computed<T>;
    const T* const grad = args.in[0].as<T>();
    if (slopes == Slopes::gamma) {
      return launch(leak_by_channel<T>, grid_for(y.size()), stream, y.size(),
                    ChannelSlopes(args.in[2], x.shape), grad, x.as<T>(), args.in[2].as<T>(),
                    y.mutable_as<T>());
    }
    if (slopes == Slopes::random) {
      return map(stream, y.size(), Leaking<fn::Leaky, Order::first, A>{A(0)}, y.mutable_as<T>(), grad,
                 x.as<T>(), args.in[2].as<T>());
    }
    with_leaky<T>(p, [&]<class F>(Type<F>) {
      map(stream, y.size(), Leaking<F, Order::first, A>{static_cast<A>(p.slope)}, y.mutable_as<T>(), grad,
          x.as<T>());
    });
  });
}

// head, grad, data -> head grad f''(data).
void leaky_relu_backward_twice_cuda(const LeakyReluParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  dispatch_floating(y.dtype, "LeakyReLU", [&]<class T>(Type<T>) {
    using A = Computed<T>;
    with_leaky<T>(p, [&]<class F>(Type<F>) {
      map(stream_of(args), y.size(), Leaking<F, Order::second, A>{static_cast<A>(p.slope)}, y.mutable_as<T>(),
          args.in[0].as<T>(), args.in[1].as<T>(), args.in[2].as<T>());
    });
  });
}

template <class T>
struct FoldSlopes {
  using Acc = double;
  const T *grad, *x;
  __device__ Acc init() const { return 0; }
  __device__ Acc add(Acc acc, int64_t at, int64_t) const {
    const double item = static_cast<double>(load(x[at]));
    const double product = item * static_cast<double>(load(grad[at]));
    return acc + (item > 0 ? 0.0 : product);
  }
  __device__ Acc merge(Acc a, Acc b) const { return a + b; }
};
template <class T>
struct PutSlope {
  T* gamma;
  __device__ void operator()(int64_t channel, double sum) const { gamma[channel] = store<T>(sum); }
};

FoldPlan slope_plan(const Shape& data, int64_t channels) {
  if (channels == 1) return FoldPlan(Shape{1, data.size()}, axes_but(0, 2));
  const int64_t inner = data.ndim() > 1 ? data.size_between(2, data.ndim()) : 1;
  return FoldPlan(Shape{data.size() / std::max<int64_t>(1, channels * inner), channels, inner},
                  axes_but(1, 3));
}

// grad, data, gamma (shape only) -> gradient of gamma.
void leaky_relu_gamma_cuda(const KernelArgs& args) {
  const TensorView& out = args.out[0];
  dispatch_floating(out.dtype, "_backward_LeakyReLU_gamma", [&]<class T>(Type<T>) {
    run_fold(slope_plan(args.in[1].shape, out.size()), FoldSlopes<T>{args.in[0].as<T>(), args.in[1].as<T>()},
             PutSlope<T>{out.mutable_as<T>()}, args.scratch, stream_of(args));
  });
}
size_t leaky_relu_gamma_scratch(const KernelSpec& spec) {
  return slope_plan(spec.in[1].shape, spec.out[0].shape.size()).scratch_bytes(sizeof(double));
}

}  // namespace

void kernels_activation_cuda(KernelList& list) {
  list.kernel<activation_cuda>("Activation", "activation_cuda", kGpu);
  list.kernel<leaky_relu_cuda>("LeakyReLU", "leaky_relu_cuda", kGpu);
  list.kernel<leaky_relu_backward_cuda>("_backward_LeakyReLU", "leaky_relu_backward_cuda", kGpu);
  list.kernel<leaky_relu_gamma_cuda, leaky_relu_gamma_scratch>("_backward_LeakyReLU_gamma",
                                                               "leaky_relu_gamma_cuda", kGpu);
  list.kernel<leaky_relu_backward_twice_cuda>("_backward_LeakyReLU_twice", "leaky_relu_backward_twice_cuda",
                                              kGpu);
}

}  // namespace loomix::ops

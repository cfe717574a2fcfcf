// SPDX-License-Identifier: Apache-2.0
#include "ops/axis_split.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/fold.h"
#include "ops/cuda/math.h"
#include "ops/families_cuda.h"
#include "ops/norm/batch_norm.h"
#include "ops/reduce/reduce_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// The channel of an element.
struct ChannelOf {
  Divider inner, channels;
  explicit ChannelOf(const AxisSplit& split) : inner(split.inner), channels(split.size) {}
  __device__ int64_t operator()(int64_t at) const {
    const int64_t row = inner.quotient(at);
    return row - channels.quotient(row) * channels.divisor();
  }
};

AxisSplit split_of(const BatchNormParams& p, const Shape& shape) {
  return AxisSplit(shape, p.axis, "BatchNorm");
}
AxisSet reduced_axes(const BatchNormParams& p, const Shape& shape) {
  return axes_but(normalize_axis(p.axis, shape.ndim(), "BatchNorm"), shape.ndim());
}

// For mean, inverse deviation, scale and shift, or slope, of each channel.
size_t numbers_bytes(int64_t channels) {
  return (4 * static_cast<size_t>(channels) * sizeof(double) + 63) / 64 * 64;
}

// What y = x scale + shift is made of; 1 / sqrt(variance + eps) is 0 where that would be infinite.
template <class A>
__global__ void prepare_channels(int64_t channels, const A* means, const A* variances, bool inverted,
                                 double eps, const A* gamma, const A* beta, A* mean_out, A* inverse_out,
                                 A* scales, A* shifts) {
  for (const int64_t c : own_items(channels)) {
    const A mean = means[c];
    A inverse = variances[c];
    if (!inverted) {
      const A shifted = inverse + static_cast<A>(eps);
      inverse = shifted == 0 ? A(0) : 1 / Math::sqrt(shifted);
    }
    if (mean_out != nullptr) mean_out[c] = mean;
    if (inverse_out != nullptr) inverse_out[c] = inverse;
    scales[c] = (gamma != nullptr ? gamma[c] : A(1)) * inverse;
    shifts[c] = beta[c] - mean * scales[c];
  }
}

// Also max(y, 0), and where y is positive.
template <class T>
__global__ void normalize(int64_t packs, int64_t count, ChannelOf channel, const T* x,
                          const Computed<T>* scales, const Computed<T>* shifts, bool positive, T* y,
                          uint8_t* mask) {
  using A = Computed<T>;
  constexpr int kItems = 16 / sizeof(T);
  const auto one = [&](int64_t i, T item, A scale, A shift) {
    const T value = store<T>(load(item) * scale + shift);
    if (!positive) return value;
    const bool is_positive = load(value) > 0;
    if (mask != nullptr) mask[i] = is_positive;
    return is_positive ? value : store<T>(A(0));
  };
  if (packs == 0) {
    for (const int64_t i : own_items(count)) {
      const int64_t c = channel(i);
      y[i] = one(i, x[i], scales[c], shifts[c]);
    }
    return;
  }
  for (const int64_t pack : own_items(packs)) {
    const int64_t first = pack * kItems;
    const Pack<T, kItems> in = *reinterpret_cast<const Pack<T, kItems>*>(x + first);
    Pack<T, kItems> out;
    // Elements of a pack are of one channel, or of as many that follow each other.
    const int64_t c = channel(first);
    const bool is_one = channel.inner.divisor() != 1;
    A scale = scales[c], shift = shifts[c];
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      if (!is_one) scale = scales[c + k], shift = shifts[c + k];
      out.item[k] = one(first + k, in.item[k], scale, shift);
    }
    *reinterpret_cast<Pack<T, kItems>*>(y + first) = out;
  }
}

// How many packs the arrays are made of; 0 where they do not end with channels, or do not begin with packs.
template <class T>
int64_t packs_of(const AxisSplit& split, std::initializer_list<const T*> arrays) {
  constexpr int kItems = 16 / sizeof(T);
  for (const T* data : arrays) {
    if (!is_aligned(data, kItems)) return 0;
  }
  const int64_t run = split.inner == 1 ? split.size : split.inner;
  return run % kItems == 0 ? split.outer * split.size * split.inner / kItems : 0;
}

struct Relu {
  bool wanted = false;
  uint8_t* mask = nullptr;
};

// The third and fourth arrays after the data are means and variances, or, `inverted`, what these became.
template <class T>
void normalize_by(const BatchNormParams& p, const KernelArgs& args, const Computed<T>* means,
                  const Computed<T>* variances, bool inverted, Computed<T>* mean_out,
                  Computed<T>* inverse_out, const Relu& relu) {
  using A = Computed<T>;
  const AxisSplit split = split_of(p, args.in[0].shape);
  A* const scales = reinterpret_cast<A*>(args.scratch.data()) + 2 * split.size;
  A* const shifts = scales + split.size;
  const cudaStream_t stream = stream_of(args);
  launch(prepare_channels<A>, grid_for(split.size), stream, split.size, means, variances, inverted, p.eps,
         p.fix_gamma ? nullptr : args.in[1].as<A>(), args.in[2].as<A>(), mean_out, inverse_out, scales,
         shifts);
  const int64_t count = args.in[0].size();
  if (count == 0) return;
  const T* const x = args.in[0].as<T>();
  T* const y = args.out[0].mutable_as<T>();
  const int64_t packs = packs_of<T>(split, {x, y});
  launch(normalize<T>, grid_for(packs > 0 ? packs : count), stream, packs, count, ChannelOf(split), x, scales,
         shifts, relu.wanted, y, relu.mask);
}

size_t forward_scratch(const BatchNormParams& p, const KernelSpec& spec) {
  const Shape& shape = spec.in[0].shape;
  return numbers_bytes(split_of(p, shape).size) + moments_scratch(shape, reduced_axes(p, shape));
}

// data, gamma, beta, moving_mean, moving_var -> output, mean, 1 / sqrt(var + eps).
void forward(const BatchNormParams& p, const KernelArgs& args, const Relu& relu) {
  if (args.req[0] == Req::null) return;
  const TensorView& x = args.in[0];
  const AxisSplit split = split_of(p, x.shape);
  dispatch_floating(x.dtype, "BatchNorm", [&]<class T>(Type<T>) {
    using A = Computed<T>;
    const A* means = args.in[3].as<A>();
    const A* variances = args.in[4].as<A>();
    if (args.training && !p.use_global_stats && split.lines() > 0 && split.size > 0) {
      A* const numbers = reinterpret_cast<A*>(args.scratch.data());
      const Shape channels{split.size};
      cuda::moments_array(x, reduced_axes(p, x.shape), {numbers, dtype_of<A>(), channels},
                          {numbers + split.size, dtype_of<A>(), channels},
                          args.scratch.subspan(numbers_bytes(split.size)), stream_of(args));
      means = numbers;
      variances = numbers + split.size;
    }
    normalize_by<T>(p, args, means, variances, false, args.wanted<A>(1), args.wanted<A>(2), relu);
  });
}

// data, gamma, beta, mean, 1 / sqrt(var + eps) -> output.
void forward_again(const BatchNormParams& p, const KernelArgs& args, const Relu& relu) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.in[0].dtype, "BatchNorm", [&]<class T>(Type<T>) {
    using A = Computed<T>;
    normalize_by<T>(p, args, args.in[3].as<A>(), args.in[4].as<A>(), true, nullptr, nullptr, relu);
  });
}

// Sums of gradients, and of gradients times distances from the mean.
struct GradientSums {
  double sum, product;
};
template <class T>
struct FoldGradients {
  using Acc = GradientSums;
  const T *grad, *x;
  const Computed<T>* means;
  __device__ Acc init() const { return {0, 0}; }
  __device__ Acc add(Acc acc, int64_t at, int64_t channel) const {
    const Computed<T> g = load(grad[at]), distance = load(x[at]) - means[channel];
    return {acc.sum + static_cast<double>(g), acc.product + static_cast<double>(g * distance)};
  }
  __device__ Acc merge(Acc a, Acc b) const { return {a.sum + b.sum, a.product + b.product}; }

  static constexpr int kPack = 16 / sizeof(T);
  bool aligned;
  __device__ Acc add_pack(Acc acc, int64_t at, int64_t channel) const {
    const auto g = read_pack<kPack>(Reader<T>{grad}, at, aligned);
    const auto items = read_pack<kPack>(Reader<T>{x}, at, aligned);
    const Computed<T> mean = means[channel];
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const Computed<T> own = load(g.item[k]);
      acc.sum += static_cast<double>(own);
      acc.product += static_cast<double>(own * (load(items.item[k]) - mean));
    }
    return acc;
  }
};

// The numbers of a channel: gradient of x = scale (g - constant - (x - mean) slope).
template <class A>
struct PutGradients {
  const A *means, *inverses;
  A *gamma, *moving_mean, *moving_var;
  A *gamma_grad, *beta_grad;  // null where nobody wants them
  A *scales, *constants, *slopes;
  double eps;
  A count, momentum;
  bool fix_gamma, by_batch;

  __device__ void operator()(int64_t c, GradientSums sums) const {
    const A sum = static_cast<A>(sums.sum), product = static_cast<A>(sums.product), inverse = inverses[c];
    if (fix_gamma) gamma[c] = 1;
    scales[c] = gamma[c] * inverse;
    constants[c] = by_batch ? sum / count : A(0);
    slopes[c] = by_batch ? product * inverse * inverse / count : A(0);
    if (gamma_grad != nullptr) gamma_grad[c] = fix_gamma ? A(0) : product * inverse;
    if (beta_grad != nullptr) beta_grad[c] = sum;
    if (!by_batch) return;
    const double exact = inverse, least = 1 / (exact * exact) - eps;
    const A variance = inverse == 0 ? A(0) : static_cast<A>(least > 0 ? least : 0);
    moving_mean[c] = moving_mean[c] * momentum + means[c] * (1 - momentum);
    moving_var[c] = moving_var[c] * momentum + variance * (1 - momentum);
  }
};

template <class T>
__global__ void gradient_of_data(int64_t packs, int64_t count, ChannelOf channel, const T* grad, const T* x,
                                 const Computed<T>* means, const Computed<T>* scales,
                                 const Computed<T>* constants, const Computed<T>* slopes, T* out) {
  constexpr int kItems = 16 / sizeof(T);
  const auto one = [&](T g, T item, int64_t c) {
    return store<T>(scales[c] * (load(g) - constants[c] - (load(item) - means[c]) * slopes[c]));
  };
  if (packs == 0) {
    for (const int64_t i : own_items(count)) out[i] = one(grad[i], x[i], channel(i));
    return;
  }
  for (const int64_t pack : own_items(packs)) {
    const int64_t first = pack * kItems;
    const Pack<T, kItems> g = *reinterpret_cast<const Pack<T, kItems>*>(grad + first);
    const Pack<T, kItems> in = *reinterpret_cast<const Pack<T, kItems>*>(x + first);
    Pack<T, kItems> to;
    const int64_t c = channel(first);
    const int64_t step = channel.inner.divisor() == 1 ? 1 : 0;
#pragma unroll
    for (int k = 0; k < kItems; ++k) to.item[k] = one(g.item[k], in.item[k], c + k * step);
    *reinterpret_cast<Pack<T, kItems>*>(out + first) = to;
  }
}

size_t backward_scratch(const BatchNormParams& p, const KernelSpec& spec) {
  const Shape& shape = spec.in[1].shape;
  return numbers_bytes(split_of(p, shape).size) +
         FoldPlan(shape, reduced_axes(p, shape)).scratch_bytes(sizeof(GradientSums));
}

// grad, data, mean, var, gamma, moving_mean, moving_var -> gradients of data, gamma and beta; moving averages change.
void backward(const BatchNormParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[1].shape;
  const AxisSplit split = split_of(p, shape);
  const cudaStream_t stream = stream_of(args);
  dispatch_floating(args.in[1].dtype, "BatchNorm", [&]<class T>(Type<T>) {
    using A = Computed<T>;
    constexpr int kPack = FoldGradients<T>::kPack;
    const T *grad = args.in[0].as<T>(), *x = args.in[1].as<T>();
    A* const numbers = reinterpret_cast<A*>(args.scratch.data());
    const PutGradients<A> put{.means = args.in[2].as<A>(),
                              .inverses = args.in[3].as<A>(),
                              .gamma = args.in[4].mutable_as<A>(),
                              .moving_mean = args.in[5].mutable_as<A>(),
                              .moving_var = args.in[6].mutable_as<A>(),
                              .gamma_grad = args.wanted<A>(1),
                              .beta_grad = args.wanted<A>(2),
                              .scales = numbers,
                              .constants = numbers + split.size,
                              .slopes = numbers + 2 * split.size,
                              .eps = p.eps,
                              .count = static_cast<A>(split.lines()),
                              .momentum = static_cast<A>(p.momentum),
                              .fix_gamma = p.fix_gamma,
                              .by_batch = args.training && !p.use_global_stats};
    run_fold(FoldPlan(shape, reduced_axes(p, shape)),
             FoldGradients<T>{grad, x, put.means, is_aligned(grad, kPack) && is_aligned(x, kPack)}, put,
             args.scratch.subspan(numbers_bytes(split.size)), stream);
    if (args.req[0] == Req::null || shape.size() == 0) return;
    T* const out = args.out[0].mutable_as<T>();
    const int64_t packs = packs_of<T>(split, {grad, x, out});
    launch(gradient_of_data<T>, grid_for(packs > 0 ? packs : shape.size()), stream, packs, shape.size(),
           ChannelOf(split), grad, x, put.means, put.scales, put.constants, put.slopes, out);
  });
}

template <class P>
void batch_norm_cuda(const P& p, const KernelArgs& args) {
  forward(full_params(p), args, {});
}
template <class P>
size_t batch_norm_scratch(const P& p, const KernelSpec& spec) {
  return forward_scratch(full_params(p), spec);
}
void batch_norm_relu_cuda(const BatchNormReluParams& p, const KernelArgs& args) {
  forward(p, args, {true, args.req[3] == Req::null ? nullptr : args.out[3].mutable_as<uint8_t>()});
}
template <class P>
void batch_norm_again_cuda(const P& p, const KernelArgs& args) {
  forward_again(full_params(p), args, {std::is_same_v<P, BatchNormReluParams>});
}
template <class P>
void batch_norm_backward_cuda(const P& p, const KernelArgs& args) {
  backward(full_params(p), args);
}
template <class P>
size_t batch_norm_backward_scratch(const P& p, const KernelSpec& spec) {
  return backward_scratch(full_params(p), spec);
}

template <class P>
void add_others(KernelList& list, const std::string& name) {
  constexpr DeviceType gpu = DeviceType::gpu;
  list.kernel<batch_norm_again_cuda<P>, batch_norm_scratch<P>>("_" + name + "_again", "batch_norm_again_cuda",
                                                               gpu);
  for (const char* ending : {"", "_free_gamma"}) {
    list.kernel<batch_norm_backward_cuda<P>, batch_norm_backward_scratch<P>>("_backward_" + name + ending,
                                                                             "batch_norm_backward_cuda", gpu);
  }
}
template <class P>
void add(KernelList& list, const std::string& op, const std::string& name) {
  list.kernel<batch_norm_cuda<P>, batch_norm_scratch<P>>(op, "batch_norm_cuda", DeviceType::gpu);
  add_others<P>(list, name);
}

}  // namespace

void kernels_batch_norm_cuda(KernelList& list) {
  add<BatchNormParams>(list, "BatchNorm", "BatchNorm");
  add<BatchNormV1Params>(list, "BatchNorm_v1", "BatchNorm_v1");
  add<SyncBatchNormParams>(list, "_contrib_SyncBatchNorm", "SyncBatchNorm");
  list.kernel<batch_norm_relu_cuda, batch_norm_scratch<BatchNormReluParams>>(
      "_contrib_BatchNormWithReLU", "batch_norm_cuda", DeviceType::gpu);
  add_others<BatchNormReluParams>(list, "BatchNormWithReLU");
}

}  // namespace loomix::ops

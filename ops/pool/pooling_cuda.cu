// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "engine/device/cuda/element.h"
#include "ops/cuda/index.h"
#include "ops/cuda/math.h"
#include "ops/cuda/reduce.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/pool/pooling.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// Image, channel and pixel of an element.
struct Element {
  int64_t image, channel, at[3];
};

// One side of a pooling: its elements in the order of memory.
struct Side {
  Divider channels, planes[3];  // planes: pixels, then those of a slice, then those of a line
  int64_t size[3];
  bool channels_last;

  Side(const PoolGeometry& g, const int64_t (&of)[3])
      : channels(g.channels),
        planes{Divider(of[0] * of[1] * of[2]), Divider(of[1] * of[2]), Divider(of[2])},
        size{of[0], of[1], of[2]},
        channels_last(g.channels_last) {}
  __device__ int64_t pixels() const { return planes[0].divisor(); }
  __device__ Element element(int64_t i) const {
    Element e;
    int64_t pixel = 0;
    if (channels_last) {
      pixel = channels.quotient(i);
      e.channel = i - pixel * channels.divisor();
      e.image = planes[0].quotient(pixel);
      pixel -= e.image * pixels();
    } else {
      const int64_t plane = planes[0].quotient(i);
      pixel = i - plane * pixels();
      e.image = channels.quotient(plane);
      e.channel = plane - e.image * channels.divisor();
    }
    e.at[0] = planes[1].quotient(pixel);
    pixel -= e.at[0] * planes[1].divisor();
    e.at[1] = planes[2].quotient(pixel);
    e.at[2] = pixel - e.at[1] * planes[2].divisor();
    return e;
  }
  // Where the plane of an element begins, and how far its pixels are apart.
  __device__ int64_t base(const Element& e) const {
    return channels_last ? e.image * pixels() * channels.divisor() + e.channel
                         : (e.image * channels.divisor() + e.channel) * pixels();
  }
  __device__ int64_t step() const { return channels_last ? channels.divisor() : 1; }
};

// What kernels know of a pooling.
struct Pool {
  Side in, out;
  int64_t kernel[3], stride[3], pad[3];
  bool whole_windows, include_pad, is_average, zeros_count;
  int exponent;

  Pool(const PoolingParams& p, const PoolGeometry& g)
      : in(g, g.in),
        out(g, g.out),
        whole_windows(g.whole_windows),
        include_pad(p.count_include_pad.value_or(true)),
        is_average(p.pool_type == PoolType::avg),
        zeros_count(p.pool_type == PoolType::max && g.whole_windows &&
                    (g.pad[0] > 0 || g.pad[1] > 0 || g.pad[2] > 0)),
        exponent(p.p_value.value_or(1)) {
    for (int i = 0; i < 3; ++i) kernel[i] = g.kernel[i], stride[i] = g.stride[i], pad[i] = g.pad[i];
  }
  // How many positions along one axis an average over window `at` counts.
  __device__ int64_t counted(int axis, int64_t at) const {
    if (whole_windows) return kernel[axis];
    const int64_t first = at * stride[axis] - pad[axis];
    const int64_t last = min(first + kernel[axis], in.size[axis] + pad[axis]);
    return include_pad ? last - first : max(min(last, in.size[axis]) - max(first, int64_t{0}), int64_t{0});
  }
};

// The part of the data that a window covers.
struct Window {
  int64_t first[3], begin[3], length[3], counted = 1;
  bool padded = false;

  __device__ Window(const Pool& p, const int64_t (&at)[3]) {
    for (int i = 0; i < 3; ++i) {
      first[i] = at[i] * p.stride[i] - p.pad[i];
      const int64_t last = min(first[i] + p.kernel[i], p.in.size[i] + p.pad[i]);
      begin[i] = max(first[i], int64_t{0});
      length[i] = max(min(last, p.in.size[i]) - begin[i], int64_t{0});
      padded |= first[i] < 0 || last > p.in.size[i];
      counted *= p.counted(i, at[i]);
    }
    counted = max(counted, int64_t{1});
  }
};

// What is taken of a window: add(number, its place), then result(). Values of several threads are merged.
template <class A>
struct TakeMax {
  A best;
  int place, unused;

  __device__ static TakeMax start() { return {-std::numeric_limits<A>::infinity(), -1, 0}; }
  // The first of the largest; of several NaN the last.
  __host__ __device__ TakeMax operator()(const TakeMax& a, const TakeMax& b) const {
    if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
    const bool nan_a = a.best != a.best, nan_b = b.best != b.best;
    if (nan_a || nan_b) return !nan_b || (nan_a && a.place > b.place) ? a : b;
    if (a.best == b.best) return a.place < b.place ? a : b;
    return a.best > b.best ? a : b;
  }
  __device__ void add(A x, int at, const Pool&) {
    if (place >= 0 && !(x > best || x != x)) return;
    best = x;
    place = at;
  }
  __device__ A result(const Pool& p, const Window& window) {
    if (p.zeros_count && window.padded && (place < 0 || best < 0)) {
      best = 0;
      place = -1;
    }
    return best;
  }
};
template <class A>
struct TakeMean {
  A sum;
  __device__ static TakeMean start() { return {0}; }
  __host__ __device__ TakeMean operator()(const TakeMean& a, const TakeMean& b) const {
    return {a.sum + b.sum};
  }
  __device__ void add(A x, int, const Pool&) { sum += x; }
  __device__ A result(const Pool& p, const Window& window) const {
    return p.is_average ? sum / static_cast<A>(window.counted) : sum;
  }
};
template <class A>
struct TakeNorm {
  A sum;
  __device__ static TakeNorm start() { return {0}; }
  __host__ __device__ TakeNorm operator()(const TakeNorm& a, const TakeNorm& b) const {
    return {a.sum + b.sum};
  }
  __device__ void add(A x, int, const Pool& p) { sum += Math::pow(x, static_cast<A>(p.exponent)); }
  __device__ A result(const Pool& p, const Window&) const {
    const A power = 1 / static_cast<A>(p.exponent);
    return sum < 0 ? -Math::pow(-sum, power) : Math::pow(sum, power);
  }
};

// Where maxima lie, in one of two types; may be null.
struct Places {
  void* data;
  bool wide;
  __device__ void set(int64_t i, int place) const {
    if (wide) static_cast<WidePlace*>(data)[i] = place;
    else static_cast<BytePlace*>(data)[i] = static_cast<BytePlace>(place);
  }
  __device__ int get(int64_t i) const {
    if (wide) return static_cast<const WidePlace*>(data)[i];
    const BytePlace place = static_cast<const BytePlace*>(data)[i];
    return place == static_cast<BytePlace>(-1) ? -1 : place;
  }
};

// Position i of those that a window covers: its offset in the plane, and its place in the whole window.
__device__ void locate(const Pool& p, const Window& window, int64_t i, int64_t& offset, int& place) {
  const int64_t w = i % window.length[2], rest = i / window.length[2];
  const int64_t h = rest % window.length[1], d = rest / window.length[1];
  const int64_t at[3] = {window.begin[0] + d, window.begin[1] + h, window.begin[2] + w};
  offset = (at[0] * p.in.size[1] + at[1]) * p.in.size[2] + at[2];
  place = static_cast<int>(((at[0] - window.first[0]) * p.kernel[1] + at[1] - window.first[1]) * p.kernel[2] +
                           at[2] - window.first[2]);
}

template <class Take, class T>
__device__ void put(const Pool& p, Take& taken, const Window& window, const Element& e, int64_t i, T* y,
                    Places places) {
  y[i] = store<T>(taken.result(p, window));
  if constexpr (requires { taken.place; }) {
    if (places.data == nullptr) return;
    const int64_t pixel = (e.at[0] * p.out.size[1] + e.at[1]) * p.out.size[2] + e.at[2];
    places.set((e.image * p.out.channels.divisor() + e.channel) * p.out.pixels() + pixel, taken.place);
  }
}

// A thread for each window.
template <class Take, class T>
__global__ void small_windows(int64_t count, Pool p, const T* x, T* y, Places places) {
  for (const int64_t i : own_items(count)) {
    const Element e = p.out.element(i);
    const Window window(p, e.at);
    const T* const from = x + p.in.base(e);
    const int64_t step = p.in.step();
    Take taken = Take::start();
    for (int64_t d = 0; d < window.length[0]; ++d) {
      const int64_t z = window.begin[0] + d;
      for (int64_t h = 0; h < window.length[1]; ++h) {
        const int64_t row = window.begin[1] + h;
        const int64_t line = (z * p.in.size[1] + row) * p.in.size[2];
        const int64_t place =
            ((z - window.first[0]) * p.kernel[1] + row - window.first[1]) * p.kernel[2] - window.first[2];
        for (int64_t w = window.begin[2]; w < window.begin[2] + window.length[2]; ++w)
          taken.add(load(from[(line + w) * step]), static_cast<int>(place + w), p);
      }
    }
    put(p, taken, window, e, i, y, places);
  }
}

// A block for each window.
template <class Take, class T>
__global__ void large_windows(int64_t count, Pool p, const T* x, T* y, Places places) {
  for (int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    const Element e = p.out.element(i);
    const Window window(p, e.at);
    const T* const from = x + p.in.base(e);
    const int64_t positions = window.length[0] * window.length[1] * window.length[2];
    Take taken = Take::start();
    for (int64_t k = threadIdx.x; k < positions; k += blockDim.x) {
      int64_t offset = 0;
      int place = 0;
      locate(p, window, k, offset, place);
      taken.add(load(from[offset * p.in.step()]), place, p);
    }
    taken = merge_block(taken, Take::start(), Take{});
    if (threadIdx.x == 0) put(p, taken, window, e, i, y, places);
  }
}

// Gradients: each element of the data adds up what the windows that cover it send back. `Share` says what one sends.
template <class T>
struct MaxShare {
  Places places;
  __device__ Computed<T> operator()(const Pool& p, Computed<T> head, const Element& e,
                                    const int64_t (&window)[3], int64_t, int64_t) const {
    const int64_t number = (window[0] * p.out.size[1] + window[1]) * p.out.size[2] + window[2];
    const int64_t plane = e.image * p.out.channels.divisor() + e.channel;
    const int place = places.get(plane * p.out.pixels() + number);
    int64_t at[3];
    for (int i = 0; i < 3; ++i) at[i] = e.at[i] - window[i] * p.stride[i] + p.pad[i];
    return place == (at[0] * p.kernel[1] + at[1]) * p.kernel[2] + at[2] ? head : Computed<T>{0};
  }
};
template <class T>
struct MeanShare {
  __device__ Computed<T> operator()(const Pool& p, Computed<T> head, const Element&,
                                    const int64_t (&window)[3], int64_t, int64_t) const {
    if (!p.is_average) return head;
    const int64_t counted = p.counted(0, window[0]) * p.counted(1, window[1]) * p.counted(2, window[2]);
    return head / static_cast<Computed<T>>(max(counted, int64_t{1}));
  }
};
template <class T>
struct NormShare {
  const T* data;
  const T* output;
  __device__ Computed<T> operator()(const Pool& p, Computed<T> head, const Element&, const int64_t (&)[3],
                                    int64_t in_at, int64_t out_at) const {
    using A = Computed<T>;
    const A x = load(data[in_at]), y = load(output[out_at]), exponent = static_cast<A>(p.exponent - 1);
    return head * (exponent == 0 ? A{1} : y == 0 ? A{0} : Math::pow(x, exponent) / Math::pow(y, exponent));
  }
};

template <class Share, class T>
__global__ void gather_shares(int64_t count, Pool p, Share share, const T* grad, T* y) {
  for (const int64_t i : own_items(count)) {
    const Element e = p.in.element(i);
    int64_t begin[3], end[3];
    for (int k = 0; k < 3; ++k) {
      const int64_t place = e.at[k] + p.pad[k];
      begin[k] = place < p.kernel[k] ? 0 : (place - p.kernel[k]) / p.stride[k] + 1;
      end[k] = min(place / p.stride[k] + 1, p.out.size[k]);
    }
    const int64_t base = p.out.base(e);
    Computed<T> sum = 0;
    int64_t window[3];
    for (window[0] = begin[0]; window[0] < end[0]; ++window[0]) {
      for (window[1] = begin[1]; window[1] < end[1]; ++window[1]) {
        for (window[2] = begin[2]; window[2] < end[2]; ++window[2]) {
          const int64_t at =
              base + ((window[0] * p.out.size[1] + window[1]) * p.out.size[2] + window[2]) * p.out.step();
          sum += share(p, load(grad[at]), e, window, i, at);
        }
      }
    }
    y[i] = store<T>(sum);
  }
}

template <class P>
PoolGeometry geometry_of(const P& p, const Shape& data) {
  PoolGeometry g(full(p), data);
  g.whole_windows = std::is_same_v<P, PoolingV1Params>;
  return g;
}

template <class Take, class T>
void take_windows(const PoolGeometry& g, const Pool& pool, const KernelArgs& args, Places places) {
  constexpr int64_t kLargeWindow = 64, kMostBlocks = 1 << 20;
  const TensorView& y = args.out[0];
  const auto* const x = args.in[0].as<T>();
  if (g.window_size() < kLargeWindow || g.channels_last) {
    return launch(small_windows<Take, T>, grid_for(y.size()), stream_of(args), y.size(), pool, x,
                  y.mutable_as<T>(), places);
  }
  launch(large_windows<Take, T>, {unsigned(std::min(y.size(), kMostBlocks)), 64}, stream_of(args), y.size(),
         pool, x, y.mutable_as<T>(), places);
}

template <class P>
void pooling_cuda(const P& attrs, const KernelArgs& args) {
  if (args.req[0] == Req::null || args.out[0].size() == 0) return;
  const PoolingParams& p = full(attrs);
  const PoolGeometry g = geometry_of(attrs, args.in[0].shape);
  const Pool pool(p, g);
  dispatch_floating(args.in[0].dtype, "Pooling", [&]<class T>(Type<T>) {
    using A = Computed<T>;
    switch (p.pool_type) {
      case PoolType::max:
        return take_windows<TakeMax<A>, T>(g, pool, args,
                                           {args.saved[0].data, args.saved[0].dtype == DType::int32});
      case PoolType::lp: return take_windows<TakeNorm<A>, T>(g, pool, args, {nullptr, false});
      default: return take_windows<TakeMean<A>, T>(g, pool, args, {nullptr, false});
    }
  });
}

template <class Share, class T>
void gather(const Pool& pool, const Share& share, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  launch(gather_shares<Share, T>, grid_for(y.size()), stream_of(args), y.size(), pool, share,
         args.in[0].as<T>(), y.mutable_as<T>());
}

// grad, places, data -> gradient of the data.
template <class P>
void max_backward_cuda(const P& p, const KernelArgs& args) {
  const Pool pool(full(p), geometry_of(p, args.in[2].shape));
  dispatch_floating(args.in[0].dtype, "Pooling", [&]<class T>(Type<T>) {
    gather<MaxShare<T>, T>(pool, {{args.in[1].data, args.in[1].dtype == DType::int32}}, args);
  });
}

// grad, data -> gradient of the data.
template <class P>
void mean_backward_cuda(const P& p, const KernelArgs& args) {
  const Pool pool(full(p), geometry_of(p, args.in[1].shape));
  dispatch_floating(args.in[0].dtype, "Pooling",
                    [&]<class T>(Type<T>) { gather<MeanShare<T>, T>(pool, {}, args); });
}

// grad, data, output -> gradient of the data.
void norm_backward_cuda(const PoolingParams& p, const KernelArgs& args) {
  const Pool pool(p, geometry_of(p, args.in[1].shape));
  dispatch_floating(args.in[0].dtype, "Pooling", [&]<class T>(Type<T>) {
    gather<NormShare<T>, T>(pool, {args.in[1].as<T>(), args.in[2].as<T>()}, args);
  });
}

template <class P>
void add(KernelList& list, const std::string& op) {
  list.kernel<pooling_cuda<P>>(op, "pooling_cuda", DeviceType::gpu);
  list.kernel<max_backward_cuda<P>>("_backward_" + op + "_max", "pooling_max_backward_cuda", DeviceType::gpu);
  list.kernel<mean_backward_cuda<P>>("_backward_" + op + "_mean", "pooling_mean_backward_cuda",
                                     DeviceType::gpu);
}

}  // namespace

void kernels_pool_cuda(KernelList& list) {
  add<PoolingParams>(list, "Pooling");
  add<PoolingV1Params>(list, "Pooling_v1");
  list.kernel<norm_backward_cuda>("_backward_Pooling_norm", "pooling_norm_backward_cuda", DeviceType::gpu);
}

}  // namespace loomix::ops

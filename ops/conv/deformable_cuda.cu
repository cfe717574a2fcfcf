// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "base/settings.h"
#include "engine/device/cuda/element.h"
#include "ops/conv/deformable_rules.h"
#include "ops/cuda/blas.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/order.h"
#include "ops/cuda/runs.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"

// Image by image, as on the CPU: what the filters read becomes columns, and then all is matrix products, in the type of sums.
namespace loomix::ops {
namespace {

using namespace cuda;

template <class T>
struct Numbers {
  const T* data;
  __device__ Computed<T> operator[](int64_t i) const { return load(data[i]); }
};

template <class T>
struct Problem {
  using A = Computed<T>;
  TapPlaces<A, Numbers<T>> places;
  const T* data;  // of one image
  int64_t channels, offset_groups, plane;

  template <class P>
  Problem(const P& p, const ConvGeometry& g, const KernelArgs& args, size_t first, int64_t image)
      : places(g, P::kModulated, {}, {}),
        channels(g.groups * g.channels),
        offset_groups(p.num_deformable_group),
        plane(g.in_size()) {
    data = args.in[first].as<T>() + image * channels * plane;
    places.offset = {args.in[first + 1].as<T>() + image * 2 * factors()};
    if (P::kModulated) places.mask = {args.in[first + 2].template as<T>() + image * factors()};
  }
  __host__ __device__ int64_t factors() const { return offset_groups * places.taps * places.pixels; }
  __host__ __device__ int64_t columns() const { return channels * places.taps * places.pixels; }
  __host__ __device__ int64_t shared_channels() const { return channels / offset_groups; }
  __device__ Numbers<T> read(int64_t c) const { return {data + c * plane}; }
};

// columns[channel][tap][pixel]
template <class T>
struct UnfoldTaps {
  Problem<T> p;
  Divider pixels, taps;
  Computed<T>* columns;
  __device__ void operator()(int64_t at) const {
    const int64_t row = pixels.quotient(at), c = taps.quotient(row);
    const int64_t tap = row - c * taps.divisor(), pixel = at - row * pixels.divisor();
    const int64_t group = c / p.shared_channels();
    columns[at] = p.places.place(group, tap, pixel).value(p.read(c)) * p.places.factor(group, tap, pixel);
  }
};

// From the gradient of the columns those of offsets and masks; either may be null.
template <class T>
struct GatherPlaces {
  Problem<T> p;
  Divider pixels, taps;
  const Computed<T>* columns;
  T *offset, *mask;
  __device__ void operator()(int64_t at) const {
    using A = Computed<T>;
    const int64_t row = pixels.quotient(at), group = taps.quotient(row);
    const int64_t tap = row - group * taps.divisor(), pixel = at - row * pixels.divisor();
    const Corners<A> place = p.places.place(group, tap, pixel);
    const A factor = p.places.factor(group, tap, pixel);
    A x = 0, y = 0, share = 0;
    for (int64_t c = group * p.shared_channels(); c < (group + 1) * p.shared_channels(); ++c) {
      const A head = columns[(c * taps.divisor() + tap) * pixels.divisor() + pixel];
      const Slope<A> slope = place.slope(p.read(c));
      x += head * factor * slope.x;
      y += head * factor * slope.y;
      if (mask != nullptr) share += head * place.value(p.read(c));
    }
    if (offset != nullptr) {
      T* const to = offset + 2 * row * pixels.divisor() + pixel;
      to[0] = store<T>(y);
      to[pixels.divisor()] = store<T>(x);
    }
    if (mask != nullptr) mask[at] = store<T>(share);
  }
};

// Which element of an offset group's planes each corner of each place adds to.
template <class T>
struct ListCorners {
  Problem<T> p;
  Divider pixels, taps;
  uint32_t nowhere;
  uint32_t *keys, *values;
  __device__ void operator()(int64_t at) const {
    const int64_t row = pixels.quotient(at), group = taps.quotient(row);
    const auto place = p.places.place(group, row - group * taps.divisor(), at - row * pixels.divisor());
    for (int k = 0; k < 4; ++k) {
      keys[at * 4 + k] = place.inside[k] ? static_cast<uint32_t>(group * p.plane + place.at[k]) : nowhere;
      values[at * 4 + k] = static_cast<uint32_t>(at * 4 + k);
    }
  }
};

// What such a corner adds to the column-th channel of its group.
template <class T>
struct CornerShare {
  Problem<T> p;
  Divider pixels, taps;
  const Computed<T>* columns;
  __device__ Computed<T> operator()(int64_t from, int64_t column) const {
    const int64_t at = from / 4, row = pixels.quotient(at), group = taps.quotient(row);
    const int64_t tap = row - group * taps.divisor(), pixel = at - row * pixels.divisor();
    const int64_t c = group * p.shared_channels() + column;
    const Computed<T> head = columns[(c * taps.divisor() + tap) * pixels.divisor() + pixel];
    return p.places.place(group, tap, pixel).share[from % 4] * (head * p.places.factor(group, tap, pixel));
  }
};
template <class T>
struct PutPixel {
  int64_t plane, shared_channels;
  T* out;
  __device__ void operator()(int64_t place, int64_t column, Computed<T> sum) const {
    const int64_t group = place / plane;
    out[(group * shared_channels + column) * plane + place - group * plane] = store<T>(sum);
  }
};

template <class A, class T>
struct SpreadBias {
  Divider pixels;
  const T* bias;
  A* sums;
  __device__ void operator()(int64_t i) const { sums[i] = load(bias[pixels.quotient(i)]); }
};

int64_t corner_count(const ConvGeometry& g, int64_t offset_groups) {
  return 4 * offset_groups * g.kernel_size() * g.out_size();
}

// The pieces of scratch memory, then a sort's where there is a gradient of the data.
template <class P>
size_t deformable_scratch(const P& p, const KernelSpec& spec) {
  const DeformablePieces pieces(ConvGeometry(p, spec.in[0].shape), spec.in[0].dtype, false);
  return static_cast<size_t>(pieces.all()) * (spec.in[0].dtype == DType::float64 ? 8 : 4);
}
template <class P>
size_t deformable_backward_scratch(const P& p, const KernelSpec& spec) {
  const ConvGeometry g(p, spec.in[1].shape);
  const auto numbers = static_cast<size_t>(DeformablePieces(g, spec.in[1].dtype, true).all());
  return numbers * (spec.in[1].dtype == DType::float64 ? 8 : 4) +
         SortSpace<uint32_t>::bytes(corner_count(g, p.num_deformable_group));
}
template <class P>
Support deformable_backward_support(const P& p, const KernelSpec& spec) {
  const ConvGeometry g(p, spec.in[1].shape);
  return corner_count(g, p.num_deformable_group) < kMostSorted && spec.in[1].shape.size() < kMostSorted
             ? Support::yes()
             : Support::no("it has more taps than are sorted");
}

template <class T>
TensorView dense_view(const T* data, int64_t size) {
  return {const_cast<T*>(data), dtype_of<T>(), Shape{size}};
}

// An array in the type of sums: itself, or copied.
template <class T>
const Computed<T>* widen(const T* from, int64_t size, Computed<T>* to, cudaStream_t stream) {
  if constexpr (std::is_same_v<T, Computed<T>>) {
    return from;
  } else {
    convert_array(dense_view(from, size), dense_view(to, size), stream);
    return to;
  }
}

template <class A>
Gemm product(const ConvGeometry& g, int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b) {
  Gemm gemm = dense_gemm(dtype_of<A>(), m, n, k, transpose_a, transpose_b, g.groups);
  gemm.tf32 =
      settings().cuda_dot_tf32;  // these are matrix products: offsets have gradients that need the bits
  return gemm;
}

template <class P>
void deformable_cuda(const P& p, const KernelArgs& args) {
  const cudaStream_t stream = stream_of(args);
  const ConvGeometry g(p, args.in[0].shape);
  const size_t weight_at = P::kModulated ? 3 : 2;
  const TensorView& filters = args.in[weight_at];
  dispatch_floating(args.out[0].dtype, "DeformableConvolution", [&]<class T>(Type<T>) {
    using A = Computed<T>;
    const DeformablePieces pieces(g, args.in[0].dtype, false);
    A* const columns = reinterpret_cast<A*>(args.scratch.data());
    const A* const weight = widen(filters.as<T>(), filters.size(), columns + pieces.columns, stream);
    const int64_t pixels = g.out_size(), size = g.groups * g.filters * pixels;
    Gemm gemm = product<A>(g, g.filters, pixels, g.depth(), false, false);
    gemm.beta = p.no_bias ? 0 : 1;
    for (int64_t image = 0; image < g.batch; ++image) {
      const Problem<T> problem(p, g, args, 0, image);
      launch_each(stream, problem.columns(),
                  UnfoldTaps<T>{problem, Divider(pixels), Divider(g.kernel_size()), columns});
      T* const out = args.out[0].mutable_as<T>() + image * size;
      A* sums = columns + pieces.columns + pieces.weight;
      if constexpr (std::is_same_v<T, A>) sums = out;
      if (!p.no_bias) {
        const T* const bias = args.in[weight_at + 1].template as<T>();
        launch_each(stream, size, SpreadBias<A, T>{Divider(pixels), bias, sums});
      }
      cuda::gemm(gemm, weight, columns, sums, stream);
      if constexpr (!std::is_same_v<T, A>)
        convert_array(dense_view(sums, size), dense_view(out, size), stream);
    }
  });
}

// From the gradient of the columns that of the data.
template <class T>
void gather_data(const Problem<T>& problem, const Computed<T>* columns, T* out, std::span<std::byte> scratch,
                 cudaStream_t stream) {
  const Divider pixels(problem.places.pixels), taps(problem.places.taps);
  const int64_t count = 4 * problem.factors();
  const auto nowhere = static_cast<uint32_t>(problem.offset_groups * problem.plane);
  const SortSpace<uint32_t> space(scratch, count);
  fill(dense_view(out, problem.channels * problem.plane), 0, stream);
  launch_each(stream, count / 4,
              ListCorners<T>{problem, pixels, taps, nowhere, space.keys(), space.values()});
  space.sort(std::bit_width(nowhere), stream);
  Runs runs{
      space.sorted_keys(), space.sorted_values(), count, nowhere, Divider(problem.shared_channels()), false};
  runs.runs = Divider(count);
  sum_runs<Computed<T>>(runs, CornerShare<T>{problem, pixels, taps, columns},
                        PutPixel<T>{problem.plane, problem.shared_channels(), out}, stream);
}

template <class P>
void deformable_backward_cuda(const P& p, const KernelArgs& args) {
  const cudaStream_t stream = stream_of(args);
  const ConvGeometry g(p, args.in[1].shape);
  const size_t weight_at = P::kModulated ? 4 : 3;  // also of its gradient, but for one
  const TensorView& filters = args.in[weight_at];
  dispatch_floating(args.in[0].dtype, "DeformableConvolution", [&]<class T>(Type<T>) {
    using A = Computed<T>;
    const DeformablePieces pieces(g, args.in[1].dtype, true);
    A* const columns = reinterpret_cast<A*>(args.scratch.data());
    A* const wide_grad = columns + pieces.columns + pieces.weight;
    const A* const weight = widen(filters.as<T>(), filters.size(), columns + pieces.columns, stream);
    const std::span<std::byte> rest = args.scratch.subspan(static_cast<size_t>(pieces.all()) * sizeof(A));
    T* const to_weight = args.wanted<T>(weight_at - 1);
    A* weight_sums = wide_grad + pieces.image;
    if constexpr (std::is_same_v<T, A>) weight_sums = to_weight;
    T *const data = args.wanted<T>(0), *const offset = args.wanted<T>(1);
    T* const mask = P::kModulated ? args.wanted<T>(2) : nullptr;
    const Divider pixels(g.out_size()), taps(g.kernel_size());
    const int64_t size = g.groups * g.filters * g.out_size();
    for (int64_t image = 0; image < g.batch; ++image) {
      const Problem<T> problem(p, g, args, 1, image);
      const A* const grad = widen(args.in[0].as<T>() + image * size, size, wide_grad, stream);
      if (offset != nullptr || mask != nullptr || data != nullptr) {
        cuda::gemm(product<A>(g, g.depth(), g.out_size(), g.filters, true, false), weight, grad, columns,
                   stream);
      }
      if (offset != nullptr || mask != nullptr) {
        launch_each(stream, problem.factors(),
                    GatherPlaces<T>{problem, pixels, taps, columns,
                                    offset == nullptr ? nullptr : offset + image * 2 * problem.factors(),
                                    mask == nullptr ? nullptr : mask + image * problem.factors()});
      }
      if (data != nullptr)
        gather_data(problem, columns, data + image * problem.channels * problem.plane, rest, stream);
      if (to_weight == nullptr) continue;
      launch_each(stream, problem.columns(), UnfoldTaps<T>{problem, pixels, taps, columns});
      Gemm gemm = product<A>(g, g.filters, g.depth(), g.out_size(), false, true);
      gemm.beta = image == 0 ? 0 : 1;
      cuda::gemm(gemm, grad, columns, weight_sums, stream);
    }
    if (to_weight == nullptr) return;
    if (g.batch == 0) return fill(args.out[weight_at - 1], 0, stream);
    if constexpr (!std::is_same_v<T, A>)
      convert_array(dense_view(weight_sums, filters.size()), args.out[weight_at - 1], stream);
  });
}

template <class P>
void add(KernelList& list, const std::string& op) {
  list.kernel<deformable_cuda<P>, deformable_scratch<P>>(op, "deformable_cuda", DeviceType::gpu);
  list.kernel<deformable_backward_cuda<P>, deformable_backward_support<P>, deformable_backward_scratch<P>>(
      "_backward_" + op, "deformable_backward_cuda", DeviceType::gpu);
}

}  // namespace

void kernels_deformable_cuda(KernelList& list) {
  add<DeformableConvolutionParams>(list, "_contrib_DeformableConvolution");
  add<ModulatedDeformableConvolutionParams>(list, "_contrib_ModulatedDeformableConvolution");
}

}  // namespace loomix::ops

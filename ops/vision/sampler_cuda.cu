// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "engine/device/cuda/element.h"
#include "ops/bilinear_corners.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/cuda/order.h"
#include "ops/cuda/reduce.h"
#include "ops/cuda/runs.h"
#include "ops/families_cuda.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

using namespace cuda;

template <class T>
struct Elements {
  const T* data;
  __device__ Computed<T> operator[](int64_t i) const { return load(data[i]); }
};

// Where a pixel of item n comes from: read from a grid, or transformed.
template <class T>
struct FromGrid {
  using A = Computed<T>;
  const T* grid;
  int64_t pixels;
  __device__ void at(int64_t n, int64_t pixel, A& x, A& y) const {
    x = load(grid[n * 2 * pixels + pixel]);
    y = load(grid[(n * 2 + 1) * pixels + pixel]);
  }
};

template <class T>
struct FromTransform {
  using A = Computed<T>;
  const T* loc;
  int64_t height;
  Divider width;
  __device__ void at(int64_t n, int64_t pixel, A& x, A& y) const {
    const int64_t row = width.quotient(pixel), column = pixel - row * width.divisor();
    const A to_x = grid_coordinate<A>(column, width.divisor()), to_y = grid_coordinate<A>(row, height);
    const T* const six = loc + n * 6;
    x = load(six[0]) * to_x + load(six[1]) * to_y + load(six[2]);
    y = load(six[3]) * to_x + load(six[4]) * to_y + load(six[5]);
  }
};

// Images of `channels` planes, which are sampled at `pixels` places.
struct Images {
  int64_t channels, height, width;
  Divider pixels, planes;

  Images(const Shape& data, const Shape& out)
      : channels(data[1]), height(data[2]), width(data[3]), pixels(out[2] * out[3]), planes(data[1]) {}
  int64_t size() const { return height * width; }
  template <class Places>
  __device__ Corners<typename Places::A> around(const Places& places, int64_t n, int64_t pixel) const {
    typename Places::A x, y;
    places.at(n, pixel, x, y);
    return corners(grid_element(x, width), grid_element(y, height), height, width);
  }
};

template <class T, class Places>
__global__ void sample_pixels(int64_t count, Images images, Places places, const T* data, T* y) {
  for (const int64_t i : own_items(count)) {
    const int64_t plane = images.pixels.quotient(i), n = images.planes.quotient(plane);
    const auto around = images.around(places, n, i - plane * images.pixels.divisor());
    y[i] = store<T>(around.value(Elements<T>{data + plane * images.height * images.width}));
  }
}

template <class T, class Places>
void sample(const Places& places, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  launch(sample_pixels<T, Places>, grid_for(y.size()), stream_of(args), y.size(),
         Images(args.in[0].shape, y.shape), places, args.in[0].as<T>(), y.mutable_as<T>());
}

void bilinear_sampler_cuda(const KernelArgs& args) {
  const Shape& out = args.out[0].shape;
  dispatch_floating(args.out[0].dtype, "BilinearSampler", [&]<class T>(Type<T>) {
    sample<T>(FromGrid<T>{args.in[1].as<T>(), out[2] * out[3]}, args);
  });
}

void spatial_transformer_cuda(const KernelArgs& args) {
  const Shape& out = args.out[0].shape;
  dispatch_floating(args.out[0].dtype, "SpatialTransformer", [&]<class T>(Type<T>) {
    sample<T>(FromTransform<T>{args.in[1].as<T>(), out[2], Divider(out[3])}, args);
  });
}

// ---- the gradient of the data: each pixel gives to four places, the same ones in all planes of an image ---------------------

template <class T>
__global__ void list_places(int64_t count, Images images, FromGrid<T> places, uint32_t nowhere,
                            uint32_t* keys, uint32_t* values) {
  for (const int64_t i : own_items(count)) {
    const int64_t pixel = i / 4, corner = i % 4, n = images.pixels.quotient(pixel);
    const auto around = images.around(places, n, pixel - n * images.pixels.divisor());
    const bool inside = around.inside[corner];
    keys[i] = inside ? static_cast<uint32_t>(n * images.height * images.width + around.at[corner]) : nowhere;
    values[i] = static_cast<uint32_t>(i);
  }
}

template <class T>
struct GivenShare {
  Images images;
  FromGrid<T> places;
  const T* grad;
  __device__ Computed<T> operator()(int64_t contribution, int64_t channel) const {
    const int64_t pixel = contribution / 4, n = images.pixels.quotient(pixel);
    const int64_t own = pixel - n * images.pixels.divisor();
    const auto around = images.around(places, n, own);
    return around.share[contribution % 4] *
           load(grad[(n * images.channels + channel) * images.pixels.divisor() + own]);
  }
};
template <class T>
struct PutInPlane {
  Divider size;
  int64_t channels;
  T* y;
  __device__ void operator()(int64_t place, int64_t channel, Computed<T> sum) const {
    const int64_t n = size.quotient(place);
    y[(n * channels + channel) * size.divisor() + (place - n * size.divisor())] = store<T>(sum);
  }
};

int64_t contributions(const Shape& out) { return 4 * out[0] * out[2] * out[3]; }

void bilinear_sampler_data_cuda(const KernelArgs& args) {
  const TensorView& grad = args.in[0];
  const TensorView& y = args.out[0];
  const cudaStream_t stream = stream_of(args);
  fill(y, 0, stream);
  const int64_t count = contributions(grad.shape);
  if (grad.size() == 0) return;
  const Images images(y.shape, grad.shape);
  const auto places = static_cast<uint32_t>(y.shape[0] * images.size());
  const SortSpace<uint32_t> space(args.scratch, count);
  dispatch_floating(y.dtype, "BilinearSampler", [&]<class T>(Type<T>) {
    const FromGrid<T> grid{args.in[2].as<T>(), images.pixels.divisor()};
    launch(list_places<T>, grid_for(count), stream, count, images, grid, places, space.keys(),
           space.values());
    space.sort(std::bit_width(places), stream);
    const Runs runs{
        space.sorted_keys(), space.sorted_values(), count, places, Divider(images.channels), false,
        Divider(count)};
    sum_runs<Computed<T>>(runs, GivenShare<T>{images, grid, grad.as<T>()},
                          PutInPlane<T>{Divider(images.size()), images.channels, y.mutable_as<T>()}, stream);
  });
}

size_t bilinear_sampler_data_scratch(const KernelSpec& spec) {
  return SortSpace<uint32_t>::bytes(contributions(spec.in[0].shape));
}
Support bilinear_sampler_data_support(const KernelSpec& spec) {
  return contributions(spec.in[0].shape) < kMostSorted && spec.out[0].shape.size() < kMostSorted
             ? Support::yes()
             : Support::no("it has more pixels than are sorted");
}

template <class T>
__global__ void grid_gradient(int64_t count, Images images, FromGrid<T> places, const T* grad, const T* data,
                              T* y) {
  using A = Computed<T>;
  const int64_t pixels = images.pixels.divisor(), size = images.height * images.width;
  for (const int64_t i : own_items(count)) {
    const int64_t n = images.pixels.quotient(i), pixel = i - n * pixels;
    const auto around = images.around(places, n, pixel);
    A to_x = 0, to_y = 0;
    for (int64_t c = 0; c < images.channels; ++c) {
      const int64_t plane = n * images.channels + c;
      const Slope<A> slope = around.slope(Elements<T>{data + plane * size});
      const A head = load(grad[plane * pixels + pixel]);
      to_x += head * slope.x;
      to_y += head * slope.y;
    }
    y[n * 2 * pixels + pixel] = store<T>(to_x * static_cast<A>(images.width - 1) / 2);
    y[(n * 2 + 1) * pixels + pixel] = store<T>(to_y * static_cast<A>(images.height - 1) / 2);
  }
}

void bilinear_sampler_grid_cuda(const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const Images images(args.in[1].shape, y.shape);
  const int64_t count = args.in[1].shape[0] * images.pixels.divisor();
  dispatch_floating(y.dtype, "BilinearSampler", [&]<class T>(Type<T>) {
    launch(grid_gradient<T>, grid_for(count), stream_of(args), count, images,
           FromGrid<T>{args.in[2].as<T>(), images.pixels.divisor()}, args.in[0].as<T>(), args.in[1].as<T>(),
           y.mutable_as<T>());
  });
}

// ---- grids -------------------------------------------------------------------------------------------------------------

template <class T>
__global__ void make_grid(int64_t count, Divider pixels, bool is_affine, FromTransform<T> places, T* y) {
  using A = Computed<T>;
  const int64_t height = places.height, width = places.width.divisor();
  const T* const data = places.loc;
  for (const int64_t i : own_items(count)) {
    const int64_t n = pixels.quotient(i), pixel = i - n * pixels.divisor();
    const int64_t at = n * 2 * pixels.divisor() + pixel;
    A to_x, to_y;
    if (is_affine) {
      places.at(n, pixel, to_x, to_y);
    } else {
      const auto moved = [&](int64_t element, int64_t from, int64_t size) {
        return (load(data[element]) + static_cast<A>(from)) * 2 / static_cast<A>(size - 1) - 1;
      };
      const int64_t row = places.width.quotient(pixel);
      to_x = moved(at, pixel - row * width, width);
      to_y = moved(at + pixels.divisor(), row, height);
    }
    y[at] = store<T>(to_x);
    y[at + pixels.divisor()] = store<T>(to_y);
  }
}

void grid_generator_cuda(const GridGeneratorParams& p, const KernelArgs& args) {
  const Shape& out = args.out[0].shape;
  const int64_t pixels = out[2] * out[3], count = out[0] * pixels;
  dispatch_floating(args.out[0].dtype, "GridGenerator", [&]<class T>(Type<T>) {
    launch(make_grid<T>, grid_for(count), stream_of(args), count, Divider(pixels),
           p.transform_type == Transform::affine,
           FromTransform<T>{args.in[0].as<T>(), out[2], Divider(out[3])}, args.out[0].mutable_as<T>());
  });
}

template <class T>
__global__ void scale_warp(int64_t count, Divider pixels, Computed<T> across, Computed<T> down, const T* grad,
                           T* y) {
  for (const int64_t i : own_items(count))
    y[i] = store<T>(load(grad[i]) * (pixels.quotient(i) % 2 ? down : across));
}

// One block a plane of the grid.
template <class T>
__global__ void affine_gradient(int64_t pixels, int64_t height, Divider width, const T* grad, T* y) {
  using A = Computed<T>;
  const T* const head = grad + blockIdx.x * pixels;
  A sums[3] = {};
  for (int64_t i = threadIdx.x; i < pixels; i += blockDim.x) {
    const int64_t row = width.quotient(i);
    const A g = load(head[i]);
    sums[0] += g * grid_coordinate<A>(i - row * width.divisor(), width.divisor());
    sums[1] += g * grid_coordinate<A>(row, height);
    sums[2] += g;
  }
  for (int k = 0; k < 3; ++k) {
    const A sum = merge_block(sums[k], A{0}, Plus{});
    if (threadIdx.x == 0) y[blockIdx.x * 3 + k] = store<T>(sum);
  }
}

void grid_generator_backward_cuda(const GridGeneratorParams& p, const KernelArgs& args) {
  const Shape& in = args.in[0].shape;
  const int64_t pixels = in[2] * in[3];
  dispatch_floating(args.out[0].dtype, "GridGenerator", [&]<class T>(Type<T>) {
    using A = Computed<T>;
    T* const y = args.out[0].mutable_as<T>();
    if (p.transform_type == Transform::warp) {
      return launch(scale_warp<T>, grid_for(args.in[0].size()), stream_of(args), args.in[0].size(),
                    Divider(pixels), A{2} / static_cast<A>(in[3] - 1), A{2} / static_cast<A>(in[2] - 1),
                    args.in[0].as<T>(), y);
    }
    launch(affine_gradient<T>, {static_cast<unsigned>(in[0] * 2), kThreads}, stream_of(args), pixels, in[2],
           Divider(in[3]), args.in[0].as<T>(), y);
  });
}

}  // namespace

void kernels_sampler_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  list.kernel<grid_generator_cuda>("GridGenerator", "grid_generator_cuda", gpu);
  list.kernel<bilinear_sampler_cuda>("BilinearSampler", "bilinear_sampler_cuda", gpu);
  list.kernel<spatial_transformer_cuda>("SpatialTransformer", "spatial_transformer_cuda", gpu);
  list.kernel<grid_generator_backward_cuda>("_backward_GridGenerator", "grid_generator_backward_cuda", gpu);
  list.kernel<bilinear_sampler_data_cuda, bilinear_sampler_data_support, bilinear_sampler_data_scratch>(
      "_backward_BilinearSampler_data", "bilinear_sampler_data_cuda", gpu);
  list.kernel<bilinear_sampler_grid_cuda>("_backward_BilinearSampler_grid", "bilinear_sampler_grid_cuda",
                                          gpu);
}

}  // namespace loomix::ops

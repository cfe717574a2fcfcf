// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/index.h"
#include "ops/detection/deformable_roi_rules.h"
#include "ops/detection/regions_cuda.h"
#include "ops/families_cuda.h"

// A thread an element of what is made, gradients included: it looks for the points that meet it, so that sums have an order.
namespace loomix::ops {
namespace {

using namespace cuda;

template <class T>
using Pooling = DeformablePooling<Computed<T>, Elements<T>>;

template <class T>
Pooling<T> pooling_of(const DeformablePSROIPoolingParams& p, const KernelArgs& args, size_t first) {
  return {p, args, first, Elements<T>{args.in[first + 1].as<T>()},
          Elements<T>{p.no_trans ? nullptr : args.in[first + 2].as<T>()}};
}

template <class T>
__global__ void pool_parts(int64_t count, Pooling<T> pooling, Regions<T> regions, Divider size,
                           Divider channels, const T* data, T* out) {
  using A = Computed<T>;
  for (const int64_t at : own_items(count)) {
    const int64_t row = size.quotient(at), plane = size.quotient(row), roi = channels.quotient(plane);
    const int64_t j = at - row * size.divisor(), i = row - plane * size.divisor(),
                  c = plane - roi * channels.divisor();
    A sum = 0;
    int64_t points = 0;
    if (regions.check(roi)) {
      const int64_t from = pooling.image(roi) * pooling.channels + pooling.channel(c, i, j);
      const Elements<T> read{data + from * pooling.height * pooling.width};
      points = pooling.each_point(pooling.place(roi, pooling.class_of(c), i, j),
                                  [&](const Corners<A>& corners) { sum += corners.value(read); });
    }
    out[at] = store<T>(points > 0 ? sum / static_cast<A>(points) : A{0});
  }
}

void deformable_psroi_pooling_cuda(const DeformablePSROIPoolingParams& p, const KernelArgs& args,
                                   int64_t* fault) {
  const TensorView& out = args.out[0];
  dispatch_floating(out.dtype, "DeformablePSROIPooling", [&]<class T>(Type<T>) {
    launch(pool_parts<T>, grid_for(out.size()), stream_of(args), out.size(), pooling_of<T>(p, args, 0),
           Regions<T>(args.in[1], args.in[0].shape[0], fault), Divider(out.shape[3]), Divider(out.shape[1]),
           args.in[0].as<T>(), out.mutable_as<T>());
  });
}

// Shape of the gradient of the output.
struct Pooled {
  int64_t rois, channels, size;
  explicit Pooled(const Shape& shape) : rois(shape[0]), channels(shape[1]), size(shape[3]) {}
};

template <class T>
__global__ void gather_data(int64_t count, Pooling<T> pooling, Regions<T> regions, Pooled from, Divider width,
                            Divider height, Divider channels, const T* grad, T* out) {
  using A = Computed<T>;
  const int64_t groups = int64_t{pooling.p.group_size} * pooling.p.group_size;
  for (const int64_t at : own_items(count)) {
    const int64_t row = width.quotient(at), plane = height.quotient(row), image = channels.quotient(plane);
    const int64_t channel = plane - image * channels.divisor(), c = channel / groups;
    const int64_t pixel = at - plane * pooling.height * pooling.width;
    const A y = static_cast<A>(row - plane * height.divisor()),
            x = static_cast<A>(at - row * width.divisor());
    A sum = 0;
    for (int64_t unit = 0; c < from.channels && unit < from.rois * from.size * from.size; ++unit) {
      const int64_t roi = unit / (from.size * from.size), i = unit / from.size % from.size,
                    j = unit % from.size;
      if (!regions.check(roi) || pooling.image(roi) != image || pooling.channel(c, i, j) != channel) continue;
      const auto place = pooling.place(roi, pooling.class_of(c), i, j);
      const A steps = static_cast<A>(pooling.p.sample_per_part);
      // Its points touch elements less than one away, or half of one more at an edge.
      const bool near = x > place.left - 2 && x < place.left + steps * place.step_x + 2 &&
                        y > place.top - 2 && y < place.top + steps * place.step_y + 2;
      if (!near) continue;
      A met = 0;
      const int64_t points = pooling.each_point(place, [&](const Corners<A>& corners) {
        for (int k = 0; k < 4; ++k) {
          if (corners.inside[k] && corners.at[k] == pixel) met += corners.share[k];
        }
      });
      if (points == 0) continue;
      const A head = load(grad[((roi * from.channels + c) * from.size + i) * from.size + j]);
      sum += head / static_cast<A>(points) * met;
    }
    out[at] = store<T>(sum);
  }
}

// Each pair of moves: over the class's channels and the places that the pair moves.
template <class T>
__global__ void gather_moves(int64_t count, Pooling<T> pooling, Regions<T> regions, Pooled from,
                             const T* grad, const T* data, T* out) {
  using A = Computed<T>;
  const int64_t parts = pooling.p.parts(), squared = parts * parts, places = from.size * from.size;
  const int64_t channels = from.channels / pooling.classes;
  for (const int64_t unit : own_items(count)) {
    const int64_t roi = unit / squared / pooling.classes, number = unit / squared % pooling.classes;
    const int64_t at_x = (roi * pooling.classes + number) * 2 * squared + unit % squared;
    A x = 0, y = 0;
    const bool counts = regions.check(roi);
    for (int64_t step = 0; counts && step < channels * places; ++step) {
      const int64_t c = number * channels + step / places, i = step % places / from.size,
                    j = step % from.size;
      if (pooling.move_at(roi, number, i, j) != at_x) continue;
      const int64_t plane = pooling.image(roi) * pooling.channels + pooling.channel(c, i, j);
      const Elements<T> read{data + plane * pooling.height * pooling.width};
      const auto place = pooling.place(roi, number, i, j);
      A slope_x = 0, slope_y = 0;
      const int64_t points = pooling.each_point(place, [&](const Corners<A>& corners) {
        const Slope<A> slope = corners.slope(read);
        slope_x += slope.x;
        slope_y += slope.y;
      });
      const A share = load(grad[(roi * from.channels + c) * places + step % places]) *
                      static_cast<A>(pooling.p.trans_std) / static_cast<A>(points > 1 ? points : 1);
      x += share * slope_x * place.width;
      y += share * slope_y * place.height;
    }
    out[at_x] = store<T>(x);
    out[at_x + squared] = store<T>(y);
  }
}

void deformable_psroi_pooling_backward_cuda(const DeformablePSROIPoolingParams& p, const KernelArgs& args,
                                            int64_t* fault) {
  const Shape& data = args.in[1].shape;
  if (data.size() == 0) return;
  const Pooled from(args.in[0].shape);
  const cudaStream_t stream = stream_of(args);
  dispatch_floating(args.in[0].dtype, "DeformablePSROIPooling", [&]<class T>(Type<T>) {
    const Pooling<T> pooling = pooling_of<T>(p, args, 1);
    const Regions<T> regions(args.in[2], data[0], fault);
    const T* const grad = args.in[0].as<T>();
    if (args.req[0] != Req::null) {
      launch(gather_data<T>, grid_for(data.size()), stream, data.size(), pooling, regions, from,
             Divider(data[3]), Divider(data[2]), Divider(data[1]), grad, args.out[0].mutable_as<T>());
    }
    if (p.no_trans || args.req[1] == Req::null) return;
    const int64_t moves = from.rois * pooling.classes * p.parts() * p.parts();
    if (moves == 0) return;
    launch(gather_moves<T>, grid_for(moves), stream, moves, pooling, regions, from, grad, args.in[1].as<T>(),
           args.out[1].mutable_as<T>());
  });
}

void explain(const KernelArgs& args) { explain_regions(args, 0, "DeformablePSROIPooling"); }
void explain_backward(const KernelArgs& args) {
  check_rois(HostCopy(args.in[2]).view(), args.in[1].shape[0], "DeformablePSROIPooling");
}

}  // namespace

void kernels_deformable_roi_cuda(KernelList& list) {
  add_checked<deformable_psroi_pooling_cuda, explain>(list, "_contrib_DeformablePSROIPooling",
                                                      "deformable_psroi_pooling_cuda");
  add_checked<deformable_psroi_pooling_backward_cuda, explain_backward>(
      list, "_backward__contrib_DeformablePSROIPooling", "deformable_psroi_pooling_backward_cuda");
}

}  // namespace loomix::ops

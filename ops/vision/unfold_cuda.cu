// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/element.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/cuda/strided.h"
#include "ops/families_cuda.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// The small image inside of the large one; the copy is out of the large one.
StridedCopy crop_plan(const CropParams& p, const Shape& large, const Shape& small) {
  const Strides from(large), to(small);
  StridedCopy plan;
  for (int axis = 0; axis < 4; ++axis) plan.add_axis(small[axis], to[axis], from[axis]);
  const int64_t top = p.center_crop ? (large[2] - small[2]) / 2 : p.offset[0];
  const int64_t left = p.center_crop ? (large[3] - small[3]) / 2 : p.offset[1];
  plan.from_offset = top * from[2] + left;
  return plan;
}

void crop_cuda(const CropParams& p, const KernelArgs& args) {
  cuda::copy_strided(crop_plan(p, args.in[0].shape, args.out[0].shape), args.in[0], args.out[0],
                     stream_of(args));
}

void crop_backward_cuda(const CropParams& p, const KernelArgs& args) {
  fill(args.out[0], 0, stream_of(args));
  StridedCopy plan = crop_plan(p, args.out[0].shape, args.in[0].shape);
  std::swap(plan.to_stride, plan.from_stride);
  std::swap(plan.to_offset, plan.from_offset);
  cuda::copy_strided(plan, args.in[0], args.out[0], stream_of(args));
}

// Windows over an image of up to three axes: column (plane, tap, place) is what a tap of the window reads at a place.
struct Windows {
  Divider places, taps, out[3], kernel[3], in[3];
  int64_t stride[3], dilate[3], pad[3];

  explicit Windows(const ConvGeometry& g) : places(g.out_size()), taps(g.kernel_size()) {
    for (int i = 0; i < 3; ++i) {
      out[i] = Divider(g.out[i]);
      kernel[i] = Divider(g.kernel[i]);
      in[i] = Divider(g.in[i]);
      stride[i] = g.stride[i];
      dilate[i] = g.dilate[i];
      pad[i] = g.pad[i];
    }
  }
  __device__ static void split(int64_t i, const Divider (&sizes)[3], int64_t (&index)[3]) {
    for (int axis = 2; axis > 0; --axis) {
      const int64_t rest = sizes[axis].quotient(i);
      index[axis] = i - rest * sizes[axis].divisor();
      i = rest;
    }
    index[0] = i;
  }
};

template <class T>
__global__ void unfold(int64_t count, Windows w, const T* image, T* columns) {
  for (const int64_t i : own_items(count)) {
    const int64_t row = w.places.quotient(i), plane = w.taps.quotient(row);
    int64_t place[3], tap[3];
    Windows::split(i - row * w.places.divisor(), w.out, place);
    Windows::split(row - plane * w.taps.divisor(), w.kernel, tap);
    int64_t at = plane;
    bool inside = true;
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t size = w.in[axis].divisor();
      const int64_t index = place[axis] * w.stride[axis] + tap[axis] * w.dilate[axis] - w.pad[axis];
      inside = inside && index >= 0 && index < size;
      at = at * size + index;
    }
    columns[i] = inside ? image[at] : T{0};
  }
}

void im2col_cuda(const UnfoldParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
    launch(unfold<T>, grid_for(y.size()), stream_of(args), y.size(), Windows(p.geometry(args.in[0].shape)),
           static_cast<const T*>(args.in[0].data), static_cast<T*>(y.data));
  });
}

// A pixel's sum over the taps that meet it, each at one place.
template <class T>
__global__ void fold(int64_t count, Windows w, const T* columns, T* image) {
  for (const int64_t i : own_items(count)) {
    int64_t index[3];
    Windows::split(i, w.in, index);
    const int64_t plane = w.in[0].quotient(index[0]);
    index[0] -= plane * w.in[0].divisor();
    Computed<T> sum = 0;
    for (int64_t number = 0; number < w.taps.divisor(); ++number) {
      int64_t tap[3];
      Windows::split(number, w.kernel, tap);
      int64_t place = 0;
      bool meets = true;
      for (int axis = 0; axis < 3; ++axis) {
        const int64_t from = index[axis] + w.pad[axis] - tap[axis] * w.dilate[axis];
        const int64_t at = from / w.stride[axis];
        meets = meets && from >= 0 && at * w.stride[axis] == from && at < w.out[axis].divisor();
        place = place * w.out[axis].divisor() + at;
      }
      if (meets) sum += load(columns[(plane * w.taps.divisor() + number) * w.places.divisor() + place]);
    }
    image[i] = store<T>(sum);
  }
}

template <class P>
void fold_cuda(const P& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  dispatch_floating(y.dtype, "col2im", [&]<class T>(Type<T>) {
    launch(fold<T>, grid_for(y.size()), stream_of(args), y.size(), Windows(p.geometry(y.shape)),
           args.in[0].as<T>(), y.mutable_as<T>());
  });
}

}  // namespace

void kernels_unfold_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  list.kernel<crop_cuda>("Crop", "crop_cuda", gpu);
  list.kernel<crop_backward_cuda>("_backward_Crop", "crop_backward_cuda", gpu);
  list.kernel<im2col_cuda>("im2col", "im2col_cuda", gpu);
  list.kernel<fold_cuda<FoldParams>>("col2im", "col2im_cuda", gpu);
  list.kernel<fold_cuda<UnfoldParams>>("_backward_im2col", "im2col_backward_cuda", gpu);
}

}  // namespace loomix::ops

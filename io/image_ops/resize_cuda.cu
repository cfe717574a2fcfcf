// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/element.h"
#include "io/image/resize_taps.h"
#include "io/image_ops/image_numbers_cuda.h"
#include "io/kernels_cuda.h"
#include "ops/cuda/index.h"
#include "ops/cuda/stream.h"
#include "ops/scratch_slots.h"

namespace loomix::io {
namespace {

using namespace cuda;
using ops::KernelSpec;

// The taps of all pixels of an axis.
struct TapTable {
  AxisTaps axis;
  int* at;
  float* weight;
  static size_t bytes(const AxisTaps& axis) {
    return 2 * ops::aligned(static_cast<size_t>(axis.to) * static_cast<size_t>(axis.count) * sizeof(float));
  }
  TapTable(const AxisTaps& taps, std::byte* memory)
      : axis(taps),
        at(reinterpret_cast<int*>(memory)),
        weight(reinterpret_cast<float*>(memory + bytes(taps) / 2)) {}
  __device__ void operator()(int64_t i) const {
    axis.make(static_cast<int>(i), at + i * axis.count, weight + i * axis.count);
  }
};

struct ResizePixels {
  Divider channels, width, height;  // of the result
  int64_t from_height, from_width;
  TapTable rows, columns;
  AnyArray in;
  ImageNumbers out;
  __device__ void operator()(int64_t i) const {
    const int64_t pixel = channels.quotient(i), line = width.quotient(pixel), image = height.quotient(line);
    const int64_t c = i - pixel * channels.divisor();
    const int64_t y = (line - image * height.divisor()) * rows.axis.count;
    const int64_t x = (pixel - line * width.divisor()) * columns.axis.count;
    float sum = 0;
    for (int k = 0; k < rows.axis.count; ++k) {
      const float share = rows.weight[y + k];
      if (share == 0 && k > 0) continue;
      const int64_t row = (image * from_height + rows.at[y + k]) * from_width;
      float along = 0;
      for (int j = 0; j < columns.axis.count; ++j) {
        const int64_t from = (row + columns.at[x + j]) * channels.divisor() + c;
        along += columns.weight[x + j] * static_cast<float>(in[from]);
      }
      sum += share * along;
    }
    out.set(i, sum);
  }
};

struct Axes {
  AxisTaps rows, columns;
  Axes(int interp, const TensorView& in, const TensorView& out)
      : Axes(interp, pictures(in.shape), pictures(out.shape), in.dtype == DType::uint8) {}

 private:
  Axes(int interp, const Pictures& from, const Pictures& to, bool rounds)
      : Axes(
            choose_interpolation(interp, int(from.height), int(from.width), int(to.height), int(to.width), 0),
            from, to, rounds) {}
  Axes(Interpolation how, const Pictures& from, const Pictures& to, bool rounds)
      : rows(int(from.height), int(to.height), how,
             area_enlarges(how, from.height, from.width, to.height, to.width), rounds),
        columns(int(from.width), int(to.width), how,
                area_enlarges(how, from.height, from.width, to.height, to.width), rounds) {}
};

template <class P>
size_t resize_scratch(const P& p, const KernelSpec& spec) {
  if (spec.in[0].shape.size() == 0 || spec.out[0].shape.size() == 0) return 0;
  const Axes axes(p.interp, spec.in[0], spec.out[0]);
  return TapTable::bytes(axes.rows) + TapTable::bytes(axes.columns);
}

template <class P>
void resize_cuda(const P& p, const KernelArgs& args) {
  const TensorView &in = args.in[0], &out = args.out[0];
  const Pictures from = pictures(in.shape), to = pictures(out.shape);
  check_resizable(from.height, from.width, to.height, to.width);
  const Axes axes(p.interp, in, out);
  std::byte* const memory = args.scratch.data();
  const TapTable rows(axes.rows, memory), columns(axes.columns, memory + TapTable::bytes(axes.rows));
  const cudaStream_t stream = stream_of(args);
  launch_each(stream, to.height, rows);
  launch_each(stream, to.width, columns);
  launch_each(stream, out.size(),
              ResizePixels{Divider(to.channels), Divider(to.width), Divider(to.height), from.height,
                           from.width, rows, columns, AnyArray(in), ImageNumbers(out)});
}

}  // namespace

void kernels_resize_cuda(ops::KernelList& list) {
  list.kernel<resize_cuda<ResizeParams>, resize_scratch<ResizeParams>>("_image_resize", "image_resize_cuda",
                                                                       DeviceType::gpu);
  list.kernel<resize_cuda<CvResizeParams>, resize_scratch<CvResizeParams>>("_cvimresize", "cv_resize_cuda",
                                                                           DeviceType::gpu);
}

}  // namespace loomix::io

// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/arrays.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/cuda/order.h"
#include "ops/cuda/report.h"
#include "ops/cuda/runs.h"
#include "ops/detection/regions_cuda.h"
#include "ops/detection/roi_geometry.h"
#include "ops/families_cuda.h"

// A thread an element of what is made. Gradients are gathered: each element looks for the points near it, so that sums have an order.
namespace loomix::ops {
namespace {

using namespace cuda;

// (outer, channel, row, column) of an element.
struct Planes {
  Divider rows, columns, channels;
  Planes(const Shape& shape) : rows(shape[2]), columns(shape[3]), channels(shape[1]) {}
  struct Place {
    int64_t outer, channel, i, j;
  };
  __device__ Place of(int64_t at) const {
    const int64_t line = columns.quotient(at), plane = rows.quotient(line), outer = channels.quotient(plane);
    return {outer, plane - outer * channels.divisor(), line - plane * rows.divisor(),
            at - line * columns.divisor()};
  }
  __device__ int64_t plane_size() const { return rows.divisor() * columns.divisor(); }
};

// ---- ROIPooling ----------------------------------------------------------------------------------------------------------

template <class T>
__global__ void pool_regions(int64_t count, Planes out, Planes in, Regions<T> regions, float scale,
                             const T* data, T* result, int32_t* indices) {
  using A = Computed<T>;
  for (const int64_t at : own_items(count)) {
    const auto place = out.of(at);
    Most<A> most;
    if (regions.check(place.outer)) {
      const Box<A, WholeAxis<A>> box(regions[place.outer], static_cast<A>(scale), out.rows.divisor(),
                                     out.columns.divisor());
      const Elements<T> plane{data + (box.image * in.channels.divisor() + place.channel) * in.plane_size()};
      most = largest<A>(plane, in.columns.divisor(), box.rows.extent(place.i, in.rows.divisor()),
                        box.columns.extent(place.j, in.columns.divisor()));
    }
    if (result != nullptr) result[at] = store<T>(most.value);
    if (indices != nullptr) indices[at] = static_cast<int32_t>(most.at);
  }
}

void roi_pooling_cuda(const ROIPoolingParams& p, const KernelArgs& args, int64_t* fault) {
  const Shape& out = args.out[0].shape;
  if (out.size() == 0) return;
  dispatch_floating(args.in[0].dtype, "ROIPooling", [&]<class T>(Type<T>) {
    launch(pool_regions<T>, grid_for(out.size()), stream_of(args), out.size(), Planes(out),
           Planes(args.in[0].shape), Regions<T>(args.in[1], args.in[0].shape[0], fault), p.spatial_scale,
           args.in[0].as<T>(), args.wanted<T>(0),
           args.saved[0] ? args.saved[0].mutable_as<int32_t>() : nullptr);
  });
}

// Where each element of the gradient goes; `nowhere`: nowhere.
template <class T>
__global__ void list_maxima(int64_t count, Planes from, Planes to, const T* rois, const int32_t* indices,
                            int64_t images, uint32_t nowhere, uint32_t* keys, uint32_t* values) {
  for (const int64_t at : own_items(count)) {
    const auto place = from.of(at);
    const Computed<T> image = load(rois[place.outer * 5]);
    const bool counts = image >= 0 && image < static_cast<Computed<T>>(images) && indices[at] >= 0;
    keys[at] =
        counts ? static_cast<uint32_t>((static_cast<int64_t>(image) * to.channels.divisor() + place.channel) *
                                           to.plane_size() +
                                       indices[at])
               : nowhere;
    values[at] = static_cast<uint32_t>(at);
  }
}

template <class T>
struct ReadElement {
  const T* data;
  __device__ Computed<T> operator()(int64_t i, int64_t) const { return load(data[i]); }
};
template <class T>
struct WriteElement {
  T* data;
  __device__ void operator()(int64_t i, int64_t, Computed<T> sum) const { data[i] = store<T>(sum); }
};

size_t maxima_scratch(const KernelSpec& spec) { return SortSpace<uint32_t>::bytes(spec.in[0].size()); }
Support maxima_support(const KernelSpec& spec) {
  return spec.in[0].size() < kMostSorted && spec.out[0].size() < kMostSorted
             ? Support::yes()
             : Support::no("it has more elements than are sorted");
}

void roi_pooling_backward_cuda(const ROIPoolingParams&, const KernelArgs& args) {
  const TensorView &grad = args.in[0], &out = args.out[0];
  const cudaStream_t stream = stream_of(args);
  fill(out, 0, stream);
  const int64_t count = grad.size();
  if (count == 0) return;
  const SortSpace<uint32_t> space(args.scratch, count);
  const auto nowhere = static_cast<uint32_t>(out.size());
  dispatch_floating(out.dtype, "ROIPooling", [&]<class T>(Type<T>) {
    launch(list_maxima<T>, grid_for(count), stream, count, Planes(grad.shape), Planes(out.shape),
           args.in[2].as<T>(), args.in[3].as<int32_t>(), out.shape[0], nowhere, space.keys(), space.values());
    space.sort(std::bit_width(nowhere), stream);
    const Runs runs{space.sorted_keys(), space.sorted_values(), count, nowhere, Divider(1)};
    sum_runs<Computed<T>>(runs, ReadElement<T>{grad.as<T>()}, WriteElement<T>{out.mutable_as<T>()}, stream);
  });
}

// ---- ROIAlign and RROIAlign ----------------------------------------------------------------------------------------------

template <class T>
__global__ void align_regions(int64_t count, Planes out, Planes in, Regions<T> regions, PointSizes sizes,
                              bool own_channels, const T* data, T* result) {
  using A = Computed<T>;
  for (const int64_t at : own_items(count)) {
    const auto place = out.of(at);
    A sum = 0, points = 1;
    if (regions.check(place.outer)) {
      const PointGrid<A> grid = grid_of<A>(sizes, regions[place.outer]);
      points = grid.count();
      const int64_t channel =
          own_channels ? place.channel * out.plane_size() + place.i * out.columns.divisor() + place.j
                       : place.channel;
      const Elements<T> plane{data + (grid.image * in.channels.divisor() + channel) * in.plane_size()};
      grid.each_point(place.i, place.j, [&](A x, A y) {
        const Point<A> point(x, y, in.rows.divisor(), in.columns.divisor());
        if (point.inside) sum += point.value(plane);
      });
    }
    result[at] = store<T>(sum / points);
  }
}

bool position_sensitive(const ROIAlignParams& p) { return p.position_sensitive; }
bool position_sensitive(const RROIAlignParams&) { return false; }
template <class P>
constexpr const char* kAlign = std::is_same_v<P, ROIAlignParams> ? "ROIAlign" : "RROIAlign";

template <class P>
void align_cuda(const P& p, const KernelArgs& args, int64_t* fault) {
  const Shape& out = args.out[0].shape;
  dispatch_floating(args.out[0].dtype, kAlign<P>, [&]<class T>(Type<T>) {
    launch(align_regions<T>, grid_for(out.size()), stream_of(args), out.size(), Planes(out),
           Planes(args.in[0].shape), Regions<T>(args.in[1], args.in[0].shape[0], fault), PointSizes(p),
           position_sensitive(p), args.in[0].as<T>(), args.out[0].mutable_as<T>());
  });
}

// The share that a point has in element (y, x) of a plane.
template <class A>
__device__ A share_of(const Point<A>& point, int64_t at) {
  A share = 0;
  for (int k = 0; k < 4; ++k) {
    if (point.at[k] == at) share += point.share[k];
  }
  return share;
}

// What the places of one region give to element (y, x): points further than one element away have no share in it.
template <class T>
struct NearPoints {
  using A = Computed<T>;
  const PointGrid<A>& grid;
  const PointSizes& sizes;
  int64_t height, width, y, x;

  __device__ bool is_beyond() const {
    const A rows = static_cast<A>(sizes.rows) * grid.height,
            columns = static_cast<A>(sizes.columns) * grid.width;
    if (!sizes.turned) return is_far(grid.top, rows, y) || is_far(grid.left, columns, x);
    const A right = static_cast<A>(x) - grid.x, down = static_cast<A>(y) - grid.y;
    return right * right + down * down >
           (rows * rows + columns * columns) / 4 + std::sqrt(rows * rows + columns * columns) * 2 + 4;
  }
  __device__ A share(int64_t i, int64_t j) const {
    A sum = 0;
    for (int64_t r = 0; r < grid.rows; ++r) {
      const A down = grid.down(i, r);
      if (!sizes.turned && is_off(down, y)) continue;
      for (int64_t c = 0; c < grid.columns; ++c) {
        const A across = grid.across(j, c);
        if (!sizes.turned && is_off(across, x)) continue;
        const Point<A> point(grid.x_of(across, down), grid.y_of(across, down), height, width);
        if (point.inside) sum += share_of(point, y * width + x);
      }
    }
    return sum;
  }
  // Whether part i of the rows, or columns, may reach the element.
  __device__ bool may_reach(A first, A part, int64_t i, int64_t at) const {
    return sizes.turned || !is_far(first + static_cast<A>(i) * part, part, at);
  }

 private:
  static __device__ bool is_off(A place, int64_t at) { return std::abs(place - static_cast<A>(at)) > 1; }
  static __device__ bool is_far(A from, A size, int64_t at) {
    const A low = size < 0 ? from + size : from, high = size < 0 ? from : from + size;
    return static_cast<A>(at) < low - 1 || static_cast<A>(at) > high + 1;
  }
};

template <class T>
__global__ void give_back_points(int64_t count, Planes out, int64_t channels, Regions<T> regions,
                                 PointSizes sizes, bool own_channels, const T* grad, T* result) {
  using A = Computed<T>;
  const int64_t places = sizes.rows * sizes.columns;
  for (const int64_t at : own_items(count)) {
    const auto element = out.of(at);
    A sum = 0;
    for (int64_t roi = 0; roi < regions.count; ++roi) {
      if (!regions.check(roi)) continue;
      const PointGrid<A> grid = grid_of<A>(sizes, regions[roi]);
      if (grid.image != element.outer) continue;
      const NearPoints<T> near{grid, sizes, out.rows.divisor(), out.columns.divisor(), element.i, element.j};
      if (near.is_beyond()) continue;
      const auto add_place = [&](int64_t place, int64_t channel) {
        const A head = load(grad[(roi * channels + channel) * places + place]) / grid.count();
        sum += head * near.share(place / sizes.columns, place % sizes.columns);
      };
      if (own_channels) {
        add_place(element.channel % places, element.channel / places);
        continue;
      }
      for (int64_t i = 0; i < sizes.rows; ++i) {
        if (!near.may_reach(grid.top, grid.height, i, element.i)) continue;
        for (int64_t j = 0; j < sizes.columns; ++j) {
          if (near.may_reach(grid.left, grid.width, j, element.j))
            add_place(i * sizes.columns + j, element.channel);
        }
      }
    }
    result[at] = store<T>(sum);
  }
}

template <class P>
void align_backward_cuda(const P& p, const KernelArgs& args, int64_t* fault) {
  const TensorView& out = args.out[0];
  dispatch_floating(out.dtype, kAlign<P>, [&]<class T>(Type<T>) {
    launch(give_back_points<T>, grid_for(out.size()), stream_of(args), out.size(), Planes(out.shape),
           args.in[0].shape[1], Regions<T>(args.in[2], out.shape[0], fault), PointSizes(p),
           position_sensitive(p), args.in[0].as<T>(), out.mutable_as<T>());
  });
}

// ---- PSROIPooling --------------------------------------------------------------------------------------------------------

constexpr __host__ __device__ int64_t extent_size(const Covered& extent) {
  return extent.end > extent.begin ? extent.end - extent.begin : 0;
}

template <class T>
__global__ void pool_groups(int64_t count, Planes out, Planes in, Regions<T> regions, float scale,
                            int64_t groups, const T* data, T* result) {
  using A = Computed<T>;
  for (const int64_t at : own_items(count)) {
    const auto place = out.of(at);
    A sum = 0;
    int64_t elements = 1;
    if (regions.check(place.outer)) {
      const Box<A, ScaledAxis<A>> box(regions[place.outer], static_cast<A>(scale), out.rows.divisor(),
                                      out.columns.divisor());
      const Covered rows = box.rows.extent(place.i, in.rows.divisor());
      const Covered columns = box.columns.extent(place.j, in.columns.divisor());
      const int64_t channel = group_channel(groups, out.rows.divisor(), place.channel, place.i, place.j);
      const T* const plane = data + (box.image * in.channels.divisor() + channel) * in.plane_size();
      for (int64_t y = rows.begin; y < rows.end; ++y) {
        for (int64_t x = columns.begin; x < columns.end; ++x)
          sum += load(plane[y * in.columns.divisor() + x]);
      }
      elements = extent_size(rows) * extent_size(columns);
    }
    result[at] = store<T>(sum / static_cast<A>(elements > 1 ? elements : 1));
  }
}

void psroi_pooling_cuda(const PSROIPoolingParams& p, const KernelArgs& args, int64_t* fault) {
  const Shape& out = args.out[0].shape;
  dispatch_floating(args.in[0].dtype, "PSROIPooling", [&]<class T>(Type<T>) {
    launch(pool_groups<T>, grid_for(out.size()), stream_of(args), out.size(), Planes(out),
           Planes(args.in[0].shape), Regions<T>(args.in[1], args.in[0].shape[0], fault), p.spatial_scale,
           int64_t{p.groups()}, args.in[0].as<T>(), args.out[0].mutable_as<T>());
  });
}

template <class T>
__global__ void give_back_groups(int64_t count, Planes out, int64_t channels, int64_t parts,
                                 Regions<T> regions, float scale, int64_t groups, const T* grad, T* result) {
  using A = Computed<T>;
  for (const int64_t at : own_items(count)) {
    const auto element = out.of(at);
    const int64_t of = element.channel / (groups * groups);
    const int64_t group_i = element.channel / groups % groups, group_j = element.channel % groups;
    A sum = 0;
    for (int64_t roi = 0; roi < regions.count; ++roi) {
      if (!regions.check(roi)) continue;
      const Box<A, ScaledAxis<A>> box(regions[roi], static_cast<A>(scale), parts, parts);
      if (box.image != element.outer) continue;
      for (int64_t i = (group_i * parts + groups - 1) / groups; i < parts && i * groups / parts == group_i;
           ++i) {
        const Covered rows = box.rows.extent(i, out.rows.divisor());
        if (element.i < rows.begin || element.i >= rows.end) continue;
        for (int64_t j = (group_j * parts + groups - 1) / groups; j < parts && j * groups / parts == group_j;
             ++j) {
          const Covered columns = box.columns.extent(j, out.columns.divisor());
          if (element.j < columns.begin || element.j >= columns.end) continue;
          sum += load(grad[((roi * channels + of) * parts + i) * parts + j]) /
                 static_cast<A>(extent_size(rows) * extent_size(columns));
        }
      }
    }
    result[at] = store<T>(sum);
  }
}

void psroi_pooling_backward_cuda(const PSROIPoolingParams& p, const KernelArgs& args, int64_t* fault) {
  const TensorView& out = args.out[0];
  dispatch_floating(out.dtype, "PSROIPooling", [&]<class T>(Type<T>) {
    launch(give_back_groups<T>, grid_for(out.size()), stream_of(args), out.size(), Planes(out.shape),
           args.in[0].shape[1], int64_t{p.pooled_size}, Regions<T>(args.in[2], out.shape[0], fault),
           p.spatial_scale, int64_t{p.groups()}, args.in[0].as<T>(), out.mutable_as<T>());
  });
}

void explain_roi_pooling(const KernelArgs& args) { explain_regions(args, 0, "ROIPooling"); }
template <class P>
void explain_align(const KernelArgs& args) {
  explain_regions(args, 0, kAlign<P>);
}
template <class P>
void explain_align_backward(const KernelArgs& args) {
  explain_regions(args, 1, kAlign<P>);
}
void explain_psroi(const KernelArgs& args) { explain_regions(args, 0, "PSROIPooling"); }
void explain_psroi_backward(const KernelArgs& args) { explain_regions(args, 1, "PSROIPooling"); }

template <class P>
void add_align(KernelList& list, const std::string& op) {
  add_checked<align_cuda<P>, explain_align<P>>(list, op, "roi_align_cuda");
  add_checked<align_backward_cuda<P>, explain_align_backward<P>>(list, "_backward_" + op,
                                                                 "roi_align_backward_cuda");
}

}  // namespace

void kernels_roi_cuda(KernelList& list) {
  add_checked<roi_pooling_cuda, explain_roi_pooling>(list, "ROIPooling", "roi_pooling_cuda");
  list.kernel<roi_pooling_backward_cuda, maxima_support, maxima_scratch>(
      "_backward_ROIPooling", "roi_pooling_backward_cuda", DeviceType::gpu);
  add_align<ROIAlignParams>(list, "_contrib_ROIAlign");
  add_align<RROIAlignParams>(list, "_contrib_RROIAlign");
  add_checked<psroi_pooling_cuda, explain_psroi>(list, "_contrib_PSROIPooling", "psroi_pooling_cuda");
  add_checked<psroi_pooling_backward_cuda, explain_psroi_backward>(list, "_backward__contrib_PSROIPooling",
                                                                   "psroi_pooling_backward_cuda");
}

}  // namespace loomix::ops

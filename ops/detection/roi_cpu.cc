// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/detection/roi.h"
#include "ops/detection/roi_geometry.h"
#include "ops/plane_sums.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kChannels = 64;  // that share points, or parts of a box
constexpr int64_t kPoints = 256;   // of a batch, which stays in the first cache
constexpr int64_t kParts = 32;     // of a box along one axis whose extents are found at once

// Points of some places, in order: found once, read by each channel. Those outside of the image are left out.
template <class A>
class PointBatch {
 public:
  // A place's points, or the part of them that this batch has.
  struct Run {
    int64_t place, end;
    bool last;  // of the place
  };

  explicit PointBatch(int64_t width) : next_(width > 1 ? 1 : 0) {}
  bool full() const { return count_ == kPoints || runs_ == kPoints; }
  // Beyond the last column both columns are the same one: then the left one moves, so that pairs can be read at once.
  void add(const Point<A>& point) {
    const bool beyond = next_ == 1 && point.at[0] == point.at[1];
    Corners& corners = points_[count_++];
    corners.top = point.at[0] - beyond;
    corners.bottom = point.at[2] - beyond;
    for (int i = 0; i < 4; ++i) corners.share[i] = point.share[beyond ? i ^ 1 : i];
  }
  void close(int64_t place, bool last) { run_[runs_++] = {place, count_, last}; }
  void clear() { count_ = runs_ = 0; }

  // Calls fn(run, sum of the run's points) for a channel, whose plane of a place starts at plane + place * step.
  template <class T, class Fn>
  void each_sum(const T* plane, int64_t step, Fn&& fn) const {
    next_ == 1 ? sums<1>(plane, step, fn) : sums<0>(plane, step, fn);
  }

 private:
  struct Corners {
    int64_t top, bottom;  // the left ones
    A share[4];
  };

  template <int next, class T, class Fn>
  void sums(const T* plane, int64_t step, Fn&& fn) const {
    int64_t k = 0;
    for (int64_t i = 0; i < runs_; ++i) {
      const Run& run = run_[i];
      const T* const from = plane + run.place * step;
      A lanes[4] = {};
      for (; k < run.end; ++k) {
        const Corners& corners = points_[k];
        const T* const top = from + corners.top;
        const T* const bottom = from + corners.bottom;
        const A values[4] = {static_cast<A>(top[0]), static_cast<A>(top[next]), static_cast<A>(bottom[0]),
                             static_cast<A>(bottom[next])};
#pragma omp simd
        for (int j = 0; j < 4; ++j) lanes[j] += corners.share[j] * values[j];
      }
      fn(run, (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
    }
  }

  int64_t next_;  // from a column to the right one
  int64_t count_ = 0, runs_ = 0;
  Corners points_[kPoints];
  Run run_[kPoints];
};

bool position_sensitive(const ROIAlignParams& p) { return p.position_sensitive; }
bool position_sensitive(const RROIAlignParams&) { return false; }
template <class P>
constexpr const char* kAlign = std::is_same_v<P, ROIAlignParams> ? "ROIAlign" : "RROIAlign";

// Units of work: some channels of a region.
template <class P>
void align_cpu(const P& p, const KernelArgs& args) {
  const Shape& in = args.in[0].shape;
  const Shape& out = args.out[0].shape;
  check_rois(args.in[1], in[0], kAlign<P>);
  const int64_t places = out[2] * out[3], size = in[2] * in[3], numbers = args.in[1].shape[1];
  const int64_t blocks = (out[1] + kChannels - 1) / kChannels;
  const bool own_channels = position_sensitive(p);
  dispatch_floating(args.out[0].dtype, kAlign<P>, [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* const data = args.in[0].as<T>();
    const T* const rois = args.in[1].as<T>();
    T* const result = args.out[0].mutable_as<T>();
    engine::parallel_each(*args.context, out[0] * blocks, 1, [&](int64_t unit) {
      const int64_t roi = unit / blocks, first = unit % blocks * kChannels;
      const int64_t channels = std::min(kChannels, out[1] - first);
      const PointGrid<A> grid = grid_of<A>(PointSizes(p), rois + roi * numbers);
      const T* const image = data + std::max<int64_t>(grid.image, 0) * in[1] * size;
      const int64_t step = own_channels ? places * size : size;
      T* const to = result + (roi * out[1] + first) * places;
      A begun[kChannels] = {};  // sums of a place that the next batch goes on with
      PointBatch<A> batch(in[3]);
      const auto flush = [&] {
        for (int64_t c = 0; c < channels; ++c) {
          batch.each_sum(image + (first + c) * step, own_channels ? size : 0,
                         [&](const typename PointBatch<A>::Run& run, A sum) {
                           sum += begun[c];
                           begun[c] = run.last ? A{0} : sum;
                           if (run.last) to[c * places + run.place] = static_cast<T>(sum / grid.count());
                         });
        }
        batch.clear();
      };
      for (int64_t place = 0; place < places; ++place) {
        grid.each_point(place / out[3], place % out[3], [&](A x, A y) {
          const Point<A> point(x, y, in[2], in[3]);
          if (!point.inside) return;
          if (batch.full()) {
            batch.close(place, false);
            flush();
          }
          batch.add(point);
        });
        batch.close(place, true);
        if (batch.full()) flush();
      }
      flush();
    });
  });
}

// The data's gradient by planes: fn(grad, rois, plane, sums) adds to one. Each is the work of one thread, which adds what the
// regions give in order.
template <class Fn>
void sum_planes(const KernelArgs& args, const char* who, Fn&& fn) {
  const Shape& out = args.out[0].shape;
  const int64_t size = out[2] * out[3];
  dispatch_floating(args.out[0].dtype, who, [&]<class T>(Type<T>) {
    T* const result = args.out[0].mutable_as<T>();
    ScratchSlots slots = plane_slots<T>(args.scratch, size);
    engine::parallel_each(*args.context, out[0] * out[1], 1, [&](int64_t plane) {
      fill_plane(slots, result + plane * size, size,
                 [&](Accum<T>* sums) { fn(args.in[0].as<T>(), args.in[2].as<T>(), plane, sums); });
    });
  });
}

template <class P>
void align_backward_cpu(const P& p, const KernelArgs& args) {
  const Shape& from = args.in[0].shape;  // of the gradient
  const Shape& out = args.out[0].shape;
  check_rois(args.in[2], out[0], kAlign<P>);
  const int64_t places = from[2] * from[3], numbers = args.in[2].shape[1];
  sum_planes(args, kAlign<P>, [&]<class T, class A>(const T* grad, const T* rois, int64_t plane, A* sums) {
    const int64_t image = plane / out[1], channel = plane % out[1];
    for (int64_t roi = 0; roi < from[0]; ++roi) {
      const PointGrid<A> grid = grid_of<A>(PointSizes(p), rois + roi * numbers);
      if (grid.image != image) continue;
      const auto add_place = [&](int64_t place, int64_t of_channel) {
        const A share = static_cast<A>(grad[(roi * from[1] + of_channel) * places + place]) / grid.count();
        grid.each_point(place / from[3], place % from[3],
                        [&](A x, A y) { Point<A>(x, y, out[2], out[3]).add(share, sums); });
      };
      if (position_sensitive(p)) {
        add_place(channel % places, channel / places);
      } else {
        for (int64_t place = 0; place < places; ++place) add_place(place, channel);
      }
    }
  });
}

size_t plane_scratch(const KernelSpec& spec) {
  return plane_sums_bytes(spec, spec.out[0].dtype, spec.out[0].shape[2] * spec.out[0].shape[3]);
}

// Extents of up to kParts x kParts places of a box, which all channels share.
struct PartBlock {
  int64_t first_row, first_column, row_count, column_count, columns_of_all;
  Covered rows[kParts], columns[kParts];

  // Calls fn(place, rows, columns) for each place.
  template <class Fn>
  void each(Fn&& fn) const {
    for (int64_t i = 0; i < row_count; ++i) {
      const int64_t place = (first_row + i) * columns_of_all + first_column;
      for (int64_t j = 0; j < column_count; ++j) fn(place + j, rows[i], columns[j]);
    }
  }
};

// Calls fn for each block; the box of a region without image covers nothing.
template <class B, class Fn>
void each_part_block(const B& box, const Shape& out, const Shape& in, Fn&& fn) {
  PartBlock block;
  block.columns_of_all = out[3];
  for (int64_t i = 0; i < out[2]; i += kParts) {
    block.first_row = i;
    block.row_count = std::min(kParts, out[2] - i);
    for (int64_t k = 0; k < block.row_count; ++k)
      block.rows[k] = box.image < 0 ? Covered{0, 0} : box.rows.extent(i + k, in[2]);
    for (int64_t j = 0; j < out[3]; j += kParts) {
      block.first_column = j;
      block.column_count = std::min(kParts, out[3] - j);
      for (int64_t k = 0; k < block.column_count; ++k) block.columns[k] = box.columns.extent(j + k, in[3]);
      fn(block);
    }
  }
}

void roi_pooling_cpu(const ROIPoolingParams& p, const KernelArgs& args) {
  const Shape& in = args.in[0].shape;
  const Shape& out = args.out[0].shape;
  if (out.size() == 0) return;
  check_rois(args.in[1], in[0], "ROIPooling");
  const int64_t size = in[2] * in[3];
  int32_t* const indices = args.saved[0] ? args.saved[0].mutable_as<int32_t>() : nullptr;
  dispatch_floating(args.in[0].dtype, "ROIPooling", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* const data = args.in[0].as<T>();
    const T* const rois = args.in[1].as<T>();
    T* const result = args.wanted<T>(0);
    const int64_t blocks = (out[1] + kChannels - 1) / kChannels;
    engine::parallel_each(*args.context, out[0] * blocks, 1, [&](int64_t unit) {
      const int64_t roi = unit / blocks, first = unit % blocks * kChannels;
      const int64_t channels = std::min(kChannels, out[1] - first);
      const Box<A, WholeAxis<A>> box(rois + roi * 5, static_cast<A>(p.spatial_scale), out[2], out[3]);
      const T* const planes = data + (std::max<int64_t>(box.image, 0) * in[1] + first) * size;
      each_part_block(box, out, in, [&](const PartBlock& parts) {
        for (int64_t c = 0; c < channels; ++c) {
          parts.each([&](int64_t place, const Covered& rows, const Covered& columns) {
            const Most<A> most = largest<A>(planes + c * size, in[3], rows, columns);
            const int64_t to = (roi * out[1] + first + c) * out[2] * out[3] + place;
            if (result) result[to] = static_cast<T>(most.value);
            if (indices) indices[to] = static_cast<int32_t>(most.at);
          });
        }
      });
    });
  });
}

void roi_pooling_backward_cpu(const ROIPoolingParams&, const KernelArgs& args) {
  const Shape& from = args.in[0].shape;
  const int64_t places = from[2] * from[3], channels = args.out[0].shape[1];
  const int32_t* const indices = args.in[3].as<int32_t>();
  sum_planes(args, "ROIPooling", [&]<class T, class A>(const T* grad, const T* rois, int64_t plane, A* sums) {
    for (int64_t roi = 0; roi < from[0]; ++roi) {
      const A image = static_cast<A>(rois[roi * 5]);
      if (image < 0 || static_cast<int64_t>(image) != plane / channels) continue;
      const int64_t first = (roi * from[1] + plane % channels) * places;
      for (int64_t i = first; i < first + places; ++i) {
        if (indices[i] >= 0) sums[indices[i]] += static_cast<A>(grad[i]);
      }
    }
  });
}

void psroi_pooling_cpu(const PSROIPoolingParams& p, const KernelArgs& args) {
  const Shape& in = args.in[0].shape;
  const Shape& out = args.out[0].shape;
  check_rois(args.in[1], in[0], "PSROIPooling");
  dispatch_floating(args.in[0].dtype, "PSROIPooling", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* const data = args.in[0].as<T>();
    const T* const rois = args.in[1].as<T>();
    T* const result = args.out[0].mutable_as<T>();
    engine::parallel_each(*args.context, out[0] * out[1], 1, [&](int64_t unit) {
      const Box<A, ScaledAxis<A>> box(rois + unit / out[1] * 5, static_cast<A>(p.spatial_scale), out[2],
                                      out[3]);
      for (int64_t place = 0; place < out[2] * out[3]; ++place) {
        const int64_t i = place / out[3], j = place % out[3];
        const Covered rows = box.rows.extent(i, in[2]), columns = box.columns.extent(j, in[3]);
        const T* const plane = data + (std::max<int64_t>(box.image, 0) * in[1] +
                                       group_channel(p.groups(), p.pooled_size, unit % out[1], i, j)) *
                                          in[2] * in[3];
        A sum = 0;
        for (int64_t y = rows.begin; box.image >= 0 && y < rows.end; ++y) {
          for (int64_t x = columns.begin; x < columns.end; ++x) sum += static_cast<A>(plane[y * in[3] + x]);
        }
        const int64_t count =
            std::max<int64_t>(rows.end - rows.begin, 0) * std::max<int64_t>(columns.end - columns.begin, 0);
        result[unit * out[2] * out[3] + place] =
            static_cast<T>(sum / static_cast<A>(std::max<int64_t>(count, 1)));
      }
    });
  });
}

void psroi_pooling_backward_cpu(const PSROIPoolingParams& p, const KernelArgs& args) {
  const Shape& from = args.in[0].shape;
  const Shape& out = args.out[0].shape;
  check_rois(args.in[2], out[0], "PSROIPooling");
  const int64_t groups = p.groups();
  sum_planes(
      args, "PSROIPooling", [&]<class T, class A>(const T* grad, const T* rois, int64_t plane, A* sums) {
        const int64_t channel = plane % out[1], of = channel / (groups * groups);
        for (int64_t unit = 0; unit < from[0] * from[2] * from[3]; ++unit) {
          const int64_t roi = unit / (from[2] * from[3]), place = unit % (from[2] * from[3]);
          const int64_t i = place / from[3], j = place % from[3];
          if (group_channel(p.groups(), p.pooled_size, of, i, j) != channel) continue;
          const Box<A, ScaledAxis<A>> box(rois + roi * 5, static_cast<A>(p.spatial_scale), from[2], from[3]);
          if (box.image != plane / out[1]) continue;
          const Covered rows = box.rows.extent(i, out[2]), columns = box.columns.extent(j, out[3]);
          const int64_t count = (rows.end - rows.begin) * (columns.end - columns.begin);
          const A share = static_cast<A>(grad[(roi * from[1] + of) * from[2] * from[3] + place]) /
                          static_cast<A>(std::max<int64_t>(count, 1));
          for (int64_t y = rows.begin; y < rows.end; ++y) {
            for (int64_t x = columns.begin; x < columns.end; ++x) sums[y * out[3] + x] += share;
          }
        }
      });
}

}  // namespace

void kernels_roi(OpTable& table) {
  table.kernel<roi_pooling_cpu>("ROIPooling", "roi_pooling_cpu");
  table.kernel<align_cpu<ROIAlignParams>>("_contrib_ROIAlign", "roi_align_cpu");
  table.kernel<align_cpu<RROIAlignParams>>("_contrib_RROIAlign", "rroi_align_cpu");
  table.kernel<psroi_pooling_cpu>("_contrib_PSROIPooling", "psroi_pooling_cpu");
}

void gradients_roi(OpTable& table) {
  table.kernel<roi_pooling_backward_cpu, plane_scratch>("_backward_ROIPooling", "roi_pooling_backward_cpu");
  table.kernel<align_backward_cpu<ROIAlignParams>, plane_scratch>("_backward__contrib_ROIAlign",
                                                                  "roi_align_backward_cpu");
  table.kernel<align_backward_cpu<RROIAlignParams>, plane_scratch>("_backward__contrib_RROIAlign",
                                                                   "rroi_align_backward_cpu");
  table.kernel<psroi_pooling_backward_cpu, plane_scratch>("_backward__contrib_PSROIPooling",
                                                          "psroi_pooling_backward_cpu");
}

}  // namespace loomix::ops

// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/error.h"
#include "engine/parallel_for.h"
#include "ops/detection/box.h"
#include "ops/plane_sums.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kBoxes = 256;  // whose corners lie apart, so that the loop over them vectorises

int64_t last(const Shape& shape) { return shape[shape.ndim() - 1]; }

template <class T, class A>
void put_box(const Corners4<A>& box, BoxFormat format, T* to) {
  const Centred<A> c(box);
  const bool corner = format == BoxFormat::corner;
  to[0] = static_cast<T>(corner ? box.left : c.x);
  to[1] = static_cast<T>(corner ? box.top : c.y);
  to[2] = static_cast<T>(corner ? box.right : c.width);
  to[3] = static_cast<T>(corner ? box.bottom : c.height);
}

// Of one list of boxes: the numbers of those that are kept, the best first; returns how many.
template <class T>
int64_t suppress(const BoxNmsParams& p, const T* boxes, int64_t count, int64_t numbers, int32_t* order) {
  using A = Accum<T>;
  const auto number = [&](int64_t box, int index) { return static_cast<A>(boxes[box * numbers + index]); };
  int64_t valid = 0;
  for (int64_t i = 0; i < count; ++i) {
    const bool background = p.id_index >= 0 && number(i, p.id_index) == static_cast<A>(p.background_id);
    if (number(i, p.score_index) > static_cast<A>(p.valid_thresh) && !background)
      order[valid++] = static_cast<int32_t>(i);
  }
  std::sort(order, order + valid, [&](int32_t a, int32_t b) {
    const A x = number(a, p.score_index), y = number(b, p.score_index);
    return x > y || (x == y && a < b);
  });
  if (p.topk >= 0) valid = std::min<int64_t>(valid, p.topk);
  const auto corners = [&](int64_t box) {
    return Corners4<A>::of(boxes + box * numbers + p.coord_start, p.in_format);
  };
  const bool all_classes = p.force_suppress || p.id_index < 0;
  int64_t kept = 0;
  for (int64_t i = 0; i < valid; ++i) {
    const Corners4<A> box = corners(order[i]);
    bool covered = false;
    for (int64_t j = 0; j < kept && !covered; ++j) {
      if (!all_classes && number(order[i], p.id_index) != number(order[j], p.id_index)) continue;
      covered = overlap(corners(order[j]), box) > static_cast<A>(p.overlap_thresh);
    }
    if (!covered) order[kept++] = order[i];
  }
  return kept;
}

}  // namespace

void box_iou_cpu(const BoxIouParams& p, const KernelArgs& args) {
  const int64_t rows = args.in[0].size() / 4, columns = args.in[1].size() / 4;
  dispatch_floating(args.out[0].dtype, "box_iou", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* const lhs = args.in[0].as<T>();
    const T* const rhs = args.in[1].as<T>();
    T* const out = args.out[0].mutable_as<T>();
    const int64_t grain = 4096 / std::max<int64_t>(1, columns);
    engine::parallel_for(*args.context, rows, grain, [&](int64_t begin, int64_t end) {
      A left[kBoxes], top[kBoxes], right[kBoxes], bottom[kBoxes], area[kBoxes];
      for (int64_t first = 0; first < columns; first += kBoxes) {
        const int64_t count = std::min(kBoxes, columns - first);
        for (int64_t i = 0; i < count; ++i) {
          const auto other = Corners4<A>::of(rhs + (first + i) * 4, p.format);
          left[i] = other.left, top[i] = other.top, right[i] = other.right, bottom[i] = other.bottom;
          area[i] = other.area();
        }
        for (int64_t row = begin; row < end; ++row) {
          const auto box = Corners4<A>::of(lhs + row * 4, p.format);
          const A own = box.area();
          T* const to = out + row * columns + first;
#pragma omp simd
          for (int64_t i = 0; i < count; ++i) {  // overlap(), without branches
            const A width =
                (box.right < right[i] ? box.right : right[i]) - (box.left > left[i] ? box.left : left[i]);
            const A height =
                (box.bottom < bottom[i] ? box.bottom : bottom[i]) - (box.top > top[i] ? box.top : top[i]);
            const A both = width * height, all = own + area[i] - both;
            const bool meet = (width > 0) & (height > 0) & (all > 0);
            to[i] = static_cast<T>((meet ? both : A{0}) / (meet ? all : A{1}));
          }
        }
      }
    });
  });
}

size_t box_nms_scratch(const KernelSpec& spec) {
  const Shape& data = spec.in[0].shape;
  return slots_bytes(spec, data[data.ndim() - 2], sizeof(int32_t));
}

void box_nms_cpu(const BoxNmsParams& p, const KernelArgs& args) {
  const Shape& data = args.in[0].shape;
  if (data.size() == 0) return;
  const int64_t numbers = last(data), count = data[data.ndim() - 2], lists = data.size() / (count * numbers);
  int32_t* const index = args.saved[0] ? args.saved[0].mutable_as<int32_t>() : nullptr;
  dispatch_floating(args.in[0].dtype, "box_nms", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* const from = args.in[0].as<T>();
    T* const out = args.wanted<T>(0);
    ScratchSlots slots = slots_of(args.scratch, count, sizeof(int32_t));
    engine::parallel_for(*args.context, lists, 1, [&](int64_t begin, int64_t end) {
      const ScratchSlots::Use slot(slots);
      int32_t* const order = slot.template as<int32_t>();
      for (int64_t list = begin; list < end; ++list) {
        const T* const boxes = from + list * count * numbers;
        const int64_t kept = suppress(p, boxes, count, numbers, order);
        for (int64_t i = 0; index && i < count; ++i) index[list * count + i] = i < kept ? order[i] : -1;
        for (int64_t i = 0; out && i < count; ++i) {
          T* const to = out + (list * count + i) * numbers;
          if (i >= kept) {
            std::fill_n(to, numbers, static_cast<T>(A{-1}));
            continue;
          }
          std::copy_n(boxes + order[i] * numbers, numbers, to);
          if (p.in_format != p.out_format)
            put_box(Corners4<A>::of(to + p.coord_start, p.in_format), p.out_format, to + p.coord_start);
        }
      }
    });
  });
}

void box_nms_backward_cpu(const BoxNmsParams& p, const KernelArgs& args) {
  const Shape& shape = args.out[0].shape;
  const int64_t numbers = last(shape), count = shape[shape.ndim() - 2],
                lists = shape.size() / (count * numbers);
  const int32_t* const index = args.in[1].as<int32_t>();
  dispatch_floating(args.out[0].dtype, "box_nms", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* const grad = args.in[0].as<T>();
    T* const out = args.out[0].mutable_as<T>();
    std::fill_n(out, shape.size(), static_cast<T>(A{0}));
    engine::parallel_for(*args.context, lists, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin * count; row < end * count; ++row) {
        if (index[row] < 0) continue;
        const T* const from = grad + row * numbers;
        T* const to = out + (row / count * count + index[row]) * numbers;
        std::copy_n(from, numbers, to);
        if (p.in_format == p.out_format) continue;
        for (int axis = p.coord_start; axis < p.coord_start + 2; ++axis) {  // of the change of format
          const A a = static_cast<A>(from[axis]), b = static_cast<A>(from[axis + 2]);
          const bool to_center = p.out_format == BoxFormat::center;
          to[axis] = static_cast<T>(to_center ? a / 2 - b : a + b);
          to[axis + 2] = static_cast<T>(to_center ? a / 2 + b : (b - a) / 2);
        }
      }
    });
  });
}

void check_matches(const TensorView& samples, const TensorView& matches, int64_t refs) {
  dispatch_floating(samples.dtype, "box_encode", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    for (int64_t i = 0; i < samples.size(); ++i) {
      const A match = static_cast<A>(matches.as<T>()[i]);
      const bool counts = static_cast<A>(samples.as<T>()[i]) > A(0.5);
      LOOMIX_CHECK(!counts || (match >= 0 && match < static_cast<A>(refs)), IndexError,
                   "[box_encode] anchor {} is matched with box {}; there are {}.", i,
                   static_cast<double>(match), refs);
    }
  });
}

void box_encode_cpu(const BoxEncodeParams&, const KernelArgs& args) {
  const Shape& shape = args.out[0].shape;
  if (shape.size() == 0) return;
  const int64_t anchors = shape[1], refs = args.in[3].shape[1];
  check_matches(args.in[0], args.in[1], refs);
  dispatch_floating(args.out[0].dtype, "box_encode", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* const samples = args.in[0].as<T>();
    const T* const matches = args.in[1].as<T>();
    const T* const means = args.in[4].as<T>();
    const T* const stds = args.in[5].as<T>();
    T* const out = args.wanted<T>(0);
    T* const mask = args.wanted<T>(1);
    const auto counts = [&](int64_t i) { return static_cast<A>(samples[i]) > A(0.5); };
    engine::parallel_for(*args.context, shape[0] * anchors, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        A values[4] = {};
        if (counts(i)) {
          const int64_t ref = i / anchors * refs + static_cast<int64_t>(static_cast<A>(matches[i]));
          const Centred<A> box(Corners4<A>::of(args.in[3].as<T>() + ref * 4, BoxFormat::corner));
          const int64_t at = args.in[2].shape[0] == 1 ? i % anchors : i;
          const Centred<A> anchor(Corners4<A>::of(args.in[2].as<T>() + at * 4, BoxFormat::corner));
          values[0] = (box.x - anchor.x) / anchor.width;
          values[1] = (box.y - anchor.y) / anchor.height;
          values[2] = std::log(box.width / anchor.width);
          values[3] = std::log(box.height / anchor.height);
          for (int k = 0; k < 4; ++k)
            values[k] = (values[k] - static_cast<A>(means[k])) / static_cast<A>(stds[k]);
        }
        for (int k = 0; k < 4; ++k) {
          if (out) out[i * 4 + k] = static_cast<T>(values[k]);
          if (mask) mask[i * 4 + k] = static_cast<T>(counts(i) ? A{1} : A{0});
        }
      }
    });
  });
}

void box_decode_cpu(const BoxDecodeParams& p, const KernelArgs& args) {
  const Shape& shape = args.out[0].shape;
  dispatch_floating(args.out[0].dtype, "box_decode", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* const data = args.in[0].as<T>();
    const T* const anchors = args.in[1].as<T>();
    T* const out = args.out[0].mutable_as<T>();
    const auto size = [&](T value, float factor) {
      const A exponent = static_cast<A>(value) * static_cast<A>(factor);
      return std::exp(p.clip > 0 ? std::min(exponent, static_cast<A>(p.clip)) : exponent);
    };
    engine::parallel_for(*args.context, shape[0] * shape[1], 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Centred<A> anchor(Corners4<A>::of(anchors + i % shape[1] * 4, p.format));
        const T* const from = data + i * 4;
        const A x = static_cast<A>(from[0]) * static_cast<A>(p.std0) * anchor.width + anchor.x;
        const A y = static_cast<A>(from[1]) * static_cast<A>(p.std1) * anchor.height + anchor.y;
        const A width = size(from[2], p.std2) * anchor.width / 2,
                height = size(from[3], p.std3) * anchor.height / 2;
        put_box(Corners4<A>{x - width, y - height, x + width, y + height}, BoxFormat::corner, out + i * 4);
      }
    });
  });
}

size_t bipartite_matching_scratch(const KernelSpec& spec) {
  const Shape& data = spec.in[0].shape;
  return slots_bytes(spec, data[data.ndim() - 2] * last(data), sizeof(int64_t));
}

void bipartite_matching_cpu(const BipartiteMatchingParams& p, const KernelArgs& args) {
  const Shape& data = args.in[0].shape;
  const int64_t rows = data[data.ndim() - 2], columns = last(data), size = rows * columns;
  const int64_t lists = data.size_between(0, data.ndim() - 2);
  dispatch_floating(args.in[0].dtype, "bipartite_matching", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    T* const to_rows = args.out[0].mutable_as<T>();
    T* const to_columns = args.out[1].mutable_as<T>();
    std::fill_n(to_rows, lists * rows, static_cast<T>(A{-1}));
    std::fill_n(to_columns, lists * columns, static_cast<T>(A{-1}));
    ScratchSlots slots = slots_of(args.scratch, size, sizeof(int64_t));
    engine::parallel_for(*args.context, lists, 1, [&](int64_t begin, int64_t end) {
      const ScratchSlots::Use slot(slots);
      int64_t* const order = slot.template as<int64_t>();
      for (int64_t list = begin; list < end; ++list) {
        const T* const scores = args.in[0].as<T>() + list * size;
        const auto better = [&](A a, A b) { return p.is_ascend ? a < b : a > b; };
        int64_t count = 0;  // of those that can be matched at all
        for (int64_t i = 0; i < size; ++i) {
          if (better(static_cast<A>(scores[i]), static_cast<A>(p.threshold))) order[count++] = i;
        }
        std::sort(order, order + count, [&](int64_t a, int64_t b) {
          const A x = static_cast<A>(scores[a]), y = static_cast<A>(scores[b]);
          return better(x, y) || (x == y && a < b);
        });
        int64_t matches = 0;
        for (int64_t i = 0; i < count && (p.topk < 0 || matches < p.topk); ++i) {
          T& row = to_rows[list * rows + order[i] / columns];
          T& column = to_columns[list * columns + order[i] % columns];
          if (static_cast<A>(row) >= 0 || static_cast<A>(column) >= 0) continue;
          row = static_cast<T>(static_cast<A>(order[i] % columns));
          column = static_cast<T>(static_cast<A>(order[i] / columns));
          ++matches;
        }
      }
    });
  });
}

void kernels_box(OpTable& table) {
  table.kernel<box_iou_cpu>("_contrib_box_iou", "box_iou_cpu");
  table.kernel<box_nms_cpu, box_nms_scratch>("_contrib_box_nms", "box_nms_cpu");
  table.kernel<box_encode_cpu>("_contrib_box_encode", "box_encode_cpu");
  table.kernel<box_decode_cpu>("_contrib_box_decode", "box_decode_cpu");
  table.kernel<bipartite_matching_cpu, bipartite_matching_scratch>("_contrib_bipartite_matching",
                                                                   "bipartite_matching_cpu");
}

void gradients_box(OpTable& table) {
  table.kernel<box_nms_backward_cpu>("_backward__contrib_box_nms", "box_nms_backward_cpu");
}

}  // namespace loomix::ops

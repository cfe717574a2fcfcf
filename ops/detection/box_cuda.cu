// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/element.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/cuda/math.h"
#include "ops/cuda/report.h"
#include "ops/detection/box.h"
#include "ops/detection/suppress_cuda.h"
#include "ops/families_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

template <class T>
struct Numbers {
  const T* data;
  __device__ Computed<T> operator[](int64_t i) const { return load(data[i]); }
};

template <class T>
__device__ void put_box(const Corners4<Computed<T>>& box, BoxFormat format, T* to) {
  const Centred<Computed<T>> c(box);
  const bool corner = format == BoxFormat::corner;
  to[0] = store<T>(corner ? box.left : c.x);
  to[1] = store<T>(corner ? box.top : c.y);
  to[2] = store<T>(corner ? box.right : c.width);
  to[3] = store<T>(corner ? box.bottom : c.height);
}

template <class T>
__global__ void overlaps(int64_t count, Divider columns, BoxFormat format, const T* lhs, const T* rhs,
                         T* out) {
  using Box = Corners4<Computed<T>>;
  for (const int64_t i : own_items(count)) {
    const int64_t row = columns.quotient(i), column = i - row * columns.divisor();
    out[i] = store<T>(
        overlap(Box::of(Numbers<T>{lhs + row * 4}, format), Box::of(Numbers<T>{rhs + column * 4}, format)));
  }
}

void box_iou_cuda(const BoxIouParams& p, const KernelArgs& args) {
  const int64_t rows = args.in[0].size() / 4, columns = args.in[1].size() / 4;
  dispatch_floating(args.out[0].dtype, "box_iou", [&]<class T>(Type<T>) {
    launch(overlaps<T>, grid_for(rows * columns), stream_of(args), rows * columns, Divider(columns), p.format,
           args.in[0].as<T>(), args.in[1].as<T>(), args.out[0].mutable_as<T>());
  });
}

template <class T>
__global__ void decode(int64_t count, Divider anchors_each, BoxDecodeParams p, const T* data,
                       const T* anchors, T* out) {
  using A = Computed<T>;
  for (const int64_t i : own_items(count)) {
    const int64_t of_anchor = i - anchors_each.quotient(i) * anchors_each.divisor();
    const Centred<A> anchor(Corners4<A>::of(Numbers<T>{anchors + of_anchor * 4}, p.format));
    const T* const from = data + i * 4;
    const auto size = [&](T value, float factor) {
      const A exponent = load(value) * static_cast<A>(factor);
      return Math::exp(p.clip > 0 && exponent > static_cast<A>(p.clip) ? static_cast<A>(p.clip) : exponent);
    };
    const A x = load(from[0]) * static_cast<A>(p.std0) * anchor.width + anchor.x;
    const A y = load(from[1]) * static_cast<A>(p.std1) * anchor.height + anchor.y;
    const A width = size(from[2], p.std2) * anchor.width / 2;
    const A height = size(from[3], p.std3) * anchor.height / 2;
    put_box<T>({x - width, y - height, x + width, y + height}, BoxFormat::corner, out + i * 4);
  }
}

void box_decode_cuda(const BoxDecodeParams& p, const KernelArgs& args) {
  const Shape& shape = args.out[0].shape;
  const int64_t count = shape[0] * shape[1];
  dispatch_floating(args.out[0].dtype, "box_decode", [&]<class T>(Type<T>) {
    launch(decode<T>, grid_for(count), stream_of(args), count, Divider(shape[1]), p, args.in[0].as<T>(),
           args.in[1].as<T>(), args.out[0].mutable_as<T>());
  });
}

template <class T>
__global__ void encode(int64_t count, Divider anchors_each, int64_t refs, bool shared_anchors,
                       const T* samples, const T* matches, const T* anchors, const T* boxes, const T* means,
                       const T* stds, T* out, T* mask, int64_t* fault) {
  using A = Computed<T>;
  for (const int64_t i : own_items(count)) {
    const int64_t image = anchors_each.quotient(i);
    bool counts = load(samples[i]) > A(0.5);
    if (counts && !(load(matches[i]) >= 0 && load(matches[i]) < static_cast<A>(refs))) {
      report(fault);
      counts = false;
    }
    A values[4] = {};
    if (counts) {
      const int64_t ref = image * refs + static_cast<int64_t>(load(matches[i]));
      const int64_t at = shared_anchors ? i - image * anchors_each.divisor() : i;
      const Centred<A> box(Corners4<A>::of(Numbers<T>{boxes + ref * 4}, BoxFormat::corner));
      const Centred<A> anchor(Corners4<A>::of(Numbers<T>{anchors + at * 4}, BoxFormat::corner));
      values[0] = (box.x - anchor.x) / anchor.width;
      values[1] = (box.y - anchor.y) / anchor.height;
      values[2] = Math::log(box.width / anchor.width);
      values[3] = Math::log(box.height / anchor.height);
    }
    for (int k = 0; k < 4; ++k) {
      if (out != nullptr)
        out[i * 4 + k] = store<T>(counts ? (values[k] - load(means[k])) / load(stds[k]) : A{0});
      if (mask != nullptr) mask[i * 4 + k] = store<T>(counts ? A{1} : A{0});
    }
  }
}

void box_encode_cuda(const KernelArgs& args, int64_t* fault) {
  const Shape& shape = args.out[0].shape;
  if (shape.size() == 0) return;
  const int64_t count = shape[0] * shape[1];
  dispatch_floating(args.out[0].dtype, "box_encode", [&]<class T>(Type<T>) {
    const auto in = [&](size_t i) { return args.in[i].as<T>(); };
    launch(encode<T>, grid_for(count), stream_of(args), count, Divider(shape[1]), args.in[3].shape[1],
           args.in[2].shape[0] == 1, in(0), in(1), in(2), in(3), in(4), in(5), args.wanted<T>(0),
           args.wanted<T>(1), fault);
  });
}
void explain_box_encode(const KernelArgs& args) {
  check_matches(HostCopy(args.in[0]).view(), HostCopy(args.in[1]).view(), args.in[3].shape[1]);
}

// ---- non-maximum suppression ---------------------------------------------------------------------------------------------

struct Lists {
  int64_t lists, numbers;
  Divider count;  // boxes of a list

  explicit Lists(const Shape& data) : lists(0), numbers(data[data.ndim() - 1]), count(data[data.ndim() - 2]) {
    if (data.size() > 0) lists = data.size() / (count.divisor() * numbers);
  }
  int64_t boxes() const { return lists * count.divisor(); }
};

template <class T>
struct NmsBoxes {
  using A = Computed<T>;
  struct Box {
    Corners4<A> corners;
    A id;
  };
  BoxNmsParams p;
  int64_t numbers;
  const T* data;
  int64_t looked_at, wanted;

  NmsBoxes(const BoxNmsParams& params, const Lists& lists, const T* boxes)
      : p(params),
        numbers(lists.numbers),
        data(boxes),
        looked_at(params.topk >= 0 ? params.topk : lists.count.divisor()),
        wanted(lists.count.divisor()) {}
  __device__ bool counts(int64_t i) const {
    const bool background = p.id_index >= 0 && number(i, p.id_index) == static_cast<A>(p.background_id);
    return score(i) > static_cast<A>(p.valid_thresh) && !background;
  }
  __device__ A score(int64_t i) const { return number(i, p.score_index); }
  __device__ Box at(int64_t i) const {
    const bool all_classes = p.force_suppress || p.id_index < 0;
    return {Corners4<A>::of(Numbers<T>{data + i * numbers + p.coord_start}, p.in_format),
            all_classes ? A{0} : number(i, p.id_index)};
  }
  __device__ bool covers(const Box& better, const Box& other) const {
    return better.id == other.id && overlap(better.corners, other.corners) > static_cast<A>(p.overlap_thresh);
  }

 private:
  __device__ A number(int64_t i, int index) const { return load(data[i * numbers + index]); }
};

template <class T>
constexpr int kKeyBits = 8 * static_cast<int>(sizeof(Computed<T>));

template <class T>
__global__ void put_kept(int64_t boxes, Lists lists, BoxNmsParams p, const int32_t* kept, const T* data,
                         T* out) {
  for (const int64_t i : own_items(boxes)) {
    const int64_t list = lists.count.quotient(i);
    T* const to = out + i * lists.numbers;
    if (kept[i] < 0) {
      for (int64_t k = 0; k < lists.numbers; ++k) to[k] = store<T>(Computed<T>(-1));
      continue;
    }
    const T* const from = data + (list * lists.count.divisor() + kept[i]) * lists.numbers;
    for (int64_t k = 0; k < lists.numbers; ++k) to[k] = from[k];
    if (p.in_format != p.out_format) {
      put_box<T>(Corners4<Computed<T>>::of(Numbers<T>{from + p.coord_start}, p.in_format), p.out_format,
                 to + p.coord_start);
    }
  }
}

// Scratch: those that are kept where nobody saves them, then what the suppression needs.
size_t kept_bytes(int64_t boxes) { return aligned(static_cast<size_t>(boxes) * sizeof(int32_t)); }
size_t box_nms_scratch(const KernelSpec& spec) {
  const int64_t boxes = Lists(spec.in[0].shape).boxes();
  return kept_bytes(boxes) + suppress_scratch(boxes);
}
Support box_nms_support(const KernelSpec& spec) {
  return Lists(spec.in[0].shape).boxes() < kMostSorted ? Support::yes()
                                                       : Support::no("it has more boxes than are sorted");
}

template <class T>
void find_kept(const BoxNmsParams& p, const Lists& lists, const KernelArgs& args, int32_t* kept) {
  const std::span<std::byte> scratch = args.scratch.subspan(kept_bytes(lists.boxes()));
  const NmsBoxes<T> boxes(p, lists, args.in[0].as<T>());
  const int64_t count = lists.count.divisor();
  const auto ranked = rank_boxes<kKeyBits<T>>(lists.lists, count, boxes, scratch, stream_of(args));
  suppress_ranked(lists.lists, count, boxes, ranked, scratch, kept, stream_of(args));
}

void box_nms_cuda(const BoxNmsParams& p, const KernelArgs& args) {
  const Lists lists(args.in[0].shape);
  const int64_t boxes = lists.boxes();
  if (boxes == 0) return;
  int32_t* const kept =
      args.saved[0] ? args.saved[0].mutable_as<int32_t>() : reinterpret_cast<int32_t*>(args.scratch.data());
  dispatch_floating(args.in[0].dtype, "box_nms", [&]<class T>(Type<T>) {
    find_kept<T>(p, lists, args, kept);
    if (T* const out = args.wanted<T>(0))
      launch(put_kept<T>, grid_for(boxes), stream_of(args), boxes, lists, p, kept, args.in[0].as<T>(), out);
  });
}

template <class T>
__global__ void give_back(int64_t boxes, Lists lists, BoxNmsParams p, const int32_t* kept, const T* grad,
                          T* out) {
  using A = Computed<T>;
  for (const int64_t i : own_items(boxes)) {
    if (kept[i] < 0) continue;
    const T* const from = grad + i * lists.numbers;
    T* const to = out + (lists.count.quotient(i) * lists.count.divisor() + kept[i]) * lists.numbers;
    for (int64_t k = 0; k < lists.numbers; ++k) to[k] = from[k];
    if (p.in_format == p.out_format) continue;
    for (int axis = p.coord_start; axis < p.coord_start + 2; ++axis) {  // of the change of format
      const A a = load(from[axis]), b = load(from[axis + 2]);
      const bool to_center = p.out_format == BoxFormat::center;
      to[axis] = store<T>(to_center ? a / 2 - b : a + b);
      to[axis + 2] = store<T>(to_center ? a / 2 + b : (b - a) / 2);
    }
  }
}

void box_nms_backward_cuda(const BoxNmsParams& p, const KernelArgs& args) {
  const Lists lists(args.out[0].shape);
  fill(args.out[0], 0, stream_of(args));
  dispatch_floating(args.out[0].dtype, "box_nms", [&]<class T>(Type<T>) {
    launch(give_back<T>, grid_for(lists.boxes()), stream_of(args), lists.boxes(), lists, p,
           args.in[1].as<int32_t>(), args.in[0].as<T>(), args.out[0].mutable_as<T>());
  });
}

}  // namespace

void kernels_box_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  list.kernel<box_iou_cuda>("_contrib_box_iou", "box_iou_cuda", gpu);
  add_checked<box_encode_cuda, explain_box_encode>(list, "_contrib_box_encode", "box_encode_cuda");
  list.kernel<box_decode_cuda>("_contrib_box_decode", "box_decode_cuda", gpu);
  list.kernel<box_nms_cuda, box_nms_support, box_nms_scratch>("_contrib_box_nms", "box_nms_cuda", gpu);
  list.kernel<box_nms_backward_cuda>("_backward__contrib_box_nms", "box_nms_backward_cuda", gpu);
}

}  // namespace loomix::ops

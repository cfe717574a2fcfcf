// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "engine/device/cuda/element.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/cuda/math.h"
#include "ops/cuda/order.h"
#include "ops/cuda/reduce.h"
#include "ops/cuda/report.h"
#include "ops/detection/box.h"
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
//
// All lists are sorted at once, best first, what does not count last. Then a block goes through its list in tiles: within a tile one
// thread decides by bit masks, and what is kept covers the rest of the list, all threads side by side.

struct Lists {
  int64_t lists, numbers;
  Divider count;  // boxes of a list

  explicit Lists(const Shape& data) : lists(0), numbers(data[data.ndim() - 1]), count(data[data.ndim() - 2]) {
    if (data.size() > 0) lists = data.size() / (count.divisor() * numbers);
  }
  int64_t boxes() const { return lists * count.divisor(); }
};

template <class T>
__device__ bool counts(const BoxNmsParams& p, const Numbers<T>& box) {
  using A = Computed<T>;
  const bool background = p.id_index >= 0 && box[p.id_index] == static_cast<A>(p.background_id);
  return box[p.score_index] > static_cast<A>(p.valid_thresh) && !background;
}

// Smaller for the better: those that count are numbers, so no key of them has all bits.
__device__ uint64_t descending_key(float score) {
  const unsigned bits = __float_as_uint(score + 0.0f);  // one zero
  return bits >> 31 ? bits : ~bits & 0x7fffffffu;
}
__device__ uint64_t descending_key(double score) {
  const auto bits = static_cast<uint64_t>(__double_as_longlong(score + 0.0));
  return bits >> 63 ? bits : ~bits & 0x7fffffffffffffffu;
}

template <class T>
constexpr int kKeyBits = 8 * static_cast<int>(sizeof(Computed<T>));

template <class T>
__global__ void rank_keys(int64_t boxes, Lists lists, BoxNmsParams p, const T* data, uint64_t* keys,
                          uint32_t* values) {
  constexpr int kBits = kKeyBits<T>;
  for (const int64_t i : own_items(boxes)) {
    const Numbers<T> box{data + i * lists.numbers};
    uint64_t key = counts(p, box) ? descending_key(box[p.score_index]) : ~uint64_t{0} >> (64 - kBits);
    if constexpr (kBits < 64) key |= static_cast<uint64_t>(lists.count.quotient(i)) << kBits;
    keys[i] = key;
    values[i] = static_cast<uint32_t>(i);
  }
}
__global__ void list_keys(int64_t boxes, Divider count, const uint32_t* values, uint64_t* keys) {
  for (const int64_t i : own_items(boxes)) keys[i] = static_cast<uint64_t>(count.quotient(values[i]));
}

constexpr int kTile = 64;

template <class T>
__global__ void __launch_bounds__(kThreads)
    suppress(Lists lists, BoxNmsParams p, const T* data, const uint32_t* sorted, uint8_t* covered,
             int32_t* kept) {
  using A = Computed<T>;
  __shared__ Corners4<A> tile[kTile];
  __shared__ A tile_id[kTile];
  __shared__ unsigned long long meets[kTile];
  __shared__ unsigned long long chosen;
  __shared__ int kept_count;
  const int64_t count = lists.count.divisor(), start = static_cast<int64_t>(blockIdx.x) * count;
  const int thread = static_cast<int>(threadIdx.x);
  sorted += start;
  covered += start;
  kept += start;
  const auto box_at = [&](int64_t rank) { return Numbers<T>{data + sorted[rank] * lists.numbers}; };
  const auto corners_at = [&](int64_t rank) {
    return Corners4<A>::of(Numbers<T>{box_at(rank).data + p.coord_start}, p.in_format);
  };
  const bool all_classes = p.force_suppress || p.id_index < 0;
  const auto id_at = [&](int64_t rank) { return all_classes ? A{0} : box_at(rank)[p.id_index]; };

  int own = 0;
  for (int64_t i = thread; i < count; i += kThreads) {
    covered[i] = 0;
    own += counts(p, box_at(i)) ? 1 : 0;
  }
  int64_t valid = merge_block(own, 0, Plus{});
  if (p.topk >= 0 && valid > p.topk) valid = p.topk;
  if (thread == 0) kept_count = 0;
  for (int64_t first = 0; first < valid; first += kTile) {
    const int size = valid - first < kTile ? static_cast<int>(valid - first) : kTile;
    if (thread < size) {
      tile[thread] = corners_at(first + thread);
      tile_id[thread] = id_at(first + thread);
    }
    __syncthreads();
    const auto covers = [&](int k, const Corners4<A>& box, A id) {
      return tile_id[k] == id && overlap(tile[k], box) > static_cast<A>(p.overlap_thresh);
    };
    if (thread < size) {
      unsigned long long bits = 0;
      for (int k = 0; k < thread; ++k) {
        if (covers(k, tile[thread], tile_id[thread])) bits |= 1ull << k;
      }
      meets[thread] = bits;
    }
    __syncthreads();
    if (thread == 0) {
      chosen = 0;
      for (int k = 0; k < size; ++k) {
        if (covered[first + k] || (meets[k] & chosen) != 0) continue;
        chosen |= 1ull << k;
        kept[kept_count++] = static_cast<int32_t>(sorted[first + k] - start);
      }
    }
    __syncthreads();
    for (int64_t i = first + kTile + thread; i < valid; i += kThreads) {
      if (covered[i]) continue;
      const Corners4<A> box = corners_at(i);
      const A id = id_at(i);
      for (int k = 0; k < size && !covered[i]; ++k) {
        if ((chosen >> k & 1) != 0 && covers(k, box, id)) covered[i] = 1;
      }
    }
    __syncthreads();
  }
  __syncthreads();
  for (int64_t i = kept_count + thread; i < count; i += kThreads) kept[i] = -1;
}

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

// Scratch: those that are covered, those that are kept where nobody saves them, then the sort's.
size_t flags_bytes(int64_t boxes) { return aligned(static_cast<size_t>(boxes)); }
size_t kept_bytes(int64_t boxes) { return aligned(static_cast<size_t>(boxes) * sizeof(int32_t)); }
size_t box_nms_scratch(const KernelSpec& spec) {
  const int64_t boxes = Lists(spec.in[0].shape).boxes();
  return flags_bytes(boxes) + kept_bytes(boxes) + SortSpace<uint64_t>::bytes(boxes);
}
Support box_nms_support(const KernelSpec& spec) {
  return Lists(spec.in[0].shape).boxes() < kMostSorted ? Support::yes()
                                                       : Support::no("it has more boxes than are sorted");
}

template <class T>
void find_kept(const BoxNmsParams& p, const Lists& lists, const KernelArgs& args, int32_t* kept) {
  const int64_t boxes = lists.boxes();
  const cudaStream_t stream = stream_of(args);
  SortSpace<uint64_t> space(args.scratch.subspan(flags_bytes(boxes) + kept_bytes(boxes)), boxes);
  const int list_bits = std::bit_width(static_cast<uint64_t>(lists.lists - 1));
  launch(rank_keys<T>, grid_for(boxes), stream, boxes, lists, p, args.in[0].as<T>(), space.keys(),
         space.values());
  space.sort(kKeyBits<T> < 64 ? kKeyBits<T> + list_bits : 64, stream);
  if (kKeyBits<T> == 64 && lists.lists > 1) {  // equal keys keep their order
    space.turn();
    launch(list_keys, grid_for(boxes), stream, boxes, lists.count, space.values(), space.keys());
    space.sort(list_bits, stream);
  }
  launch(suppress<T>, {static_cast<unsigned>(lists.lists), kThreads}, stream, lists, p, args.in[0].as<T>(),
         space.sorted_values(), reinterpret_cast<uint8_t*>(args.scratch.data()), kept);
}

void box_nms_cuda(const BoxNmsParams& p, const KernelArgs& args) {
  const Lists lists(args.in[0].shape);
  const int64_t boxes = lists.boxes();
  if (boxes == 0) return;
  int32_t* const kept = args.saved[0] ? args.saved[0].mutable_as<int32_t>()
                                      : reinterpret_cast<int32_t*>(args.scratch.data() + flags_bytes(boxes));
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

// SPDX-License-Identifier: Apache-2.0
#include "base/inline_vector.h"
#include "ops/cuda/index.h"
#include "ops/cuda/stream.h"
#include "ops/cuda/word.h"
#include "ops/families_cuda.h"
#include "ops/shape/shape.h"

// Parts that lie one behind the other along an axis: all of them by one kernel.
namespace loomix::ops {
namespace {

using namespace cuda;

// An array that holds a stretch of each row of the whole one.
struct Part {
  void* data;
  int64_t begin, size;  // in bytes of a row
};
using Parts = InlineVector<Part, 8>;

constexpr int kMostParts = 64;  // of a launch: parameters of a kernel are copied each time

template <class T>
struct PartTable {
  T* data[kMostParts];
  int64_t begin[kMostParts];      // in a row of the whole
  int64_t first[kMostParts + 1];  // in a row of these parts alone
  int count;
};

template <class T, bool joins>
__global__ void move_parts(int64_t count, Divider width, int64_t row, PartTable<T> parts, T* whole) {
  for (const int64_t i : own_items(count)) {
    const int64_t outer = width.quotient(i);
    const int64_t place = i - outer * width.divisor();
    int part = 0;
    for (int step = kMostParts / 2; step > 0; step /= 2) {
      if (part + step < parts.count && parts.first[part + step] <= place) part += step;
    }
    const int64_t within = place - parts.first[part];
    T* const own = parts.data[part] + outer * (parts.first[part + 1] - parts.first[part]) + within;
    T* const shared = whole + outer * row + parts.begin[part] + within;
    if constexpr (joins) *shared = *own;
    else *own = *shared;
  }
}

template <bool joins>
void move_group(std::span<const Part> parts, int64_t outer, int64_t row, void* whole, cudaStream_t stream) {
  uint64_t bits = static_cast<uint64_t>(row) | reinterpret_cast<uintptr_t>(whole);
  for (const Part& part : parts)
    bits |= reinterpret_cast<uintptr_t>(part.data) | static_cast<uint64_t>(part.begin | part.size);
  const int64_t bytes = common_bytes(bits);
  dispatch_bytes(bytes, [&]<class T>(Type<T>) {
    PartTable<T> table;
    table.count = static_cast<int>(parts.size());
    table.first[0] = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      table.data[i] = static_cast<T*>(parts[i].data);
      table.begin[i] = parts[i].begin / bytes;
      table.first[i + 1] = table.first[i] + parts[i].size / bytes;
    }
    const int64_t width = table.first[parts.size()];
    launch(move_parts<T, joins>, grid_for(outer * width), stream, outer * width, Divider(width), row / bytes,
           table, static_cast<T*>(whole));
  });
}

template <bool joins>
void move_all(const Parts& parts, int64_t outer, int64_t row, void* whole, cudaStream_t stream) {
  for (size_t first = 0; first < parts.size(); first += kMostParts) {
    const size_t count = std::min<size_t>(kMostParts, parts.size() - first);
    move_group<joins>({parts.data() + first, count}, outer, row, whole, stream);
  }
}

// Rows of the whole array, from `axis` on.
struct Rows {
  int64_t outer, bytes;
  Rows(const TensorView& whole, int axis)
      : outer(whole.shape.size_between(0, axis)),
        bytes(whole.shape.size_between(axis, whole.shape.ndim()) * size_of(whole.dtype)) {}
};

template <bool joins>
void move_in_order(const TensorView& whole, std::span<const TensorView> arrays, int axis,
                   const KernelArgs& args) {
  const Rows rows(whole, axis);
  if (rows.outer == 0) return;
  Parts parts;
  int64_t begin = 0;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const int64_t size = arrays[i].bytes() / rows.outer;
    if (size > 0 && (joins || args.req[i] != Req::null)) parts.push_back({arrays[i].data, begin, size});
    begin += size;
  }
  move_all<joins>(parts, rows.outer, rows.bytes, whole.data, stream_of(args));
}

void concat_cuda(const ConcatParams& p, const KernelArgs& args) {
  const TensorView& whole = args.out[0];
  move_in_order<true>(whole, args.in, normalize_axis(p.dim, whole.shape.ndim(), "Concat"), args);
}

void stack_cuda(const StackParams& p, const KernelArgs& args) {
  const TensorView& whole = args.out[0];
  move_in_order<true>(whole, args.in, normalize_axis(p.axis, whole.shape.ndim(), "stack"), args);
}

void backward_concat_cuda(const ConcatParams& p, const KernelArgs& args) {
  const TensorView& whole = args.in[0];
  move_in_order<false>(whole, args.out, normalize_axis(p.dim, whole.shape.ndim(), "Concat"), args);
}

void split_cuda(const SplitParams& p, const KernelArgs& args) {
  const TensorView& whole = args.in[0];
  move_in_order<false>(whole, args.out, normalize_axis(p.axis, whole.shape.ndim(), "SliceChannel"), args);
}

void split_v2_cuda(const SplitV2Params& p, const KernelArgs& args) {
  const TensorView& whole = args.in[0];
  const int axis = normalize_axis(p.axis, whole.shape.ndim(), "_split_v2");
  const Rows rows(whole, axis);
  const int64_t size = whole.shape[axis];
  if (size == 0) return;
  Parts parts;
  for (size_t i = 0; i < args.out.size(); ++i) {
    const SliceRange range = split_part(p, static_cast<int>(i), size);
    const int64_t step = rows.bytes / size;
    if (range.count * step > 0 && args.req[i] != Req::null)
      parts.push_back({args.out[i].data, range.begin * step, range.count * step});
  }
  if (rows.outer > 0) move_all<false>(parts, rows.outer, rows.bytes, whole.data, stream_of(args));
}

}  // namespace

void kernels_shape_join_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  list.kernel<concat_cuda>("Concat", "concat_cuda", gpu);
  list.kernel<concat_cuda>("_rnn_param_concat", "concat_cuda", gpu);
  list.kernel<stack_cuda>("stack", "concat_cuda", gpu);
  list.kernel<split_cuda>("SliceChannel", "split_cuda", gpu);
  list.kernel<split_v2_cuda>("_split_v2", "split_cuda", gpu);
  list.kernel<backward_concat_cuda>("_backward_concat", "split_cuda", gpu);
}

}  // namespace loomix::ops

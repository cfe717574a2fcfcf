// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "ops/axis_split.h"
#include "ops/cuda/arrays.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/cuda/order.h"
#include "ops/cuda/runs.h"
#include "ops/cuda/strided.h"
#include "ops/cuda/word.h"
#include "ops/families_cuda.h"
#include "ops/index/index.h"

// Operators that fail for an index out of range run on the host: what fails must be known before others read the result.
namespace loomix::ops {
namespace {

using namespace cuda;

// Indices of any type, brought inside [0, size).
struct Indices {
  AnyArray given;
  int64_t size;
  bool wraps;

  Indices(const TensorView& view, int64_t axis_size, IndexMode mode)
      : given(view), size(axis_size), wraps(mode == IndexMode::wrap) {}
  __device__ int64_t operator[](int64_t i) const {
    const int64_t index = given.whole(i);
    if (index >= 0 && index < size) return index;
    if (!wraps) return index < 0 ? 0 : size - 1;
    return (index % size + size) % size;
  }
};

template <class T>
__global__ void gather_words(int64_t count, Divider words, Divider indices, int64_t size, Indices index,
                             const T* in, T* out) {
  for (const int64_t i : own_items(count)) {
    const int64_t item = words.quotient(i);
    const int64_t outer = indices.quotient(item);
    const int64_t source = outer * size + index[item - outer * indices.divisor()];
    out[i] = in[source * words.divisor() + (i - item * words.divisor())];
  }
}

// Out[o, i, :] = in[o, index[i], :], of slices of `bytes`.
void gather(const TensorView& in, const TensorView& out, const Indices& index, int64_t indices, int64_t bytes,
            cudaStream_t stream) {
  const int64_t word = common_bytes(static_cast<uint64_t>(bytes) | reinterpret_cast<uintptr_t>(in.data) |
                                    reinterpret_cast<uintptr_t>(out.data));
  dispatch_bytes(word, [&]<class T>(Type<T>) {
    const int64_t count = out.bytes() / word;
    launch(gather_words<T>, grid_for(count), stream, count, Divider(bytes / word), Divider(indices),
           index.size, index, static_cast<const T*>(in.data), static_cast<T*>(out.data));
  });
}

__global__ void list_indices(int64_t count, Indices index, uint32_t* keys, uint32_t* values) {
  for (const int64_t i : own_items(count)) {
    keys[i] = static_cast<uint32_t>(index[i]);
    values[i] = static_cast<uint32_t>(i);
  }
}

// Element `column` of a slice is element (o, c) of the blocks about it.
struct Slices {
  Divider inner;
  __device__ int64_t at(int64_t slice, int64_t column, int64_t slices) const {
    const int64_t outer = inner.quotient(column);
    return (outer * slices + slice) * inner.divisor() + (column - outer * inner.divisor());
  }
};
template <class T>
struct ReadSlice {
  Slices slices;
  int64_t count;
  const T* data;
  __device__ Computed<T> operator()(int64_t slice, int64_t column) const {
    return load(data[slices.at(slice, column, count)]);
  }
};
template <class T>
struct WriteSlice {
  Slices slices;
  int64_t count;
  T* data;
  __device__ void operator()(int64_t slice, int64_t column, Computed<T> sum) const {
    data[slices.at(slice, column, count)] = store<T>(sum);
  }
};
struct ReadIntegers {
  Slices slices;
  int64_t count;
  IntegerArray data;
  __device__ int64_t operator()(int64_t slice, int64_t column) const {
    return data[slices.at(slice, column, count)];
  }
};
struct WriteIntegers {
  Slices slices;
  int64_t count;
  MutableIntegerArray data;
  __device__ void operator()(int64_t slice, int64_t column, int64_t sum) const {
    data.set(slices.at(slice, column, count), sum);
  }
};

// Out[o, index[i], :] += in[o, i, :], on zeros, in the order of i.
void scatter_add(const KernelArgs& args, const Indices& index, int64_t outer, int64_t inner) {
  const TensorView& in = args.in[0];
  const TensorView& out = args.out[0];
  const cudaStream_t stream = stream_of(args);
  fill(out, 0, stream);
  const int64_t count = args.in[1].size();
  if (in.size() == 0) return;
  const SortSpace<uint32_t> space(args.scratch, count);
  launch(list_indices, grid_for(count), stream, count, index, space.keys(), space.values());
  space.sort(std::bit_width(static_cast<uint64_t>(index.size - 1)), stream);
  const Runs runs{space.sorted_keys(), space.sorted_values(), count, static_cast<uint32_t>(index.size),
                  Divider(outer * inner)};
  const Slices slices{Divider(inner)};
  if (!is_floating(out.dtype)) {
    return sum_runs<int64_t>(runs, ReadIntegers{slices, count, {in.data, in.dtype}},
                             WriteIntegers{slices, index.size, {out.data, out.dtype}}, stream);
  }
  dispatch_floating(out.dtype, "_backward_take", [&]<class T>(Type<T>) {
    sum_runs<Computed<T>>(runs, ReadSlice<T>{slices, count, in.as<T>()},
                          WriteSlice<T>{slices, index.size, out.mutable_as<T>()}, stream);
  });
}

size_t scatter_add_scratch(const KernelSpec& spec) { return SortSpace<uint32_t>::bytes(spec.in[1].size()); }

Support in_range_support(const TakeParams& p, const KernelSpec&) {
  return p.mode == IndexMode::raise ? Support::no("mode `raise` looks at the indices first") : Support::yes();
}
template <class P>
Support scatter_add_support(const P& p, const KernelSpec& spec) {
  if constexpr (std::is_same_v<P, TakeParams>) {
    if (p.mode == IndexMode::raise) return in_range_support(p, spec);
  }
  return spec.in[1].size() < kMostSorted && spec.out[0].shape.size() < kMostSorted
             ? Support::yes()
             : Support::no("it has more indices or slices than are sorted");
}

void take_cuda(const TakeParams& p, const KernelArgs& args) {
  const TensorView& data = args.in[0];
  const AxisSplit split(data.shape, p.axis, "take");
  LOOMIX_CHECK(split.size > 0, IndexError, "[take] cannot take from axis {} of shape {}, which is empty.",
               p.axis, data.shape.to_string());
  gather(data, args.out[0], Indices(args.in[1], split.size, p.mode), args.in[1].size(),
         split.inner * size_of(data.dtype), stream_of(args));
}

void backward_take_cuda(const TakeParams& p, const KernelArgs& args) {
  const AxisSplit split(args.out[0].shape, p.axis, "take");
  scatter_add(args, Indices(args.in[1], std::max<int64_t>(split.size, 1), p.mode), split.outer, split.inner);
}

void embedding_cuda(const EmbeddingParams& p, const KernelArgs& args) {
  gather(args.in[1], args.out[0], Indices(args.in[0], p.input_dim, IndexMode::clip), args.in[0].size(),
         p.output_dim * size_of(args.in[1].dtype), stream_of(args));
}

void backward_embedding_cuda(const EmbeddingParams& p, const KernelArgs& args) {
  scatter_add(args, Indices(args.in[1], p.input_dim, IndexMode::clip), 1, p.output_dim);
}

template <class T>
__global__ void put_one_hot(int64_t count, Divider depth, AnyArray index, T on, T off, T* out) {
  for (const int64_t i : own_items(count)) {
    const int64_t row = depth.quotient(i);
    out[i] = index.whole(row) == i - row * depth.divisor() ? on : off;
  }
}

void one_hot(const KernelArgs& args, int64_t depth, double on_value, double off_value) {
  const TensorView& out = args.out[0];
  const Number on(on_value, out.dtype), off(off_value, out.dtype);
  dispatch_bits(out.dtype, [&]<class T>(Type<T>) {
    T bits[2];
    __builtin_memcpy(&bits[0], on.bytes, sizeof(T));
    __builtin_memcpy(&bits[1], off.bytes, sizeof(T));
    launch(put_one_hot<T>, grid_for(out.size()), stream_of(args), out.size(), Divider(depth),
           AnyArray(args.in[0]), bits[0], bits[1], static_cast<T*>(out.data));
  });
}

void one_hot_cuda(const OneHotParams& p, const KernelArgs& args) {
  one_hot(args, p.depth, p.on_value, p.off_value);
}
void onehot_encode_cuda(const KernelArgs& args) { one_hot(args, args.out[0].shape[1], 1, 0); }

// One element of each line of an axis.
struct Picked {
  Divider inner;
  int64_t size;
  Indices index;
  __device__ int64_t operator()(int64_t line) const {
    const int64_t outer = inner.quotient(line);
    return (outer * size + index[line]) * inner.divisor() + (line - outer * inner.divisor());
  }
};
template <class T>
__global__ void pick_items(int64_t lines, Picked picked, const T* data, T* out) {
  for (const int64_t i : own_items(lines)) out[i] = data[picked(i)];
}
template <class T>
__global__ void put_picked(int64_t lines, Picked picked, const T* grad, T* out) {
  for (const int64_t i : own_items(lines)) out[picked(i)] = grad[i];
}

void pick_cuda(const PickParams& p, const KernelArgs& args) {
  const AxisSplit split(args.in[0].shape, p.axis, "pick");
  LOOMIX_CHECK(split.size > 0, IndexError, "[pick] cannot pick from shape {}, whose axis is empty.",
               args.in[0].shape.to_string());
  const Picked picked{Divider(split.inner), split.size, Indices(args.in[1], split.size, p.mode)};
  dispatch_bits(args.in[0].dtype, [&]<class T>(Type<T>) {
    launch(pick_items<T>, grid_for(split.lines()), stream_of(args), split.lines(), picked,
           static_cast<const T*>(args.in[0].data), static_cast<T*>(args.out[0].data));
  });
}

void backward_pick_cuda(const PickParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  fill(out, 0, stream_of(args));
  const AxisSplit split(out.shape, p.axis, "pick");
  const Picked picked{Divider(split.inner), split.size, Indices(args.in[1], split.size, p.mode)};
  dispatch_bits(out.dtype, [&]<class T>(Type<T>) {
    launch(put_picked<T>, grid_for(split.lines()), stream_of(args), split.lines(), picked,
           static_cast<const T*>(args.in[0].data), static_cast<T*>(out.data));
  });
}

void batch_take_cuda(const KernelArgs& args) { pick_cuda({}, args); }
void backward_batch_take_cuda(const KernelArgs& args) { backward_pick_cuda({}, args); }

struct Sizes {
  int ndim = 0;
  int64_t size[Shape::kMaxDims];
  explicit Sizes(const Shape& shape) {
    for (const int64_t axis : shape) size[ndim++] = axis;
  }
};

__global__ void ravel(int64_t count, Sizes sizes, AnyArray rows, MutableAnyArray out) {
  for (const int64_t i : own_items(count)) {
    int64_t position = 0;
    for (int axis = 0; axis < sizes.ndim; ++axis)
      position = position * sizes.size[axis] + rows.whole(axis * count + i);
    out.set(i, position);
  }
}

// The first axis takes what is left, so that a position beyond the end stays recognisable.
__global__ void unravel(int64_t count, Sizes sizes, AnyArray positions, MutableAnyArray rows) {
  for (const int64_t i : own_items(count)) {
    int64_t rest = positions.whole(i);
    for (int axis = sizes.ndim - 1; axis >= 0; --axis) {
      const int64_t given = axis == 0 ? rest + 1 : sizes.size[axis];
      const int64_t size = given < 1 ? 1 : given;
      rows.set(axis * count + i, rest % size);
      rest /= size;
    }
  }
}

void ravel_multi_index_cuda(const RavelParams& p, const KernelArgs& args) {
  const int64_t count = args.out[0].size();
  launch(ravel, grid_for(count), stream_of(args), count, Sizes(*p.shape), AnyArray(args.in[0]),
         MutableAnyArray(args.out[0]));
}

void unravel_index_cuda(const RavelParams& p, const KernelArgs& args) {
  const int64_t count = args.in[0].size();
  launch(unravel, grid_for(count), stream_of(args), count, Sizes(*p.shape), AnyArray(args.in[0]),
         MutableAnyArray(args.out[0]));
}

}  // namespace

void kernels_index_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  list.kernel<take_cuda, in_range_support>("take", "take_cuda", gpu);
  list.kernel<embedding_cuda>("Embedding", "embedding_cuda", gpu);
  list.kernel<one_hot_cuda>("one_hot", "one_hot_cuda", gpu);
  list.kernel<onehot_encode_cuda>("_onehot_encode", "one_hot_cuda", gpu);
  list.kernel<pick_cuda>("pick", "pick_cuda", gpu);
  list.kernel<batch_take_cuda>("batch_take", "batch_take_cuda", gpu);
  list.kernel<ravel_multi_index_cuda>("_ravel_multi_index", "ravel_multi_index_cuda", gpu);
  list.kernel<unravel_index_cuda>("_unravel_index", "unravel_index_cuda", gpu);
  list.kernel<backward_take_cuda, scatter_add_support<TakeParams>, scatter_add_scratch>(
      "_backward_take", "backward_take_cuda", gpu);
  list.kernel<backward_embedding_cuda, scatter_add_support<EmbeddingParams>, scatter_add_scratch>(
      "_backward_Embedding", "backward_embedding_cuda", gpu);
  list.kernel<backward_pick_cuda>("_backward_pick", "backward_pick_cuda", gpu);
  list.kernel<backward_batch_take_cuda>("_backward_batch_take", "backward_batch_take_cuda", gpu);
}

}  // namespace loomix::ops

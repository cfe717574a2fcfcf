// SPDX-License-Identifier: Apache-2.0
#include "ops/axis_split.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/runs.h"
#include "ops/cuda/strided.h"
#include "ops/families_cuda.h"
#include "ops/index/gather_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

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
void scatter_add(const KernelArgs& args, const Indices& index, int64_t count, int64_t outer, int64_t inner,
                 std::span<std::byte> scratch) {
  const TensorView& in = args.in[0];
  const TensorView& out = args.out[0];
  const cudaStream_t stream = stream_of(args);
  fill(out, 0, stream);
  if (in.size() == 0 || out.size() == 0) return;
  const SortSpace<uint32_t> space(scratch, count);
  launch_each(stream, count, ListIndices{index, space.keys(), space.values()});
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

Support sorted_support(const KernelSpec& spec) {
  return spec.in[1].size() < kMostSorted && spec.out[0].shape.size() < kMostSorted
             ? Support::yes()
             : Support::no("it has more indices or slices than are sorted");
}
template <bool raises>
Support take_support(const TakeParams& p, const KernelSpec&) {
  if constexpr (raises)
    return p.mode == IndexMode::raise ? Support::yes() : Support::no("no index is refused");
  else return p.mode == IndexMode::raise ? Support::no("an index may be refused") : Support::yes();
}
template <bool raises>
Support backward_take_support(const TakeParams& p, const KernelSpec& spec) {
  const Support mode = take_support<raises>(p, spec);
  return mode ? sorted_support(spec) : mode;
}

void take_or_raise(const TakeParams& p, const KernelArgs& args, int64_t* fault) {
  const TensorView& data = args.in[0];
  const AxisSplit split(data.shape, p.axis, "take");
  LOOMIX_CHECK(split.size > 0, IndexError, "[take] cannot take from axis {} of shape {}, which is empty.",
               p.axis, data.shape.to_string());
  gather(data, args.out[0], Indices(args.in[1], split.size, p.mode, fault), args.in[1].size(),
         split.inner * size_of(data.dtype), stream_of(args));
}
void take_cuda(const TakeParams& p, const KernelArgs& args) { take_or_raise(p, args, nullptr); }

void backward_take_or_raise(const TakeParams& p, const KernelArgs& args, int64_t* fault) {
  const AxisSplit split(args.out[0].shape, p.axis, "take");
  scatter_add(args, Indices(args.in[1], std::max<int64_t>(split.size, 1), p.mode, fault), args.in[1].size(),
              split.outer, split.inner, args.scratch);
}
void backward_take_cuda(const TakeParams& p, const KernelArgs& args) {
  backward_take_or_raise(p, args, nullptr);
}

template <size_t kShape>  // input 0 or output 0 has the shape of the data
void explain_take(const TakeParams& p, const KernelArgs& args) {
  const AxisSplit split((kShape == 0 ? args.in[0] : args.out[0]).shape, p.axis, "take");
  const HostCopy indices(args.in[1]);
  std::vector<int64_t> read(static_cast<size_t>(indices.view().size()));
  read_indices(indices.view(), std::max<int64_t>(split.size, 1), p.mode, "take", read.data());
}

void embedding_cuda(const EmbeddingParams& p, const KernelArgs& args) {
  gather(args.in[1], args.out[0], Indices(args.in[0], p.input_dim, IndexMode::clip), args.in[0].size(),
         p.output_dim * size_of(args.in[1].dtype), stream_of(args));
}

void backward_embedding_cuda(const EmbeddingParams& p, const KernelArgs& args) {
  scatter_add(args, Indices(args.in[1], p.input_dim, IndexMode::clip), args.in[1].size(), 1, p.output_dim,
              args.scratch);
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

// ---- gather_nd and its kin -----------------------------------------------------------------------------------------------

// The slice that each column of `rows` names; those that are refused name the first.
__global__ void find_places(int64_t count, Sizes sizes, AnyArray rows, int64_t* place, int64_t* fault) {
  for (const int64_t i : own_items(count)) {
    int64_t at = 0;
    for (int axis = 0; axis < sizes.ndim; ++axis) {
      const int64_t size = sizes.size[axis];
      int64_t index = rows.whole(axis * count + i);
      if (index < -size || index >= size) {
        report(fault);
        index = 0;
      }
      at = at * size + (index < 0 ? index + size : index);
    }
    place[i] = at;
  }
}

// Slices of an array of `shape`, and the places in it that an array names. Scratch memory: the places, then what sorts them.
struct NamedPlaces {
  int64_t count, slices, slice;  // places, slices of the array, elements of one

  NamedPlaces(const Shape& indices, const Shape& shape)
      : count(indices.size_between(1, indices.ndim())),
        slices(shape.size_between(0, static_cast<int>(indices[0]))),
        slice(shape.size_between(static_cast<int>(indices[0]), shape.ndim())) {}
  size_t bytes() const { return aligned(static_cast<size_t>(count) * sizeof(int64_t)); }
  Indices find(const TensorView& indices, const Shape& shape, const KernelArgs& args, int64_t* fault) const {
    Shape indexed;
    for (int axis = 0; axis < indices.shape[0]; ++axis) indexed.push_back(shape[axis]);
    const TensorView places{args.scratch.data(), DType::int64, Shape{count}};
    launch(find_places, grid_for(count), stream_of(args), count, Sizes(indexed), AnyArray(indices),
           places.mutable_as<int64_t>(), fault);
    return Indices(places, slices, IndexMode::clip);
  }
};

template <size_t kIndices>
size_t places_scratch(const KernelSpec& spec) {
  const Shape& indices = spec.in[kIndices].shape;
  const int64_t count = indices.size_between(1, indices.ndim());
  return aligned(static_cast<size_t>(count) * sizeof(int64_t)) + SortSpace<uint32_t>::bytes(count);
}

void explain_places(const TensorView& indices, const Shape& shape, const char* who) {
  const HostCopy copy(indices);
  std::vector<int64_t> read(static_cast<size_t>(indices.shape.size_between(1, indices.shape.ndim())));
  read_places(copy.view(), shape, who, read.data());
}

void gather_nd_cuda(const KernelArgs& args, int64_t* fault) {
  const TensorView& data = args.in[0];
  const NamedPlaces named(args.in[1].shape, data.shape);
  const Indices places = named.find(args.in[1], data.shape, args, fault);
  if (data.size() > 0)
    gather(data, args.out[0], places, named.count, named.slice * size_of(data.dtype), stream_of(args));
}
void explain_gather_nd(const KernelArgs& args) { explain_places(args.in[1], args.in[0].shape, "gather_nd"); }

void backward_gather_nd_cuda(const KernelArgs& args, int64_t* fault) {
  const Shape& shape = args.out[0].shape;
  const NamedPlaces named(args.in[1].shape, shape);
  const Indices places = named.find(args.in[1], shape, args, fault);
  scatter_add(args, places, named.count, 1, named.slice, args.scratch.subspan(named.bytes()));
}
void explain_backward_gather_nd(const KernelArgs& args) {
  explain_places(args.in[1], args.out[0].shape, "gather_nd");
}

void scatter(const KernelArgs& args, size_t from, const Shape& shape, int64_t* fault) {
  const TensorView& indices = args.in[from + 1];
  const NamedPlaces named(indices.shape, shape);
  const Indices places = named.find(indices, shape, args, fault);
  put_slices(args.in[from], args.out[0], places, named.count, named.slice * size_of(args.out[0].dtype),
             args.scratch.subspan(named.bytes()), stream_of(args));
}
void scatter_nd_cuda(const ScatterParams& p, const KernelArgs& args, int64_t* fault) {
  fill(args.out[0], 0, stream_of(args));
  scatter(args, 0, p.shape, fault);
}
void explain_scatter_nd(const ScatterParams& p, const KernelArgs& args) {
  explain_places(args.in[1], p.shape, "scatter_nd");
}
void scatter_set_nd_cuda(const ScatterParams& p, const KernelArgs& args, int64_t* fault) {
  convert_array(args.in[0], args.out[0], stream_of(args));
  scatter(args, 1, p.shape, fault);
}
void explain_scatter_set_nd(const ScatterParams& p, const KernelArgs& args) {
  explain_places(args.in[2], p.shape, "_scatter_set_nd");
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
  list.kernel<take_cuda, take_support<false>>("take", "take_cuda", gpu);
  add_checked<take_or_raise, explain_take<0>, take_support<true>>(list, "take", "take_or_raise_cuda");
  add_checked<gather_nd_cuda, explain_gather_nd, places_scratch<1>>(list, "gather_nd", "gather_nd_cuda");
  add_checked<scatter_nd_cuda, explain_scatter_nd, sorted_support, places_scratch<1>>(list, "scatter_nd",
                                                                                      "scatter_nd_cuda");
  add_checked<scatter_set_nd_cuda, explain_scatter_set_nd, sorted_support, places_scratch<2>>(
      list, "_scatter_set_nd", "scatter_set_nd_cuda");
  list.kernel<embedding_cuda>("Embedding", "embedding_cuda", gpu);
  list.kernel<embedding_cuda>("_contrib_SparseEmbedding", "embedding_cuda", gpu);
  list.kernel<one_hot_cuda>("one_hot", "one_hot_cuda", gpu);
  list.kernel<onehot_encode_cuda>("_onehot_encode", "one_hot_cuda", gpu);
  list.kernel<pick_cuda>("pick", "pick_cuda", gpu);
  list.kernel<batch_take_cuda>("batch_take", "batch_take_cuda", gpu);
  list.kernel<ravel_multi_index_cuda>("_ravel_multi_index", "ravel_multi_index_cuda", gpu);
  list.kernel<unravel_index_cuda>("_unravel_index", "unravel_index_cuda", gpu);
  list.kernel<backward_take_cuda, backward_take_support<false>, scatter_add_scratch>(
      "_backward_take", "backward_take_cuda", gpu);
  add_checked<backward_take_or_raise, explain_take<1>, backward_take_support<true>, scatter_add_scratch>(
      list, "_backward_take", "backward_take_or_raise_cuda");
  add_checked<backward_gather_nd_cuda, explain_backward_gather_nd, sorted_support, places_scratch<1>>(
      list, "_backward_gather_nd", "backward_gather_nd_cuda");
  for (const char* op : {"_backward_Embedding", "_backward_SparseEmbedding"})
    list.kernel<backward_embedding_cuda, sorted_support, scatter_add_scratch>(op, "backward_embedding_cuda",
                                                                              gpu);
  list.kernel<backward_pick_cuda>("_backward_pick", "backward_pick_cuda", gpu);
  list.kernel<backward_batch_take_cuda>("_backward_batch_take", "backward_batch_take_cuda", gpu);
}

}  // namespace loomix::ops

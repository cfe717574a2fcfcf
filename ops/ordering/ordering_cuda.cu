// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "ops/axis_split.h"
#include "ops/cuda/arrays.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/cuda/order.h"
#include "ops/cuda/stream.h"
#include "ops/elemwise/loops.h"
#include "ops/families_cuda.h"
#include "ops/ordering/ordering.h"

// All lines are sorted at once, as one array of keys that begin with the number of the line. Where line and element do not fit into 64
// bits, the elements are sorted first, and then, as equal keys keep their order, the lines.
namespace loomix::ops {
namespace {

using namespace cuda;

// An element as a whole number of the same order: NaN is above all, zeros are equal.
struct OrderedBits {
  const void* data;
  DType dtype;
  bool ascending;

  __device__ uint64_t operator[](int64_t i) const {
    const int bits = 8 * static_cast<int>(size_of_type());
    const uint64_t key = ascending_bits(i);
    return ascending ? key : ~key & (~uint64_t{0} >> (64 - bits));
  }

 private:
  __device__ int size_of_type() const {
    switch (dtype) {
      case DType::float64:
      case DType::int64: return 8;
      case DType::float32:
      case DType::int32: return 4;
      case DType::float16:
      case DType::bfloat16: return 2;
      default: return 1;
    }
  }
  // Of a floating number with `width` bits whose largest finite ones lie below `infinity`.
  __device__ static uint64_t of_float(uint64_t bits, int width, uint64_t infinity) {
    const uint64_t sign = uint64_t{1} << (width - 1);
    const uint64_t size = bits & (sign - 1);
    if (size > infinity) return sign | (sign - 1);
    return bits & sign && size != 0 ? sign - size : sign | size;
  }
  __device__ uint64_t ascending_bits(int64_t i) const {
    switch (dtype) {
      case DType::float64: return of_float(static_cast<const uint64_t*>(data)[i], 64, 0x7ff0000000000000u);
      case DType::float32: return of_float(static_cast<const uint32_t*>(data)[i], 32, 0x7f800000u);
      case DType::float16: return of_float(static_cast<const uint16_t*>(data)[i], 16, 0x7c00u);
      case DType::bfloat16: return of_float(static_cast<const uint16_t*>(data)[i], 16, 0x7f80u);
      case DType::int64: return static_cast<const uint64_t*>(data)[i] ^ uint64_t { 1 } << 63;
      case DType::int32: return static_cast<const uint32_t*>(data)[i] ^ 0x80000000u;
      case DType::int8: return static_cast<const uint8_t*>(data)[i] ^ 0x80u;
      default: return static_cast<const uint8_t*>(data)[i];
    }
  }
};

// Lines along an axis; items are numbered line by line.
struct Lines {
  Divider size, inner;
  int64_t outer, count;

  explicit Lines(const AxisSplit& split)
      : size(split.size), inner(split.inner), outer(split.outer), count(split.lines()) {}
  // Where element `i` of a line stands in an array whose lines have `length` elements.
  __device__ int64_t at(int64_t line, int64_t i, int64_t length) const {
    const int64_t block = inner.quotient(line);
    return (block * length + i) * inner.divisor() + (line - block * inner.divisor());
  }
};

template <class Key>
__global__ void make_keys(int64_t items, Lines lines, OrderedBits data, int key_bits, Key* keys,
                          uint32_t* values) {
  for (const int64_t item : own_items(items)) {
    const int64_t line = lines.size.quotient(item);
    const uint64_t key = data[lines.at(line, item - line * lines.size.divisor(), lines.size.divisor())];
    keys[item] = static_cast<Key>(key_bits < 64 ? static_cast<uint64_t>(line) << key_bits | key : key);
    values[item] = static_cast<uint32_t>(item);
  }
}

__global__ void number_lines(int64_t items, Lines lines, const uint32_t* values, uint64_t* keys) {
  for (const int64_t i : own_items(items)) keys[i] = static_cast<uint64_t>(lines.size.quotient(values[i]));
}

// Where the first elements of each line go, in order. Null: not wanted.
struct Results {
  void* values = nullptr;
  void* mask = nullptr;
  MutableAnyArray indices = MutableAnyArray(TensorView{});
};

template <class T>
__global__ void put_first(int64_t items, Divider k, Lines lines, const uint32_t* sorted, T one, const T* data,
                          Results to) {
  const int64_t size = lines.size.divisor();
  for (const int64_t i : own_items(items)) {
    const int64_t line = k.quotient(i);
    const int64_t rank = i - line * k.divisor();
    const int64_t index = sorted[line * size + rank] - line * size;
    const int64_t from = lines.at(line, index, size);
    const int64_t place = lines.at(line, rank, k.divisor());
    if (to.values != nullptr) static_cast<T*>(to.values)[place] = data[from];
    if (to.mask != nullptr) static_cast<T*>(to.mask)[from] = one;
    if (to.indices.data != nullptr) to.indices.set(place, index);
  }
}

struct KeyWidth {
  int element, line;
  KeyWidth(DType dtype, int64_t lines)
      : element(8 * static_cast<int>(size_of(dtype))),
        line(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(lines - 1, 0)))) {}
  bool is_narrow() const { return element + line <= 32; }
  bool fits() const { return element + line <= 64; }
};

size_t order_scratch(const AxisSplit& split, DType dtype) {
  const int64_t items = split.size * split.lines();
  return KeyWidth(dtype, split.lines()).is_narrow() ? SortSpace<uint32_t>::bytes(items)
                                                    : SortSpace<uint64_t>::bytes(items);
}

// The items of all lines in order; the array lies in the scratch memory.
template <class Key>
const uint32_t* sort_lines(const KernelArgs& args, const Lines& lines, const KeyWidth& width,
                           bool ascending) {
  const cudaStream_t stream = stream_of(args);
  const int64_t items = args.in[0].size();
  SortSpace<Key> space(args.scratch, items);
  const int line_at = width.fits() ? width.element : 64;
  launch(make_keys<Key>, grid_for(items), stream, items, lines,
         OrderedBits{args.in[0].data, args.in[0].dtype, ascending}, line_at, space.keys(), space.values());
  space.sort(width.fits() ? width.element + width.line : width.element, stream);
  if constexpr (sizeof(Key) == 8) {
    if (!width.fits()) {
      space.turn();
      launch(number_lines, grid_for(items), stream, items, lines, space.values(), space.keys());
      space.sort(width.line, stream);
    }
  }
  return space.sorted_values();
}

void order(const KernelArgs& args, const AxisSplit& split, int64_t k, bool ascending, const Results& to) {
  const TensorView& data = args.in[0];
  if (data.size() == 0) return;
  const Lines lines(split);
  const KeyWidth width(data.dtype, split.lines());
  const uint32_t* const sorted = width.is_narrow() ? sort_lines<uint32_t>(args, lines, width, ascending)
                                                   : sort_lines<uint64_t>(args, lines, width, ascending);
  const int64_t items = split.lines() * k;
  const Number one(1, data.dtype);
  dispatch_bits(data.dtype, [&]<class T>(Type<T>) {
    T bits;
    __builtin_memcpy(&bits, one.bytes, sizeof(T));
    launch(put_first<T>, grid_for(items), stream_of(args), items, Divider(k), lines, sorted, bits,
           static_cast<const T*>(data.data), to);
  });
}

void sort_cuda(const SortParams& p, const KernelArgs& args) {
  const AxisSplit split(args.in[0].shape, p.axis, "sort");
  order(args, split, split.size, p.is_ascend,
        {.values = args.out[0].data, .indices = MutableAnyArray(args.out[1])});
}

void argsort_cuda(const ArgsortParams& p, const KernelArgs& args) {
  const AxisSplit split(args.in[0].shape, p.axis, "argsort");
  order(args, split, split.size, p.is_ascend, {.indices = MutableAnyArray(args.out[0])});
}

void topk_cuda(const TopkParams& p, const KernelArgs& args) {
  const AxisSplit split(args.in[0].shape, p.axis, "topk");
  const TensorView& first = args.out[0];
  Results to;
  if (p.ret_typ == TopkReturn::mask) {
    to.mask = first.data;
    fill(first, 0, stream_of(args));
  } else {
    if (p.ret_typ != TopkReturn::indices) to.values = first.data;
    to.indices = MutableAnyArray(args.out.back());
  }
  order(args, split, p.k > 0 ? p.k : split.size, p.is_ascend, to);
}

template <class P>
size_t lines_scratch(const P& p, const KernelSpec& spec) {
  return order_scratch(AxisSplit(spec.in[0].shape, p.axis, "sort"), spec.in[0].dtype);
}

template <class P>
Support lines_support(const P&, const KernelSpec& spec) {
  return spec.in[0].size() < kMostSorted ? Support::yes()
                                         : Support::no("it has more elements than are sorted");
}

template <class T>
__global__ void put_back(int64_t items, Divider k, Lines lines, AnyArray index, const T* grad, T* out) {
  for (const int64_t i : own_items(items)) {
    const int64_t line = k.quotient(i);
    const int64_t from = lines.at(line, i - line * k.divisor(), k.divisor());
    out[lines.at(line, index.whole(from), lines.size.divisor())] = grad[from];
  }
}

void backward_order_cuda(const SortParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  const TensorView& grad = args.in[0];
  fill(out, 0, stream_of(args));
  const AxisSplit split(out.shape, p.axis, "sort");
  if (grad.size() == 0) return;
  const int64_t k = grad.size() / split.lines();
  dispatch_bits(out.dtype, [&]<class T>(Type<T>) {
    launch(put_back<T>, grid_for(grad.size()), stream_of(args), grad.size(), Divider(k), Lines(split),
           AnyArray(args.in[1]), static_cast<const T*>(grad.data), static_cast<T*>(out.data));
  });
}

}  // namespace

void kernels_ordering_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  list.kernel<sort_cuda, lines_support<SortParams>, lines_scratch<SortParams>>("sort", "sort_cuda", gpu);
  list.kernel<argsort_cuda, lines_support<ArgsortParams>, lines_scratch<ArgsortParams>>("argsort",
                                                                                        "argsort_cuda", gpu);
  list.kernel<topk_cuda, lines_support<TopkParams>, lines_scratch<TopkParams>>("topk", "topk_cuda", gpu);
  list.kernel<backward_order_cuda>("_backward_order", "backward_order_cuda", gpu);
}

}  // namespace loomix::ops

// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/contrib.h"
#include "ops/cuda/arrays.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/cuda/stream.h"
#include "ops/elemwise/loops.h"
#include "ops/families_cuda.h"
#include "ops/index/gather_cuda.h"
#include "ops/strided.h"

namespace loomix::ops {
namespace {

using namespace cuda;

struct ListedAxes {
  int count = 0;
  Divider stride[Shape::kMaxDims], size[Shape::kMaxDims];
};
__global__ void list_places(int64_t count, Divider listed, ListedAxes axes, int64_t* out) {
  for (const int64_t item : own_items(count)) {
    const int64_t i = listed.quotient(item);
    const auto k = static_cast<int>(item - i * listed.divisor());
    const int64_t place = axes.stride[k].quotient(i);
    out[item] = place - axes.size[k].quotient(place) * axes.size[k].divisor();
  }
}

void index_array_cuda(const IndexArrayParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  const Strides strides(shape);
  ListedAxes axes;
  axes.count = p.axes ? p.axes->ndim() : shape.ndim();
  for (int k = 0; k < axes.count; ++k) {
    const int axis = p.axes ? normalize_axis((*p.axes)[k], shape.ndim(), "index_array") : k;
    axes.stride[k] = Divider(strides[axis]);
    axes.size[k] = Divider(shape[axis]);
  }
  const int64_t count = args.out[0].size();
  launch(list_places, grid_for(count), stream_of(args), count, Divider(axes.count), axes,
         args.out[0].mutable_as<int64_t>());
}

template <class T>
__global__ void put_elements(int64_t rows, int64_t columns, AnyArray index, const T* values, T* out) {
  for (const int64_t i : own_items(rows)) {
    const int64_t column = index.whole(i);
    if (column >= 0 && column < columns) out[i * columns + column] = values[i];
  }
}

void fill_element_cuda(const KernelArgs& args) {
  convert_array(args.in[0], args.out[0], stream_of(args));
  const int64_t rows = args.in[0].shape[0], columns = args.in[0].shape[1];
  dispatch_bits(args.out[0].dtype, [&]<class T>(Type<T>) {
    launch(put_elements<T>, grid_for(rows), stream_of(args), rows, columns, AnyArray(args.in[2]),
           static_cast<const T*>(args.in[1].data), static_cast<T*>(args.out[0].data));
  });
}

__global__ void check_row_numbers(int64_t count, AnyArray index, int64_t rows, int64_t* fault) {
  for (const int64_t i : own_items(count)) {
    const int64_t row = index.whole(i);
    if (row < 0 || row >= rows) report(fault);
  }
}

void index_copy_cuda(const KernelArgs& args, int64_t* fault) {
  const int64_t rows = args.in[0].shape[0], count = args.in[1].size();
  launch(check_row_numbers, grid_for(count), stream_of(args), count, AnyArray(args.in[1]), rows, fault);
  convert_array(args.in[0], args.out[0], stream_of(args));
  if (args.in[2].size() == 0) return;
  put_slices(args.in[2], args.out[0], Indices(args.in[1], rows, IndexMode::clip), count,
             args.in[2].bytes() / count, args.scratch, stream_of(args));
}
void explain_index_copy(const KernelArgs& args) {
  check_rows(HostCopy(args.in[1]).view(), args.in[0].shape[0]);
}
size_t index_copy_scratch(const KernelSpec& spec) { return SortSpace<uint32_t>::bytes(spec.in[1].size()); }
Support index_copy_support(const KernelSpec& spec) {
  return spec.in[1].size() < kMostSorted && spec.in[0].shape[0] < kMostSorted
             ? Support::yes()
             : Support::no("it has more rows than are sorted");
}

}  // namespace

void kernels_contrib_index_cuda(KernelList& list) {
  add_checked<index_copy_cuda, explain_index_copy, index_copy_support, index_copy_scratch>(
      list, "_contrib_index_copy", "index_copy_cuda");
  list.kernel<index_array_cuda>("_contrib_index_array", "index_array_cuda", DeviceType::gpu);
  list.kernel<fill_element_cuda>("fill_element_0index", "fill_element_cuda", DeviceType::gpu);
}

}  // namespace loomix::ops

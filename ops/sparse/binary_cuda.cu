// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <vector>

#include "engine/device/cuda/element.h"
#include "ndarray/sparse.h"
#include "ops/cuda/index.h"
#include "ops/cuda/math.h"
#include "ops/cuda/stream.h"
#include "ops/elemwise/binary_functors.h"
#include "ops/families_cuda.h"
#include "ops/sparse/find_cuda.h"
#include "ops/sparse/sparse.h"

// Sums and products of two arrays of one sparse kind. The host merges their indexes, which lie there; on the device each stored
// element of the result looks for its place in both.
namespace loomix::ops {
namespace {

using namespace cuda;

// One operand on the device: ids of rows, or columns with where rows start.
struct Stored {
  const void* values;
  const int64_t *ids, *starts;
  int64_t count;
  bool sorted;

  template <class T>
  __device__ Computed<T> at(int64_t place, int64_t item, int64_t width) const {
    return place < 0 ? Computed<T>(0) : load(static_cast<const T*>(values)[place * width + item]);
  }
};

template <class F, class T>
struct CombineRows {
  Divider width;
  const int64_t* ids;
  Stored a, b;
  T* to;
  __device__ void operator()(int64_t i) const {
    const int64_t row = width.quotient(i), item = i - row * width.divisor();
    const int64_t in_a = find(a.ids, 0, a.count, ids[row], true),
                  in_b = find(b.ids, 0, b.count, ids[row], true);
    to[i] =
        store<T>(F::f(Math{}, a.at<T>(in_a, item, width.divisor()), b.at<T>(in_b, item, width.divisor())));
  }
};

template <class F, class T>
struct CombineRow {
  const int64_t *starts, *columns;
  Stored a, b;
  T* to;
  __device__ void operator()(int64_t row) const {
    for (int64_t k = starts[row]; k < starts[row + 1]; ++k) {
      const int64_t in_a = find(a.ids, a.starts[row], a.starts[row + 1], columns[k], a.sorted);
      const int64_t in_b = find(b.ids, b.starts[row], b.starts[row + 1], columns[k], b.sorted);
      to[k] = store<T>(F::f(Math{}, a.at<T>(in_a, 0, 1), b.at<T>(in_b, 0, 1)));
    }
  }
};

// The ids of one row of a csr matrix, or of a row_sparse array, in order.
std::vector<int64_t> ids_of(const Storage& storage, int64_t row) {
  const bool csr = storage.stype() == StorageType::csr;
  const int64_t first = csr ? storage.indptr()[row] : 0,
                last = csr ? storage.indptr()[row + 1] : storage.count();
  std::vector<int64_t> ids(storage.indices() + first, storage.indices() + last);
  std::ranges::sort(ids);
  return ids;
}

bool is_sorted(const Storage& storage, int64_t rows) {
  for (int64_t row = 0; storage.stype() == StorageType::csr && row < rows; ++row) {
    if (!std::is_sorted(storage.indices() + storage.indptr()[row],
                        storage.indices() + storage.indptr()[row + 1]))
      return false;
  }
  return true;
}

void merge_indexes(const Storage& a, const Storage& b, bool joint, const TensorView& out, Storage& to) {
  const bool csr = to.stype() == StorageType::csr;
  std::vector<int64_t> ids, starts{0};
  for (int64_t row = 0; row < (csr ? out.shape[0] : 1); ++row) {
    const std::vector<int64_t> left = ids_of(a, row), right = ids_of(b, row);
    if (joint) std::ranges::set_intersection(left, right, std::back_inserter(ids));
    else std::ranges::set_union(left, right, std::back_inserter(ids));
    starts.push_back(static_cast<int64_t>(ids.size()));
  }
  to.resize_sparse(std::ssize(ids), (csr ? 1 : row_size(out.shape)) * size_of(out.dtype),
                   csr ? std::ssize(starts) : 0);
  std::ranges::copy(ids, to.indices());
  if (csr) std::ranges::copy(starts, to.indptr());
  publish_index(to, out.shape);
}

Stored stored_on_device(const Storage& storage, const Shape& shape) {
  const DeviceIndex index = device_index(storage, shape);
  return {storage.data(), index.indices, index.starts, storage.count(), is_sorted(storage, shape[0])};
}

template <class F, bool joint>
void combine_cuda(const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const TensorView& out = args.out[0];
  const Storage &a = input_storage(args, 0), &b = input_storage(args, 1);
  Storage& to = output_storage(args, 0);
  merge_indexes(a, b, joint, out, to);
  if (to.count() == 0) return;
  const DeviceIndex index = device_index(to, out.shape);
  const Stored left = stored_on_device(a, out.shape), right = stored_on_device(b, out.shape);
  dispatch_floating(out.dtype, "elementwise", [&]<class T>(Type<T>) {
    T* const values = static_cast<T*>(to.data());
    if (to.stype() == StorageType::csr) {
      launch_each(stream_of(args), out.shape[0],
                  CombineRow<F, T>{index.starts, index.indices, left, right, values});
    } else {
      const int64_t width = row_size(out.shape);
      launch_each(stream_of(args), to.count() * width,
                  CombineRows<F, T>{Divider(width), index.indices, left, right, values});
    }
  });
}

Support combines(const KernelSpec& spec) {
  const StorageType kind = spec.in_stype(0);
  if (kind == StorageType::dense || spec.in_stype(1) != kind || spec.out_stype(0) != kind)
    return Support::no("the arrays are not of one sparse kind");
  if (spec.in[0].shape != spec.in[1].shape) return Support::no("the shapes differ");
  if (spec.req[0] == Req::add) return Support::no("it cannot add to its output");
  return is_floating(spec.out[0].dtype) ? Support::yes() : Support::no("it is for floating types");
}

}  // namespace

void kernels_sparse_binary_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  for (const char* op : {"elemwise_add", "_grad_add"})
    add_sparse<combine_cuda<fn::Add, false>, combines>(list, op, "combine_stored_cuda", gpu);
  add_sparse<combine_cuda<fn::Sub, false>, combines>(list, "elemwise_sub", "combine_stored_cuda", gpu);
  for (const char* op : {"elemwise_mul", "broadcast_mul"})
    add_sparse<combine_cuda<fn::Mul, true>, combines>(list, op, "combine_stored_cuda", gpu);
}

}  // namespace loomix::ops

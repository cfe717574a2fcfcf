// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/element.h"
#include "ndarray/sparse.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/sparse/sparse.h"

// Dense arrays of sparse ones, on the device. The other way the host goes: what is stored depends on the values.
namespace loomix::ops {
namespace {

using namespace cuda;

template <class T>
struct ScatterRows {
  Divider width;
  const int64_t* ids;
  const T* from;
  T* to;
  __device__ void operator()(int64_t i) const {
    const int64_t row = width.quotient(i);
    to[ids[row] * width.divisor() + (i - row * width.divisor())] = from[i];
  }
};
template <class T>
struct ScatterRow {
  int64_t width;
  const int64_t *starts, *columns;
  const T* from;
  T* to;
  __device__ void operator()(int64_t row) const {
    for (int64_t k = starts[row]; k < starts[row + 1]; ++k) to[row * width + columns[k]] = from[k];
  }
};

void make_dense_cuda(const CastStorageParams&, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const Storage& from = input_storage(args, 0);
  const TensorView& out = args.out[0];
  const cudaStream_t stream = stream_of(args);
  fill(out, 0, stream);
  const DeviceIndex index = device_index(from, out.shape);
  dispatch_bits(out.dtype, [&]<class T>(Type<T>) {
    const T* const values = static_cast<const T*>(from.data());
    T* const to = static_cast<T*>(out.data);
    if (from.stype() == StorageType::csr) {
      launch_each(stream, out.shape[0], ScatterRow<T>{out.shape[1], index.starts, index.indices, values, to});
    } else {
      const int64_t width = row_size(out.shape);
      launch_each(stream, from.count() * width, ScatterRows<T>{Divider(width), index.indices, values, to});
    }
  });
}

Support makes_dense(const CastStorageParams& p, const KernelSpec& spec) {
  if (p.stype != StorageType::dense || spec.out_stype(0) != StorageType::dense ||
      spec.in_stype(0) == StorageType::dense)
    return Support::no("it makes dense arrays of sparse ones");
  return spec.req[0] == Req::add ? Support::no("it cannot add to its output") : Support::yes();
}

}  // namespace

void kernels_sparse_storage_cuda(KernelList& list) {
  add_sparse<make_dense_cuda, makes_dense>(list, "cast_storage", "make_dense_cuda", DeviceType::gpu);
}

}  // namespace loomix::ops

// SPDX-License-Identifier: Apache-2.0
#include "ndarray/sparse.h"
#include "ops/contrib/contrib.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/loss/label.h"
#include "ops/sparse/sparse.h"

// How many elements a csr matrix stores; its index has a copy on the device.
namespace loomix::ops {
namespace {

using namespace cuda;

struct CountRow {
  const int64_t* starts;
  int64_t rows_a_count;  // 1, or all rows
  int64_t* out;
  __device__ void operator()(int64_t i) const {
    out[i] = starts[(i + 1) * rows_a_count] - starts[i * rows_a_count];
  }
};

// Whole numbers: the order of additions does not matter.
struct CountColumn {
  const int64_t* columns;
  int64_t* out;
  __device__ void operator()(int64_t i) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(out + columns[i]), 1ull);
  }
};

void getnnz_cuda(const GetnnzParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const Storage& from = input_storage(args, 0);
  const Shape& shape = args.in[0].shape;
  auto* const out = args.out[0].mutable_as<int64_t>();
  const DeviceIndex index = device_index(from, shape);
  const int axis = p.axis ? normalize_axis(*p.axis, 2, "getnnz") : -1;
  if (axis != 0) {
    launch_each(stream_of(args), args.out[0].size(), CountRow{index.starts, axis < 0 ? shape[0] : 1, out});
  } else {
    fill(args.out[0], 0, stream_of(args));
    launch_each(stream_of(args), from.count(), CountColumn{index.indices, out});
  }
}

Support counts(const GetnnzParams&, const KernelSpec& spec) {
  const bool fits = spec.in_stype(0) == StorageType::csr && spec.out_stype(0) == StorageType::dense;
  return fits ? Support::yes() : Support::no("it counts what a csr matrix stores");
}

}  // namespace

void kernels_contrib_stored_cuda(KernelList& list) {
  add_sparse<getnnz_cuda, counts>(list, "_contrib_getnnz", "getnnz_cuda", DeviceType::gpu);
}

}  // namespace loomix::ops

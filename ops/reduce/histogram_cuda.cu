// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/element.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/report.h"
#include "ops/families_cuda.h"
#include "ops/reduce/histogram_bins.h"

namespace loomix::ops {
namespace {

using namespace cuda;

template <class T>
struct DeviceItem {
  using Number = Computed<T>;
  static __host__ __device__ Number load(T item) { return cuda::load(item); }
  static __host__ __device__ T store(Number number) { return cuda::store<T>(number); }
};

constexpr int64_t kBlockBins = 4096;  // that fit a block's memory

// Blocks count in memory of their own where the bins fit; whole numbers are exact in any order.
template <class T, class Bins>
__global__ void count_items(int64_t count, Bins bins, bool in_block, const T* items, int64_t* counts) {
  __shared__ unsigned own[kBlockBins];
  if (in_block) {
    for (int64_t k = threadIdx.x; k < bins.count; k += blockDim.x) own[k] = 0;
    __syncthreads();
  }
  auto* const to = reinterpret_cast<unsigned long long*>(counts);
  const auto first = bins.edge(0), last = bins.edge(bins.count);
  for (const int64_t i : own_items(count)) {
    const auto item = load(items[i]);
    if (!(item >= first && item <= last)) continue;
    const int64_t bin = bins.bin_of(item);
    if (in_block) atomicAdd(own + bin, 1u);
    else atomicAdd(to + bin, 1ull);
  }
  if (!in_block) return;
  __syncthreads();
  for (int64_t k = threadIdx.x; k < bins.count; k += blockDim.x) {
    if (own[k] != 0) atomicAdd(to + k, static_cast<unsigned long long>(own[k]));
  }
}

template <class T, class Bins>
struct PutEdges {
  Bins bins;
  T* out;
  __device__ void operator()(int64_t i) const { out[i] = bins.stored_edge(i); }
};

template <class T>
struct CheckEdges {
  const T* edges;
  int64_t* fault;
  __device__ void operator()(int64_t i) const {
    if (load(edges[i + 1]) < load(edges[i])) report(fault);
  }
};

template <class T, class Bins>
void make_histogram(const Bins& bins, const KernelArgs& args) {
  const cudaStream_t stream = stream_of(args);
  const int64_t count = args.in[0].size();
  if (args.req[0] != Req::null) {
    fill(args.out[0], 0, stream);
    if (count > 0) {
      const bool in_block = bins.count <= kBlockBins;
      constexpr int64_t kItems = 16;  // of a thread, at least: a block's sums are added once
      launch(count_items<T, Bins>, grid_for(ceil_divide(count, kItems)), stream, count, bins, in_block,
             args.in[0].as<T>(), args.out[0].mutable_as<int64_t>());
    }
  }
  if (args.req[1] != Req::null)
    launch_each(stream, bins.count + 1, PutEdges<T, Bins>{bins, args.out[1].mutable_as<T>()});
}

void histogram_cuda(const HistogramParams& p, const KernelArgs& args, int64_t* fault) {
  dispatch_numeric(args.in[0].dtype, "histogram", [&]<class T>(Type<T>) {
    if (p.bin_cnt) return make_histogram<T>(EvenBins<T, DeviceItem<T>>(p), args);
    const int64_t bins = args.in[1].size() - 1;
    launch_each(stream_of(args), bins, CheckEdges<T>{args.in[1].as<T>(), fault});
    make_histogram<T>(GivenBins<T, DeviceItem<T>>{args.in[1].as<T>(), bins}, args);
  });
}

void explain_histogram(const KernelArgs& args) { check_edges(HostCopy(args.in[1]).view()); }

}  // namespace

void kernels_histogram_cuda(KernelList& list) {
  add_checked<histogram_cuda, explain_histogram>(list, "_histogram", "histogram_cuda");
}

}  // namespace loomix::ops

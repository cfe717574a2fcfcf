// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/channel_sums.h"

#include <algorithm>

#include "engine/device/cuda/element.h"
#include "engine/device/cuda/launch.h"
#include "ops/cuda/index.h"
#include "ops/cuda/reduce.h"

namespace loomix::cuda {
namespace {

constexpr int kColumns = 32, kRows = 8;  // of a block, where channels are neighbours in memory

// Parts of the items that are summed by blocks of their own, so that the device is busy though channels are few.
int64_t parts_of(const ChannelAxes& axes) {
  constexpr int64_t kBlocks = 1024, kFewestItems = 2048, kMostParts = 65535;
  const int64_t items = axes.outer * axes.inner;
  const int64_t columns = axes.inner == 1 ? ceil_divide(axes.channels, kColumns) : axes.channels;
  const int64_t fewest = axes.inner == 1 ? kFewestItems / kColumns : kFewestItems;
  return std::clamp<int64_t>(std::min(kBlocks / std::max<int64_t>(columns, 1), ceil_divide(items, fewest)), 1,
                             kMostParts);
}

// One block for each channel and part; to[part * channels + channel].
template <class T>
__global__ void sum_planes(ChannelAxes axes, Divider inner, int64_t length, const T* x, Accum<T>* to) {
  const int64_t channel = blockIdx.x, items = axes.outer * axes.inner;
  const int64_t begin = blockIdx.y * length;
  const int64_t end = begin + length < items ? begin + length : items;
  Accum<T> sum = 0;
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const int64_t image = inner.quotient(i);
    sum += load(x[(image * axes.channels + channel) * axes.inner + i - image * axes.inner]);
  }
  sum = merge_block(sum, Accum<T>{0}, Plus{});
  if (threadIdx.x == 0) to[blockIdx.y * axes.channels + channel] = sum;
}

// Blocks of 32 channels and 8 rows.
template <class T>
__global__ void sum_columns(ChannelAxes axes, int64_t length, const T* x, Accum<T>* to) {
  __shared__ Accum<T> of_rows[kRows][kColumns];
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * kColumns + threadIdx.x;
  const int64_t begin = blockIdx.y * length;
  const int64_t end = begin + length < axes.outer ? begin + length : axes.outer;
  Accum<T> sum = 0;
  if (channel < axes.channels) {
    for (int64_t row = begin + threadIdx.y; row < end; row += kRows)
      sum += load(x[row * axes.channels + channel]);
  }
  of_rows[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || channel >= axes.channels) return;
#pragma unroll
  for (int row = 1; row < kRows; ++row) sum += of_rows[row][threadIdx.x];
  to[blockIdx.y * axes.channels + channel] = sum;
}

template <class T>
__global__ void join_parts(int64_t channels, int64_t parts, const Accum<T>* from, bool add, T* out) {
  for (const int64_t channel : own_items(channels)) {
    Accum<T> sum = add ? load(out[channel]) : Accum<T>{0};
    for (int64_t part = 0; part < parts; ++part) sum += from[part * channels + channel];
    out[channel] = store<T>(sum);
  }
}

}  // namespace

size_t channel_sums_scratch(const ChannelAxes& axes, DType dtype) {
  return static_cast<size_t>(parts_of(axes) * axes.channels) * (dtype == DType::float64 ? 8 : 4);
}

void channel_sums(const ChannelAxes& axes, const TensorView& x, const TensorView& out, bool add,
                  void* scratch, cudaStream_t stream) {
  if (axes.channels == 0) return;
  const int64_t parts = parts_of(axes), length = ceil_divide(axes.outer * axes.inner, parts);
  dispatch_floating(x.dtype, "channel_sums", [&]<class T>(Type<T>) {
    auto* const sums = static_cast<Accum<T>*>(scratch);
    if (axes.inner == 1) {
      launch(sum_columns<T>,
             {{unsigned(ceil_divide(axes.channels, kColumns)), unsigned(parts)}, {kColumns, kRows}}, stream,
             axes, length, x.as<T>(), sums);
    } else {
      launch(sum_planes<T>, {{unsigned(axes.channels), unsigned(parts)}, kThreads}, stream, axes,
             Divider(axes.inner), length, x.as<T>(), sums);
    }
    launch(join_parts<T>, grid_for(axes.channels), stream, axes.channels, parts, sums, add,
           out.mutable_as<T>());
  });
}

}  // namespace loomix::cuda

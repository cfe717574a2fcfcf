// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "ndarray/tensor_view.h"

// Sums for each channel: gradients of biases.
namespace loomix::cuda {

// Where the channels of an array lie: (outer, channels, inner).
struct ChannelAxes {
  int64_t outer = 1, channels = 1, inner = 1;
};

// Of scratch memory that channel_sums() uses, for parts that are summed side by side.
size_t channel_sums_scratch(const ChannelAxes& axes, DType dtype);
// out[c] = the sum of x[:, c, :], plus what is there if `add`. Floating types; halves are summed in float, in a fixed order.
void channel_sums(const ChannelAxes& axes, const TensorView& x, const TensorView& out, bool add,
                  void* scratch, cudaStream_t stream);

}  // namespace loomix::cuda

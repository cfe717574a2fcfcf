// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "ops/conv/convolution.h"

namespace loomix::cuda {

// A pass of a convolution by plain sums, one thread or block for each element: for what the library refuses. No bias.
void direct_convolution(const ops::ConvGeometry& geometry, ops::ConvPass pass, DType dtype, const void* a,
                        const void* b, void* out, bool add, cudaStream_t stream);

}  // namespace loomix::cuda

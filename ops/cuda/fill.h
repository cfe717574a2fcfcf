// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "ndarray/tensor_view.h"

namespace loomix::cuda {

// y[i] = value, converted to y's type.
void fill(const TensorView& y, double value, cudaStream_t stream);

}  // namespace loomix::cuda

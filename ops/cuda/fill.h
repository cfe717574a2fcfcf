// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "ndarray/tensor_view.h"

namespace loomix::cuda {

// y[i] = value, converted to y's type.
void fill(const TensorView& y, double value, cudaStream_t stream);

// y[i] = x[i], converted to y's type. A copy where the types agree; nothing where they are the same memory, too.
void convert_array(const TensorView& x, const TensorView& y, cudaStream_t stream);

}  // namespace loomix::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/cuda/stream.h"
#include "ops/elemwise/loops.h"
#include "ops/strided.h"

namespace loomix::cuda {

// As ops::copy_strided.
void copy_strided(ops::StridedCopy plan, const TensorView& from, const TensorView& to, cudaStream_t stream);

// The same from one element, whatever the plan says of `from`.
void fill_strided(ops::StridedCopy plan, const ops::Number& number, const TensorView& to,
                  cudaStream_t stream);

}  // namespace loomix::cuda

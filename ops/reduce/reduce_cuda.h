// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "ops/cuda/stream.h"
#include "ops/reduce/reduce.h"

// Folds over any axes, on a stream. The order of additions depends on shapes alone.
namespace loomix::cuda {

// The host's part of a fold's geometry fits into the parameters of a kernel.
bool can_reduce(const Shape& x, const ops::AxisSet& axes);

// Bytes that reduce_array() is given: none, or the results of pieces where few outputs take many elements.
size_t reduce_scratch(const Shape& x, const ops::AxisSet& axes);
void reduce_array(ops::Reduction op, ops::Finish finish, const TensorView& x, const ops::AxisSet& axes,
                  const TensorView& y, std::span<std::byte> scratch, cudaStream_t stream);

size_t moments_scratch(const Shape& x, const ops::AxisSet& axes);
// Mean and variance in one pass. One without data is left out.
void moments_array(const TensorView& x, const ops::AxisSet& axes, const TensorView& mean,
                   const TensorView& variance, std::span<std::byte> scratch, cudaStream_t stream);

}  // namespace loomix::cuda

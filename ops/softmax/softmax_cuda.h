// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/cuda/stream.h"
#include "ops/softmax/softmax.h"

namespace loomix::cuda {

// data -> output, with lengths if there are some.
void softmax_rows(ops::SoftmaxKind kind, const ops::SoftmaxRows& rows, double scale, const TensorView& data,
                  const TensorView* length, const TensorView& out, cudaStream_t stream);
// grad, output -> gradient of the data.
void softmax_backward_rows(ops::SoftmaxKind kind, const ops::SoftmaxRows& rows, double scale,
                           const TensorView& grad, const TensorView& output, const TensorView& out,
                           cudaStream_t stream);

}  // namespace loomix::cuda

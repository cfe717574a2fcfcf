// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "ops/conv/cudnn_options.h"

// Convolutions by cuDNN (dnn_cudnn.cc), or by the stand-in.
namespace loomix::cuda {

// A pass of a convolution whose algorithm is chosen. Safe for several runs at once.
class ConvPlan {
 public:
  virtual ~ConvPlan() = default;
  // out = what the pass makes of a and b (see ops::ConvOperands), plus what is there if `add`. No bias.
  virtual void run(const void* a, const void* b, void* out, bool add, void* workspace,
                   cudaStream_t stream) const = 0;
  size_t workspace_bytes = 0;
};

// Null where the library takes no such convolution, or none by the algorithm that is asked for. Algorithms are those whose
// results do not depend on timing. May take some tenths of a second where they are timed.
std::unique_ptr<ConvPlan> plan_convolution(const ops::ConvGeometry& geometry, ops::ConvPass pass, DType dtype,
                                           const ops::CudnnOptions& options);

}  // namespace loomix::cuda

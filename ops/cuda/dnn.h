// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "base/settings.h"
#include "ops/conv/convolution.h"

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

struct ConvOptions {
  bool tf32 = true;            // whether factors of type float32 may lose mantissa bits (10 are left)
  size_t workspace_bytes = 0;  // the most that may be used
};

// As settings say.
inline ConvOptions conv_options() {
  return {settings().cuda_conv_tf32, static_cast<size_t>(settings().cuda_conv_workspace_mb) << 20};
}

// Null where the library takes no such convolution. Algorithms are those whose results do not depend on timing.
std::unique_ptr<ConvPlan> plan_convolution(const ops::ConvGeometry& geometry, ops::ConvPass pass, DType dtype,
                                           const ConvOptions& options);

}  // namespace loomix::cuda

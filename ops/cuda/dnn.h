// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ops/conv/cudnn_options.h"

// Convolutions by cuDNN (conv_graph_plan_cudnn.cc, dnn_cudnn.cc), or by the stand-in.
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

// What a forward convolution does with its sums before it rounds and writes them: out = relu(sums + residual + bias).
struct ConvEpilogue {
  bool bias = false, residual = false, relu = false;
};

// A forward convolution with its epilogue as one graph of the library's. Safe for several runs at once, on any device.
class ConvGraphPlan {
 public:
  static constexpr size_t kAlignment = 16;  // of each array, in bytes
  struct Arrays {
    const void *data, *weight, *bias = nullptr, *residual = nullptr;
    void* out;

    bool are_aligned() const {
      uintptr_t all = 0;
      for (const void* array : {data, weight, bias, residual, static_cast<const void*>(out)})
        all |= reinterpret_cast<uintptr_t>(array);
      return all % kAlignment == 0;
    }
  };
  virtual ~ConvGraphPlan() = default;
  // False, with nothing done, where an array does not begin at a multiple of kAlignment, or the current device has no such graph.
  virtual bool run(const Arrays& arrays, void* workspace, cudaStream_t stream) const = 0;
  size_t workspace_bytes = 0;
};

// Null where the library has no such graph; for one without an epilogue, too. The choice is made as for plan_convolution.
std::unique_ptr<ConvGraphPlan> plan_conv_graph(const ops::ConvGeometry& geometry, DType dtype,
                                               const ConvEpilogue& epilogue,
                                               const ops::CudnnOptions& options);

// Null where the library takes no such convolution, or none by the algorithm that is asked for. Algorithms are those whose
// results do not depend on timing. May take some tenths of a second where they are timed.
std::unique_ptr<ConvPlan> plan_convolution(const ops::ConvGeometry& geometry, ops::ConvPass pass, DType dtype,
                                           const ops::CudnnOptions& options);

}  // namespace loomix::cuda

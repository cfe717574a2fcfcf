// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/dtype.h"

// Fourier transforms by cuFFT (fft_cufft.cc), or by the stand-in.
namespace loomix::cuda {

// Transforms of `batch` vectors of `size` complex numbers, pairs of the type, one after the other. Not divided by the size.
class FftPlan {
 public:
  virtual ~FftPlan() = default;
  // y may be x.
  virtual void run(const void* x, void* y, bool inverse, void* workspace, cudaStream_t stream) const = 0;
  size_t workspace_bytes = 0;
};
std::unique_ptr<FftPlan> plan_fft(DType dtype, int64_t size, int64_t batch);

}  // namespace loomix::cuda

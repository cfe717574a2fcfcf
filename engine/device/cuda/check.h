// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "base/error.h"

namespace loomix::engine {

// Throws what a call of CUDA's runtime returned, if that is an error.
inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw DeviceError(
      fmt::format("[cuda] {} failed: {} ({}).", what, cudaGetErrorString(status), cudaGetErrorName(status)));
}

}  // namespace loomix::engine

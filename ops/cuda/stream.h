// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/device/cuda/launch.h"
#include "ops/kernel.h"

namespace loomix::cuda {

inline cudaStream_t stream_of(const ops::KernelArgs& args) {
  return static_cast<cudaStream_t>(args.context->stream);
}

}  // namespace loomix::cuda

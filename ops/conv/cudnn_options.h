// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "base/settings.h"
#include "ops/conv/convolution.h"

namespace loomix::ops {

// How cuDNN's algorithm for a convolution is found.
struct CudnnOptions {
  bool tf32 = true;            // whether factors of type float32 may lose mantissa bits (10 are left)
  size_t workspace_bytes = 0;  // the most that may be used
  bool measure = false;        // by timing them, where no earlier process did; else by cuDNN's estimates
  std::optional<ConvAlgorithm> only = {};  // another kind is not taken
};

// By the attributes `cudnn_tune`, `workspace` and `algorithm`, and by the settings.
CudnnOptions cudnn_options(const ConvolutionParams& p, const Settings& given = settings());

}  // namespace loomix::ops

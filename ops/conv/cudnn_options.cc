// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/cudnn_options.h"

#include <algorithm>
#include <limits>

namespace loomix::ops {

CudnnOptions cudnn_options(const ConvolutionParams& p, const Settings& given) {
  const CudnnTune tune =
      given.enforce_determinism ? CudnnTune::off : p.cudnn_tune.value_or(CudnnTune(given.cuda_conv_tune));
  const int64_t megabytes = std::min<int64_t>(p.workspace, given.cuda_conv_workspace_mb);
  return {.tf32 = given.cuda_conv_tf32,
          .workspace_bytes = tune == CudnnTune::fastest ? std::numeric_limits<size_t>::max()
                                                        : static_cast<size_t>(megabytes) << 20,
          .measure = tune != CudnnTune::off,
          .only = asked_for(p)};
}

}  // namespace loomix::ops

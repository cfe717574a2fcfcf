// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/dnn.h"

namespace loomix::cuda {

std::unique_ptr<ConvPlan> plan_convolution(const ops::ConvGeometry&, ops::ConvPass, DType,
                                           const ops::CudnnOptions&) {
  return nullptr;
}

std::unique_ptr<ConvGraphPlan> plan_conv_graph(const ops::ConvGeometry&, DType, const ConvEpilogue&,
                                               const ops::CudnnOptions&) {
  return nullptr;
}

}  // namespace loomix::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/conv/convolution.h"

namespace loomix::ops {

class OpTable;

// Convolution whose filters read the data at places of their own: by an offset, and in the modulated form with a factor,
// for each tap at each place.
struct DeformableConvolutionParams : ConvolutionParams {
  int num_deformable_group = 1;
  static constexpr bool kModulated = false;
  static void fields(FieldList<DeformableConvolutionParams>& f);
};

struct ModulatedDeformableConvolutionParams : ConvolutionParams {
  int num_deformable_group = 1;
  int im2col_step = 64;
  static constexpr bool kModulated = true;
  static void fields(FieldList<ModulatedDeformableConvolutionParams>& f);
};

}  // namespace loomix::ops

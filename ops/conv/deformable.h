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

void register_deformable(OpTable& table);

template <class P>
void deformable_cpu(const P&, const KernelArgs&);
template <class P>
void deformable_backward_cpu(const P&, const KernelArgs&);
template <class P>
size_t deformable_scratch(const P&, const KernelSpec&);
template <class P>
size_t deformable_backward_scratch(const P&, const KernelSpec&);

}  // namespace loomix::ops

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/conv/convolution.h"

namespace loomix::ops {

class OpTable;

struct DeconvolutionParams : ConvolutionParams {
  Shape adj;
  Shape target_shape;

  DeconvolutionParams() {
    workspace = 512;
    no_bias = true;
  }
  static void fields(FieldList<DeconvolutionParams>& f) {
    list_window(f);
    f("adj", &DeconvolutionParams::adj, "Added to the output's size; smaller than stride.");
    f("target_shape", &DeconvolutionParams::target_shape,
      "Size of the output; pad and adj then follow from it.");
    list_others(f, kConvLayouts);
    list_algorithm(f);
  }
};

// Zeros that are taken off each axis of a deconvolution, and its size.
struct DeconvolvedAxis {
  int64_t pad, size;
};
DeconvolvedAxis deconvolved(const DeconvolutionParams& p, int axis, int64_t in);

ConvGeometry geometry_of(const DeconvolutionParams& p, ConvPass pass, std::span<const TensorView> in,
                         std::span<const TensorView> out);
ConvOperands operands_of(const DeconvolutionParams& p, ConvPass pass, std::span<const TensorView> in);

// The attributes by which the functions of that name are chosen for P: those of Convolution serve Convolution_v1, too.
template <class P>
using ConvFamily =
    std::conditional_t<std::is_same_v<P, DeconvolutionParams>, DeconvolutionParams, ConvolutionParams>;

}  // namespace loomix::ops

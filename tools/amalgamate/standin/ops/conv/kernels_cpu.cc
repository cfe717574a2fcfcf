// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/conv_packed.h"
#include "ops/conv/deconvolution.h"
#include "ops/families.h"
#include "ops/rearranged.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// There is one fast kernel here, whichever algorithm is asked for.
Support one_support(const ConvolutionParams& p, const KernelSpec& spec) {
  ConvolutionParams any = p;
  any.algorithm.reset();
  return convolution_gemm_support(any, spec);
}

template <class P>
void convolution_cpu(const P& p, const KernelArgs& args) {
  conv_forward_cpu(geometry_of(p, ConvPass::forward, args.in, args.out),
                   operands_of(p, ConvPass::forward, args.in), args);
}

template <class P>
void add_convolution(OpTable& table, const char* op) {
  table.prepared_kernel<P, ConvPacked, one_support>(op, kConvPacked);
  add_rearranged<P, 0b001>(table, op, "convolution_rearranged");
  table.kernel<convolution_cpu<P>>(op, "convolution_cpu");
}

void deconvolution_cpu(const DeconvolutionParams& p, const KernelArgs& args) {
  conv_data_cpu(geometry_of(p, ConvPass::data, args.in, args.out), operands_of(p, ConvPass::data, args.in),
                args);
}

}  // namespace

std::optional<ConvAlgorithm> algorithm_of_setting() { return {}; }

void kernels_conv_cpu(OpTable& table) {
  add_convolution<ConvolutionParams>(table, "Convolution");
  add_convolution<ConvolutionV1Params>(table, "Convolution_v1");
  table.prepared_kernel<DeconvolutionParams, ConvKernel<DeconvolutionParams, ConvDataGemm>, one_support>(
      "Deconvolution", "deconvolution_gemm");
  add_rearranged<DeconvolutionParams, 0b001>(table, "Deconvolution", "deconvolution_rearranged");
  table.kernel<deconvolution_cpu>("Deconvolution", "deconvolution_cpu");
}

}  // namespace loomix::ops

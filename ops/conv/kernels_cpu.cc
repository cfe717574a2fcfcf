// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "ops/conv/conv_columns.h"
#include "ops/conv/deconvolution.h"
#include "ops/families.h"
#include "ops/rearranged.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Reference = void(const ConvGeometry&, const ConvOperands&, const KernelArgs&);

template <class P, ConvPass pass, Reference run>
void plain(const P& p, const KernelArgs& args) {
  run(geometry_of(p, pass, args.in, args.out), operands_of(p, pass, args.in), args);
}

template <class P>
void plain_bias(const P& p, const KernelArgs& args) {
  convolution_bias_cpu(p, args);
}

// `batched`: the inputs that have images along axis 0, a bit each.
template <class P, ConvPass pass, class Gemm, class Columns, Reference reference, uint32_t batched>
void add_pass(OpTable& table, const std::string& op) {
  using F = ConvFamily<P>;
  table.prepared_kernel<P, ConvKernel<F, Gemm>, convolution_gemm_support>(op, "convolution_gemm");
  table.prepared_kernel<P, ConvKernel<F, Columns>, conv_columns_support>(op, "convolution_cblas");
  add_rearranged<P, batched, pass == ConvPass::weight>(table, op, "convolution_rearranged");
  table.kernel<plain<P, pass, reference>>(op, "convolution_cpu");
}

// The three passes of a convolution of images, and the gradient of its bias.
template <class P, uint32_t batched_forward, uint32_t batched_data>
void add_passes(OpTable& table, const std::string& forward, const std::string& data, const std::string& of) {
  add_pass<P, ConvPass::forward, ConvGemm, ConvColumns, conv_forward_cpu, batched_forward>(table, forward);
  add_pass<P, ConvPass::data, ConvDataGemm, ConvDataColumns, conv_data_cpu, batched_data>(table, data);
  add_pass<P, ConvPass::weight, ConvWeightGemm, ConvWeightColumns, conv_weight_cpu, 0b011>(table,
                                                                                           of + "_weight");
  table.kernel<plain_bias<P>>(of + "_bias", "convolution_bias_cpu");
}

}  // namespace

void kernels_conv_cpu(OpTable& table) {
  kernels_conv_dnnl(table);
  const std::string of = "_backward_Convolution", v1 = of + "_v1", back = "_backward_Deconvolution";
  add_passes<ConvolutionParams, 0b001, 0b101>(table, "Convolution", of + "_data", of);
  add_passes<ConvolutionV1Params, 0b001, 0b101>(table, "Convolution_v1", v1 + "_data", v1);
  add_passes<DeconvolutionParams, 0b101, 0b001>(table, back + "_data", "Deconvolution", back);
}

}  // namespace loomix::ops

// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "ops/conv/conv_columns.h"
#include "ops/conv/deconvolution.h"
#include "ops/families.h"
#include "ops/rearranged.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class P, ConvPass pass, void (*run)(const ConvGeometry&, const ConvOperands&, const KernelArgs&)>
void plain(const P& p, const KernelArgs& args) {
  run(geometry_of(p, pass, args.in, args.out), operands_of(p, pass, args.in), args);
}

template <class P>
void plain_bias(const P& p, const KernelArgs& args) {
  convolution_bias_cpu(p, args);
}

// `batched`: the inputs that have images along axis 0, a bit each.
template <class P, uint32_t batched>
void add_forward(OpTable& table, const std::string& op) {
  table.prepared_kernel<P, ConvKernel<ConvFamily<P>, ConvGemm>, convolution_gemm_support>(op,
                                                                                          "convolution_gemm");
  table.prepared_kernel<P, ConvKernel<ConvFamily<P>, ConvColumns>, conv_columns_support>(op,
                                                                                         "convolution_cblas");
  add_rearranged<P, batched>(table, op, "convolution_rearranged");
  table.kernel<plain<P, ConvPass::forward, conv_forward_cpu>>(op, "convolution_cpu");
}

template <class P, uint32_t batched>
void add_data(OpTable& table, const std::string& op) {
  table.prepared_kernel<P, ConvKernel<ConvFamily<P>, ConvDataGemm>, convolution_gemm_support>(
      op, "convolution_data_gemm");
  table.prepared_kernel<P, ConvKernel<ConvFamily<P>, ConvDataColumns>, conv_columns_support>(
      op, "convolution_data_cblas");
  add_rearranged<P, batched>(table, op, "convolution_data_rearranged");
  table.kernel<plain<P, ConvPass::data, conv_data_cpu>>(op, "convolution_data_cpu");
}

template <class P>
void add_weight(OpTable& table, const std::string& op) {
  table.prepared_kernel<P, ConvKernel<ConvFamily<P>, ConvWeightGemm>, convolution_gemm_support>(
      op, "convolution_weight_gemm");
  table.prepared_kernel<P, ConvKernel<ConvFamily<P>, ConvWeightColumns>, conv_columns_support>(
      op, "convolution_weight_cblas");
  add_rearranged<P, 0b011, true>(table, op, "convolution_weight_rearranged");
  table.kernel<plain<P, ConvPass::weight, conv_weight_cpu>>(op, "convolution_weight_cpu");
}

template <class P>
void add_convolution(OpTable& table, const std::string& name) {
  add_forward<P, 0b001>(table, name);
  add_data<P, 0b101>(table, "_backward_" + name + "_data");
  add_weight<P>(table, "_backward_" + name + "_weight");
  table.kernel<plain_bias<P>>("_backward_" + name + "_bias", "convolution_bias_cpu");
}

}  // namespace

void kernels_conv_cpu(OpTable& table) {
  kernels_conv_dnnl(table);
  add_convolution<ConvolutionParams>(table, "Convolution");
  add_convolution<ConvolutionV1Params>(table, "Convolution_v1");
  using D = DeconvolutionParams;
  add_data<D, 0b001>(table, "Deconvolution");
  add_forward<D, 0b101>(table, "_backward_Deconvolution_data");
  add_weight<D>(table, "_backward_Deconvolution_weight");
  table.kernel<plain_bias<D>>("_backward_Deconvolution_bias", "convolution_bias_cpu");
}

}  // namespace loomix::ops

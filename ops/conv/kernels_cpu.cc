// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "ops/conv/convolution.h"
#include "ops/families.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class P, void (*run)(const ConvolutionParams&, const KernelArgs&)>
void as(const P& p, const KernelArgs& args) {
  run(p, args);
}

template <class P>
Support gemm_support(const P& p, const KernelSpec& spec) {
  return convolution_gemm_support(p, spec);
}

template <class P>
void add(OpTable& table, const std::string& name) {
  constexpr DeviceType cpu = DeviceType::cpu;
  table.prepared_kernel<P, ConvGemm, gemm_support<P>>(name, "convolution_gemm", cpu);
  table.prepared_kernel<P, ConvDataGemm, gemm_support<P>>("_backward_" + name + "_data",
                                                          "convolution_data_gemm", cpu);
  table.prepared_kernel<P, ConvWeightGemm, gemm_support<P>>("_backward_" + name + "_weight",
                                                            "convolution_weight_gemm", cpu);
  table.kernel<P, as<P, convolution_cpu>>(name, "convolution_cpu", cpu);
  table.kernel<P, as<P, convolution_data_cpu>>("_backward_" + name + "_data", "convolution_data_cpu", cpu);
  table.kernel<P, as<P, convolution_weight_cpu>>("_backward_" + name + "_weight", "convolution_weight_cpu",
                                                 cpu);
  table.kernel<P, as<P, convolution_bias_cpu>>("_backward_" + name + "_bias", "convolution_bias_cpu", cpu);
}

}  // namespace

void kernels_conv_cpu(OpTable& table) {
  kernels_conv_dnnl(table);
  add<ConvolutionParams>(table, "Convolution");
  add<ConvolutionV1Params>(table, "Convolution_v1");
}

}  // namespace loomix::ops

// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "ops/conv/convolution.h"
#include "ops/families.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Run = void (*)(const ConvolutionParams&, const KernelArgs&);

template <class P, Run run>
void as(const P& p, const KernelArgs& args) {
  run(p, args);
}

template <class P>
void add(OpTable& table, const std::string& name) {
  constexpr DeviceType cpu = DeviceType::cpu;
  table.kernel<P, as<P, convolution_cpu>>(name, "convolution_cpu", cpu);
  table.kernel<P, as<P, convolution_data_cpu>>("_backward_" + name + "_data", "convolution_data_cpu", cpu);
  table.kernel<P, as<P, convolution_weight_cpu>>("_backward_" + name + "_weight", "convolution_weight_cpu", cpu);
  table.kernel<P, as<P, convolution_bias_cpu>>("_backward_" + name + "_bias", "convolution_bias_cpu", cpu);
}

}  // namespace

void kernels_conv_cpu(OpTable& table) {
  add<ConvolutionParams>(table, "Convolution");
  add<ConvolutionV1Params>(table, "Convolution_v1");
}

}  // namespace loomix::ops

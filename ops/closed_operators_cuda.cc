// SPDX-License-Identifier: Apache-2.0
#include "ops/closed_operators.h"

#include <map>
#include <string_view>

#include "ops/conv/cudnn_options.h"
#include "ops/cuda/dnn.h"

// Which operators have kernels here that end with max(x, 0).
namespace loomix::ops {
namespace {

using Rule = const char* (*)(const AttrsBase& attrs, const KernelSpec& spec);

// Where the library has it as one graph: a kernel of its own for max(x, 0) could be one with others.
const char* convolution(const AttrsBase& attrs, const KernelSpec& spec) {
  const auto& p = attrs.as<ConvolutionParams>();
  CudnnOptions options = cudnn_options(p);
  if (p.cudnn_off || options.only == ConvAlgorithm::direct) return nullptr;
  options.measure = false;
  const ConvGeometry geometry(p, spec.in[0].shape);
  const bool is_taken = cuda::plan_conv_graph(geometry, spec.out[0].dtype, {.bias = !p.no_bias, .relu = true},
                                              options) != nullptr;
  return is_taken ? "_relu_Convolution" : nullptr;
}

const std::map<std::string_view, Rule> kWithRelu = {
    {"Convolution", convolution},
    {"FullyConnected", [](const AttrsBase&, const KernelSpec&) { return "_relu_FullyConnected"; }},
};

const char* with_relu(const OpDef& op, const AttrsBase& attrs, const KernelSpec& spec) {
  const auto found = kWithRelu.find(op.name);
  return found == kWithRelu.end() ? nullptr : found->second(attrs, spec);
}

}  // namespace
}  // namespace loomix::ops

// Looked up by closed_operators().
extern "C" [[gnu::visibility("default")]] const loomix::ops::ClosedOperators loomix_closed_operators{
    .with_relu = loomix::ops::with_relu};

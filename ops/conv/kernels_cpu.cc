// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>

#include "base/settings.h"
#include "ops/conv/conv_columns.h"
#include "ops/conv/deconvolution.h"
#include "ops/families.h"
#include "ops/kernel_choice.h"
#include "ops/rearranged.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Reference = void(const ConvGeometry&, const ConvOperands&, const KernelArgs&);

template <class P, ConvPass pass, Reference run>
void plain(const P& p, const KernelArgs& args) {
  check_followed(p, args.in);
  run(geometry_of(p, pass, args.in, args.out), operands_of(p, pass, args.in), args);
}

template <class P>
void plain_bias(const P& p, const KernelArgs& args) {
  convolution_bias_cpu(p, args);
}

void relu_convolution_cpu(const ConvolutionParams& p, const KernelArgs& args) {
  plain<ConvolutionParams, ConvPass::forward, conv_forward_cpu>(p, args);
  const TensorView& out = args.out[0];
  dispatch_floating(out.dtype, "_relu_Convolution", [&]<class T>(Type<T>) {
    for (T& item : std::span(out.mutable_as<T>(), static_cast<size_t>(out.size())))
      item = item <= T(0) ? T(0) : item;
  });
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

template <class P, uint32_t batched>
void add_forward(OpTable& table, const std::string& op) {
  add_pass<P, ConvPass::forward, ConvGemm, ConvColumns, conv_forward_cpu, batched>(table, op);
}

template <class P, uint32_t batched>
void add_data(OpTable& table, const std::string& op) {
  add_pass<P, ConvPass::data, ConvDataGemm, ConvDataColumns, conv_data_cpu, batched>(table, op);
}

// The gradients of weight and bias.
template <class P>
void add_weight(OpTable& table, const std::string& of) {
  add_pass<P, ConvPass::weight, ConvWeightGemm, ConvWeightColumns, conv_weight_cpu, 0b011>(table,
                                                                                           of + "_weight");
  table.kernel<plain_bias<P>>(of + "_bias", "convolution_bias_cpu");
}

// In a library without kernels for `fft`: what runs where no algorithm is asked for.
template <class P>
class OtherThanFft final : public KernelState {
 public:
  OtherThanFft(const OpDef& op, P p, const KernelSpec& spec) {
    p.algorithm.reset();
    attrs_ = make_attrs(std::move(p));
    choice_ = prepare_kernel(op, *attrs_, spec, {DeviceType::cpu, spec.cores});
    scratch_bytes = choice_.scratch_bytes;
    cost_ns = choice_.cost_ns;
  }
  void run(KernelArgs args) const {
    args.state = choice_.state.get();
    choice_.kernel->run(*attrs_, args);
  }

 private:
  Ref<const AttrsBase> attrs_;
  KernelChoice choice_;
};

template <class P>
void add_other_than_fft(OpTable& table, const char* op) {
  Kernel kernel{.name = "convolution_other_than_fft"};
  kernel.support = [](const AttrsBase& attrs, const KernelSpec&) {
    return attrs.as<P>().algorithm == ConvAlgorithm::fft ? Support::yes()
                                                         : Support::no("fft is not asked for");
  };
  kernel.prepare = [](const OpDef& of, const AttrsBase& attrs, const KernelSpec& spec) {
    return Ref<const KernelState>(make_ref<OtherThanFft<P>>(of, attrs.as<P>(), spec));
  };
  kernel.run = [](const AttrsBase&, const KernelArgs& args) {
    static_cast<const OtherThanFft<P>*>(args.state)->run(args);
  };
  table.add_kernel(op, kernel);
}

}  // namespace

void kernels_conv_without_fft(OpTable& table) {
  add_other_than_fft<ConvolutionParams>(table, "Convolution");
  add_other_than_fft<ConvolutionV1Params>(table, "Convolution_v1");
  add_other_than_fft<DeconvolutionParams>(table, "Deconvolution");
}

std::optional<ConvAlgorithm> algorithm_of_setting() {
  constexpr std::string_view kNames[] = {"fft", "winograd", "direct", "gemm"};
  const auto* const name = std::ranges::find(kNames, settings().conv_algo);
  if (name == std::end(kNames)) return {};
  return static_cast<ConvAlgorithm>(name - kNames);
}

void kernels_conv_cpu(OpTable& table) {
  kernels_conv_dnnl(table);
  add_forward<ConvolutionParams, 0b001>(table, "Convolution");
  add_forward<ConvolutionV1Params, 0b001>(table, "Convolution_v1");
  add_data<DeconvolutionParams, 0b001>(table, "Deconvolution");
}

void gradients_conv_cpu(OpTable& table) {
  gradients_conv_dnnl(table);
  add_data<ConvolutionParams, 0b101>(table, "_backward_Convolution_data");
  add_data<ConvolutionV1Params, 0b101>(table, "_backward_Convolution_v1_data");
  add_forward<DeconvolutionParams, 0b101>(table, "_backward_Deconvolution_data");
  add_weight<ConvolutionParams>(table, "_backward_Convolution");
  add_weight<ConvolutionV1Params>(table, "_backward_Convolution_v1");
  add_weight<DeconvolutionParams>(table, "_backward_Deconvolution");
}

void kernels_closed_convolution(OpTable& table) {
  table.kernel<relu_convolution_cpu>("_relu_Convolution", "relu_convolution_cpu");
}

}  // namespace loomix::ops

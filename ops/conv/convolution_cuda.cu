// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/element.h"
#include "ops/conv/deconvolution.h"
#include "ops/conv/direct_cuda.h"
#include "ops/cuda/channel_sums.h"
#include "ops/cuda/dnn.h"
#include "ops/cuda/index.h"
#include "ops/cuda/rectify.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

using namespace cuda;

template <class T>
struct AddBias {
  Divider inner, channels;
  const T* bias;
  T* to;
  __device__ void operator()(int64_t i) const {
    const int64_t unit = inner.quotient(i);
    const int64_t channel = unit - channels.quotient(unit) * channels.divisor();
    to[i] = store<T>(load(to[i]) + load(bias[channel]));
  }
};

// A pass of the operator with attributes P: by a graph of the library's, which has the bias and max(x, 0) in it; else by its plan; or by
// plain sums where it has none.
template <class P, ConvPass pass, bool relu = false>
class ConvCuda final : public KernelState {
 public:
  ConvCuda(const P& p, const KernelSpec& spec) : geometry_(geometry(p, spec.in, spec.out)) {
    if (spec.in[0].size() == 0 || spec.in[1].size() == 0 || spec.out[0].size() == 0) return;
    const ConvEpilogue epilogue{.bias = operands_of(family(p), pass, spec.in).bias != nullptr, .relu = relu};
    if constexpr (std::is_same_v<P, UpSamplingParams>) find_plan(ConvolutionParams{}, spec, epilogue);
    else find_plan(p, spec, epilogue);
    if (plan_) scratch_bytes = plan_->workspace_bytes;
    if (graph_) scratch_bytes = std::max(scratch_bytes, graph_->workspace_bytes);
  }

  void run(const P& p, const KernelArgs& args) const {
    const ConvOperands operands = operands_of(family(p), pass, args.in);
    const TensorView& out = args.out[0];
    const bool add = args.req[0] == Req::add;
    const cudaStream_t stream = stream_of(args);
    const ConvGraphPlan::Arrays arrays{.data = operands.a.data,
                                       .weight = operands.b.data,
                                       .bias = operands.bias ? operands.bias->data : nullptr,
                                       .out = out.data};
    if (graph_ && !add && graph_->run(arrays, args.scratch.data(), stream)) return;
    if (plan_) plan_->run(operands.a.data, operands.b.data, out.data, add, args.scratch.data(), stream);
    else
      direct_convolution(geometry_, pass, out.dtype, operands.a.data, operands.b.data, out.data, add, stream);
    if (operands.bias) add_bias(*operands.bias, out, stream);
    if constexpr (relu) rectify(out, stream);
  }

 private:
  using Family = std::conditional_t<std::is_same_v<P, UpSamplingParams>, P, ConvFamily<P>>;
  static const Family& family(const P& p) { return p; }
  static ConvGeometry geometry(const P& p, std::span<const TensorView> in, std::span<const TensorView> out) {
    return geometry_of(family(p), pass, in, out);
  }
  void add_bias(const TensorView& bias, const TensorView& out, cudaStream_t stream) const {
    const int64_t channels = bias.size();
    const int64_t inner =
        geometry_.channels_last ? 1 : out.size() / std::max<int64_t>(1, out.shape[0] * channels);
    dispatch_floating(out.dtype, "Convolution", [&]<class T>(Type<T>) {
      launch_each(stream, out.size(),
                  AddBias<T>{Divider(inner), Divider(channels), bias.as<T>(), out.mutable_as<T>()});
    });
  }
  static void rectify(const TensorView& out, cudaStream_t stream) {
    dispatch_floating(out.dtype, "Convolution", [&]<class T>(Type<T>) {
      launch_each(stream, out.size(), RectifyInPlace<T>{out.mutable_as<T>()});
    });
  }
  void find_plan(const ConvolutionParams& p, const KernelSpec& spec, const ConvEpilogue& epilogue) {
    CudnnOptions options = cudnn_options(p);
    if (p.cudnn_off || options.only == ConvAlgorithm::direct) return;
    const DType dtype = spec.out[0].dtype;
    if (pass == ConvPass::forward && spec.req[0] != Req::add)
      graph_ = plan_conv_graph(geometry_, dtype, epilogue, options);
    if (graph_) {  // the other plan is for arrays that views have cut
      options.measure = false;
      options.workspace_bytes = graph_->workspace_bytes;
    }
    plan_ = plan_convolution(geometry_, pass, dtype, options);
    if (plan_) return;
    if (!graph_) check_followed(p, spec.in);
    if (!options.only) return;
    options.only.reset();
    plan_ = plan_convolution(geometry_, pass, dtype, options);
  }

  const ConvGeometry geometry_;
  std::unique_ptr<ConvGraphPlan> graph_;
  std::unique_ptr<ConvPlan> plan_;
};

ChannelAxes bias_axes(const ConvolutionParams& p, const TensorView& grad) {
  const int64_t pixels = grad.shape.size_between(1, grad.shape.ndim()) / p.num_filter;
  if (channels_last(p.layout)) return {.outer = grad.shape[0] * pixels, .channels = p.num_filter};
  return {grad.shape[0], p.num_filter, pixels};
}

template <class P>
size_t bias_scratch(const P& p, const KernelSpec& spec) {
  return channel_sums_scratch(bias_axes(p, spec.in[0]), spec.in[0].dtype);
}
// grad -> gradient of the bias.
template <class P>
void bias_cuda(const P& p, const KernelArgs& args) {
  channel_sums(bias_axes(p, args.in[0]), args.in[0], args.out[0], args.req[0] == Req::add,
               args.scratch.data(), stream_of(args));
}

template <class P>
void add(KernelList& list, const std::string& op, bool is_transposed) {
  constexpr const char* kName = "convolution_cudnn";
  const std::string backward = "_backward_" + op;
  const std::string &convolves = is_transposed ? backward + "_data" : op,
                    &spreads = is_transposed ? op : backward + "_data";
  list.prepared_kernel<P, ConvCuda<P, ConvPass::forward>>(convolves, kName, DeviceType::gpu);
  list.prepared_kernel<P, ConvCuda<P, ConvPass::data>>(spreads, kName, DeviceType::gpu);
  list.prepared_kernel<P, ConvCuda<P, ConvPass::weight>>(backward + "_weight", kName, DeviceType::gpu);
  list.kernel<bias_cuda<P>, bias_scratch<P>>(backward + "_bias", "convolution_bias_cuda", DeviceType::gpu);
}

Support is_bilinear(const UpSamplingParams& p, const KernelSpec&) {
  return p.sample_type == SampleType::bilinear ? Support::yes() : Support::no("it is for bilinear sampling");
}

}  // namespace

void kernels_conv_cuda(KernelList& list) {
  add<ConvolutionParams>(list, "Convolution", false);
  list.prepared_kernel<ConvolutionParams, ConvCuda<ConvolutionParams, ConvPass::forward, true>>(
      "_relu_Convolution", "relu_convolution_cudnn", DeviceType::gpu);
  add<ConvolutionV1Params>(list, "Convolution_v1", false);
  add<DeconvolutionParams>(list, "Deconvolution", true);
  list.prepared_kernel<UpSamplingParams, ConvCuda<UpSamplingParams, ConvPass::data>, is_bilinear>(
      "UpSampling", "upsampling_bilinear_cudnn", DeviceType::gpu);
}

}  // namespace loomix::ops

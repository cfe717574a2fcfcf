// SPDX-License-Identifier: Apache-2.0
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "ops/cuda/dnn.h"
#include "ops/cuda/dnn_handle_cudnn.h"
#include "ops/cuda/handles.h"

namespace loomix::cuda {
namespace {

using ops::ConvAlgorithm;
using ops::ConvGeometry;
using ops::ConvPass;
using ops::CudnnOptions;

// A descriptor of cuDNN's, destroyed with its owner.
template <class T, auto Create, auto Destroy>
class Descriptor {
 public:
  Descriptor() { check(Create(&value_), "making a descriptor"); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { Destroy(value_); }
  operator T() const { return value_; }

 private:
  T value_ = nullptr;
};
using TensorDescriptor =
    Descriptor<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using FilterDescriptor =
    Descriptor<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using ConvDescriptor = Descriptor<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor,
                                  cudnnDestroyConvolutionDescriptor>;

struct Axes {
  int first;
  explicit Axes(const ConvGeometry& g) : first(first_axis(g)) {}
  int spatial() const { return 3 - first; }
  int all() const { return spatial() + 2; }
};

// Images, channels, then spatial axes, whatever the order in memory.
std::array<int, 5> sizes(const Axes& axes, int64_t outer, int64_t channels, const int64_t (&spatial)[3]) {
  std::array<int, 5> list{static_cast<int>(outer), static_cast<int>(channels)};
  for (int i = axes.first; i < 3; ++i)
    list[static_cast<size_t>(2 + i - axes.first)] = static_cast<int>(spatial[i]);
  return list;
}

bool describe(const TensorDescriptor& to, const Axes& axes, DType dtype, bool channels_last,
              const std::array<int, 5>& size) {
  std::array<int, 5> stride{};
  int64_t step = channels_last ? size[1] : 1;
  for (int i = axes.all() - 1; i >= (channels_last ? 2 : 1); --i) {
    stride[static_cast<size_t>(i)] = static_cast<int>(step);
    step *= size[static_cast<size_t>(i)];
  }
  if (channels_last) stride[1] = 1;
  stride[0] = static_cast<int>(step);
  if (step * size[0] > std::numeric_limits<int>::max()) return false;  // cuDNN counts in int
  return cudnnSetTensorNdDescriptor(to, type_of(dtype), axes.all(), size.data(), stride.data()) ==
         CUDNN_STATUS_SUCCESS;
}

ConvAlgorithm kind_of(cudnnConvolutionFwdAlgo_t algorithm) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_FWD_ALGO_DIRECT: return ConvAlgorithm::direct;
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT:
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING: return ConvAlgorithm::fft;
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD:
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED: return ConvAlgorithm::winograd;
    default: return ConvAlgorithm::gemm;
  }
}
ConvAlgorithm kind_of(cudnnConvolutionBwdDataAlgo_t algorithm) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT:
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING: return ConvAlgorithm::fft;
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD:
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED: return ConvAlgorithm::winograd;
    default: return ConvAlgorithm::gemm;
  }
}
ConvAlgorithm kind_of(cudnnConvolutionBwdFilterAlgo_t algorithm) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT:
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING: return ConvAlgorithm::fft;
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD:
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED: return ConvAlgorithm::winograd;
    default: return ConvAlgorithm::gemm;
  }
}

// What the three passes have in common but for their names.
template <ConvPass pass>
struct Pass;

template <>
struct Pass<ConvPass::forward> {
  using Result = cudnnConvolutionFwdAlgoPerf_t;
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
  template <class D>
  static cudnnStatus_t list(cudnnHandle_t handle, const D& d, bool measure, int* count, Result* results) {
    const auto make = measure ? cudnnFindConvolutionForwardAlgorithm : cudnnGetConvolutionForwardAlgorithm_v7;
    return make(handle, d.data, d.weight, d.conv, d.out, kAlgorithms, count, results);
  }
  template <class D>
  static cudnnStatus_t need(cudnnHandle_t handle, const D& d, const Result& result, size_t* bytes) {
    return cudnnGetConvolutionForwardWorkspaceSize(handle, d.data, d.weight, d.conv, d.out, result.algo,
                                                   bytes);
  }
  // a: data, b: weight
  template <class D>
  static cudnnStatus_t run(cudnnHandle_t handle, const D& d, const Result& result, const void* alpha,
                           const void* a, const void* b, void* workspace, size_t bytes, const void* beta,
                           void* out) {
    return cudnnConvolutionForward(handle, alpha, d.data, a, d.weight, b, d.conv, result.algo, workspace,
                                   bytes, beta, d.out, out);
  }
};

template <>
struct Pass<ConvPass::data> {
  using Result = cudnnConvolutionBwdDataAlgoPerf_t;
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT;
  template <class D>
  static cudnnStatus_t list(cudnnHandle_t handle, const D& d, bool measure, int* count, Result* results) {
    const auto make =
        measure ? cudnnFindConvolutionBackwardDataAlgorithm : cudnnGetConvolutionBackwardDataAlgorithm_v7;
    return make(handle, d.weight, d.out, d.conv, d.data, kAlgorithms, count, results);
  }
  template <class D>
  static cudnnStatus_t need(cudnnHandle_t handle, const D& d, const Result& result, size_t* bytes) {
    return cudnnGetConvolutionBackwardDataWorkspaceSize(handle, d.weight, d.out, d.conv, d.data, result.algo,
                                                        bytes);
  }
  // a: gradient of the output, b: weight
  template <class D>
  static cudnnStatus_t run(cudnnHandle_t handle, const D& d, const Result& result, const void* alpha,
                           const void* a, const void* b, void* workspace, size_t bytes, const void* beta,
                           void* out) {
    return cudnnConvolutionBackwardData(handle, alpha, d.weight, b, d.out, a, d.conv, result.algo, workspace,
                                        bytes, beta, d.data, out);
  }
};

template <>
struct Pass<ConvPass::weight> {
  using Result = cudnnConvolutionBwdFilterAlgoPerf_t;
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT;
  template <class D>
  static cudnnStatus_t list(cudnnHandle_t handle, const D& d, bool measure, int* count, Result* results) {
    const auto make =
        measure ? cudnnFindConvolutionBackwardFilterAlgorithm : cudnnGetConvolutionBackwardFilterAlgorithm_v7;
    return make(handle, d.data, d.out, d.conv, d.weight, kAlgorithms, count, results);
  }
  template <class D>
  static cudnnStatus_t need(cudnnHandle_t handle, const D& d, const Result& result, size_t* bytes) {
    return cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, d.data, d.out, d.conv, d.weight,
                                                          result.algo, bytes);
  }
  // a: gradient of the output, b: data
  template <class D>
  static cudnnStatus_t run(cudnnHandle_t handle, const D& d, const Result& result, const void* alpha,
                           const void* a, const void* b, void* workspace, size_t bytes, const void* beta,
                           void* out) {
    return cudnnConvolutionBackwardFilter(handle, alpha, d.data, b, d.out, a, d.conv, result.algo, workspace,
                                          bytes, beta, d.weight, out);
  }
};

template <ConvPass pass>
class Plan final : public ConvPlan {
 public:
  // False where cuDNN does not take the geometry.
  bool describe_all(const ConvGeometry& g, DType dtype, bool tf32) {
    if (!has_own_output(g)) return false;
    const Axes axes(g);
    const int64_t channels = g.groups * g.channels, filters = g.groups * g.filters;
    const std::array<int, 5> filter = sizes(axes, filters, g.channels, g.kernel);
    std::array<int, 3> pad{}, stride{}, dilate{};
    for (int i = axes.first; i < 3; ++i) {
      const auto at = static_cast<size_t>(i - axes.first);
      pad[at] = static_cast<int>(g.pad[i]);
      stride[at] = static_cast<int>(g.stride[i]);
      dilate[at] = static_cast<int>(g.dilate[i]);
    }
    wide_ = dtype == DType::float64;
    const auto format = g.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    const auto compute = wide_ ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    const auto math = dtype != DType::float32 ? CUDNN_TENSOR_OP_MATH
                      : tf32                  ? CUDNN_DEFAULT_MATH
                                              : CUDNN_FMA_MATH;
    return describe(data, axes, dtype, g.channels_last, sizes(axes, g.batch, channels, g.in)) &&
           describe(out, axes, dtype, g.channels_last, sizes(axes, g.batch, filters, g.out)) &&
           cudnnSetFilterNdDescriptor(weight, type_of(dtype), format, axes.all(), filter.data()) ==
               CUDNN_STATUS_SUCCESS &&
           cudnnSetConvolutionNdDescriptor(conv, axes.spatial(), pad.data(), stride.data(), dilate.data(),
                                           CUDNN_CROSS_CORRELATION, compute) == CUDNN_STATUS_SUCCESS &&
           cudnnSetConvolutionGroupCount(conv, static_cast<int>(g.groups)) == CUDNN_STATUS_SUCCESS &&
           cudnnSetConvolutionMathType(conv, wide_ ? CUDNN_DEFAULT_MATH : math) == CUDNN_STATUS_SUCCESS;
  }

  // Takes the first algorithm that fits: of those that were timed, here or by an earlier process, or else of cuDNN's estimates.
  bool choose(const CudnnOptions& options, bool may_lose_bits, const std::string& question) {
    bool found = false;
    handles<DnnHandle>().with(nullptr, [&](const DnnHandle& dnn) {
      if (options.measure) {
        Result kept = parsed(timed_convolutions().find(question));
        found = take(dnn.handle, kept, options, may_lose_bits);
        if (!found && (found = take_first(dnn.handle, true, options, may_lose_bits)))
          timed_convolutions().add(question, fmt::format("{} {}", static_cast<int>(result_.algo),
                                                         static_cast<int>(result_.mathType)));
      }
      if (!found) found = take_first(dnn.handle, false, options, may_lose_bits);
    });
    return found;
  }

  void run(const void* a, const void* b, void* to, bool add, void* workspace,
           cudaStream_t stream) const override {
    const float one = 1, kept = add ? 1 : 0;
    const double wide_one = 1, wide_kept = add ? 1 : 0;
    const void* const alpha = wide_ ? static_cast<const void*>(&wide_one) : &one;
    const void* const beta = wide_ ? static_cast<const void*>(&wide_kept) : &kept;
    handles<DnnHandle>().with(stream, [&](const DnnHandle& dnn) {
      check(Pass<pass>::run(dnn.handle, *this, result_, alpha, a, b, workspace, workspace_bytes, beta, to),
            "a convolution");
    });
  }

  TensorDescriptor data, out;
  FilterDescriptor weight;
  ConvDescriptor conv;

 private:
  using Result = typename Pass<pass>::Result;

  // Fails to be taken where there is none.
  static Result parsed(const std::optional<std::string>& answer) {
    Result result{};
    result.status = CUDNN_STATUS_NOT_SUPPORTED;
    int algorithm = 0, math = 0;
    if (!answer || std::sscanf(answer->c_str(), "%d %d", &algorithm, &math) != 2) return result;
    if (algorithm < 0 || algorithm >= Pass<pass>::kAlgorithms || math < 0 || math > CUDNN_FMA_MATH)
      return result;
    result.algo = static_cast<decltype(result.algo)>(algorithm);
    result.mathType = static_cast<cudnnMathType_t>(math);
    result.determinism = CUDNN_DETERMINISTIC;
    result.status = CUDNN_STATUS_SUCCESS;
    return result;
  }

  bool take_first(cudnnHandle_t handle, bool measure, const CudnnOptions& options, bool may_lose_bits) {
    std::array<Result, Pass<pass>::kAlgorithms> results{};
    int count = 0;  // they are sorted by their times
    if (Pass<pass>::list(handle, *this, measure, &count, results.data()) != CUDNN_STATUS_SUCCESS)
      return false;
    return std::any_of(results.begin(), results.begin() + count,
                       [&](Result& result) { return take(handle, result, options, may_lose_bits); });
  }

  bool take(cudnnHandle_t handle, Result& result, const CudnnOptions& options, bool may_lose_bits) {
    if (result.status != CUDNN_STATUS_SUCCESS || result.determinism != CUDNN_DETERMINISTIC) return false;
    if (!may_lose_bits && result.mathType != CUDNN_FMA_MATH && result.mathType != CUDNN_DEFAULT_MATH)
      return false;
    if (options.only && kind_of(result.algo) != *options.only) return false;
    if (!may_lose_bits) result.mathType = wide_ ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
    size_t bytes = 0;
    if (cudnnSetConvolutionMathType(conv, result.mathType) != CUDNN_STATUS_SUCCESS ||
        Pass<pass>::need(handle, *this, result, &bytes) != CUDNN_STATUS_SUCCESS ||
        bytes > options.workspace_bytes)
      return false;
    result_ = result;
    workspace_bytes = bytes;
    return true;
  }

  bool wide_ = false;
  Result result_{};
};

template <ConvPass pass>
std::unique_ptr<ConvPlan> plan(const ConvGeometry& g, DType dtype, const CudnnOptions& options) {
  auto made = std::make_unique<Plan<pass>>();
  if (!made->describe_all(g, dtype, options.tf32)) return nullptr;
  const bool may_lose_bits =
      dtype == DType::float16 || dtype == DType::bfloat16 || (dtype == DType::float32 && options.tf32);
  if (!made->choose(options, may_lose_bits,
                    question(fmt::format("pass {}", static_cast<int>(pass)), g, dtype, options)))
    return nullptr;
  return made;
}

}  // namespace

TunedChoices& timed_convolutions() {
  static auto& choices = *new TunedChoices(TunedChoices::file_in_cache("cudnn.json"),
                                           fmt::format("cuDNN {}", cudnnGetVersion()));
  return choices;
}

std::string question(const std::string& what, const ConvGeometry& g, DType dtype,
                     const CudnnOptions& options) {
  int device = 0;
  cudaDeviceProp properties{};
  if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&properties, device) != cudaSuccess)
    cudaGetLastError();
  const auto numbers = [](const int64_t(&n)[3]) { return fmt::format("{}x{}x{}", n[0], n[1], n[2]); };
  return fmt::format(
      "{}: {} {}{}{}, {} x {} x {} to {}, {} to {}, kernel {} stride {} dilate {} pad {}, {} bytes, "
      "only {}",
      properties.name, what, name_of(dtype), options.tf32 ? " tf32" : "",
      g.channels_last ? " channels last" : "", g.batch, g.groups, g.channels, g.filters, numbers(g.in),
      numbers(g.out), numbers(g.kernel), numbers(g.stride), numbers(g.dilate), numbers(g.pad),
      options.workspace_bytes, options.only ? static_cast<int>(*options.only) : -1);
}

std::unique_ptr<ConvPlan> plan_convolution(const ConvGeometry& geometry, ConvPass pass, DType dtype,
                                           const CudnnOptions& options) {
  switch (pass) {
    case ConvPass::forward: return plan<ConvPass::forward>(geometry, dtype, options);
    case ConvPass::data: return plan<ConvPass::data>(geometry, dtype, options);
    default: return plan<ConvPass::weight>(geometry, dtype, options);
  }
}

}  // namespace loomix::cuda

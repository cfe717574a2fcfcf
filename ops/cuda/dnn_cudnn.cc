// SPDX-License-Identifier: Apache-2.0
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "ops/cuda/dnn.h"
#include "ops/cuda/handles.h"

namespace loomix::cuda {
namespace {

using ops::ConvGeometry;
using ops::ConvPass;

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) [[likely]]
    return;
  detail::throw_error<DeviceError>("[cuda] {} by cuDNN failed: {}.", what, cudnnGetErrorString(status));
}

struct DnnHandle {
  explicit DnnHandle(cudaStream_t stream) {
    check(cudnnCreate(&handle), "making a handle");
    check(cudnnSetStream(handle, stream), "setting a handle's stream");
  }
  cudnnHandle_t handle = nullptr;
};

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

cudnnDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::float64: return CUDNN_DATA_DOUBLE;
    case DType::float16: return CUDNN_DATA_HALF;
    case DType::bfloat16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}

// Two spatial axes where the first of three is not used: cuDNN has more algorithms for them.
struct Axes {
  int first;
  explicit Axes(const ConvGeometry& g)
      : first(g.in[0] == 1 && g.out[0] == 1 && g.kernel[0] == 1 && g.pad[0] == 0 ? 1 : 0) {}
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

// What the three passes have in common but for their names.
template <ConvPass pass>
struct Pass;

template <>
struct Pass<ConvPass::forward> {
  using Result = cudnnConvolutionFwdAlgoPerf_t;
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
  template <class D>
  static cudnnStatus_t choose(cudnnHandle_t handle, const D& d, int* count, Result* results) {
    return cudnnGetConvolutionForwardAlgorithm_v7(handle, d.data, d.weight, d.conv, d.out, kAlgorithms, count,
                                                  results);
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
  static cudnnStatus_t choose(cudnnHandle_t handle, const D& d, int* count, Result* results) {
    return cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, d.weight, d.out, d.conv, d.data, kAlgorithms,
                                                       count, results);
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
  static cudnnStatus_t choose(cudnnHandle_t handle, const D& d, int* count, Result* results) {
    return cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, d.data, d.out, d.conv, d.weight, kAlgorithms,
                                                         count, results);
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
    const Axes axes(g);
    const int64_t channels = g.groups * g.channels, filters = g.groups * g.filters;
    const std::array<int, 5> filter = sizes(axes, filters, g.channels, g.kernel);
    std::array<int, 3> pad{}, stride{}, dilate{};
    for (int i = axes.first; i < 3; ++i) {
      const auto at = static_cast<size_t>(i - axes.first);
      pad[at] = static_cast<int>(g.pad[i]);
      stride[at] = static_cast<int>(g.stride[i]);
      dilate[at] = static_cast<int>(g.dilate[i]);
      // Of a transposed convolution, whose output may be one line longer than its input asks for.
      if ((g.in[i] + 2 * g.pad[i] - g.reach(i)) / g.stride[i] + 1 != g.out[i]) return false;
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

  // Takes the first algorithm of cuDNN's list, which is sorted by expected time, that fits.
  bool choose(const ConvOptions& options, bool may_lose_bits) {
    bool found = false;
    handles<DnnHandle>().with(nullptr, [&](const DnnHandle& dnn) {
      std::array<typename Pass<pass>::Result, Pass<pass>::kAlgorithms> results{};
      int count = 0;
      if (Pass<pass>::choose(dnn.handle, *this, &count, results.data()) != CUDNN_STATUS_SUCCESS) return;
      for (int i = 0; i < count && !found; ++i) {
        const auto& result = results[static_cast<size_t>(i)];
        if (result.status != CUDNN_STATUS_SUCCESS || result.determinism != CUDNN_DETERMINISTIC) continue;
        if (!may_lose_bits && result.mathType != CUDNN_FMA_MATH && result.mathType != CUDNN_DEFAULT_MATH)
          continue;
        const auto math = may_lose_bits ? result.mathType : wide_ ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
        size_t bytes = 0;
        if (cudnnSetConvolutionMathType(conv, math) != CUDNN_STATUS_SUCCESS ||
            Pass<pass>::need(dnn.handle, *this, result, &bytes) != CUDNN_STATUS_SUCCESS ||
            bytes > options.workspace_bytes)
          continue;
        result_ = result;
        workspace_bytes = bytes;
        found = true;
      }
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
  bool wide_ = false;
  typename Pass<pass>::Result result_{};
};

template <ConvPass pass>
std::unique_ptr<ConvPlan> plan(const ConvGeometry& g, DType dtype, const ConvOptions& options) {
  auto made = std::make_unique<Plan<pass>>();
  if (!made->describe_all(g, dtype, options.tf32)) return nullptr;
  const bool may_lose_bits =
      dtype == DType::float16 || dtype == DType::bfloat16 || (dtype == DType::float32 && options.tf32);
  if (!made->choose(options, may_lose_bits)) return nullptr;
  return made;
}

}  // namespace

std::unique_ptr<ConvPlan> plan_convolution(const ConvGeometry& geometry, ConvPass pass, DType dtype,
                                           const ConvOptions& options) {
  switch (pass) {
    case ConvPass::forward: return plan<ConvPass::forward>(geometry, dtype, options);
    case ConvPass::data: return plan<ConvPass::data>(geometry, dtype, options);
    default: return plan<ConvPass::weight>(geometry, dtype, options);
  }
}

}  // namespace loomix::cuda

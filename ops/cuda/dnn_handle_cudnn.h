// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudnn.h>

#include <string>

#include "base/error.h"
#include "ndarray/tuned_choices.h"
#include "ops/conv/cudnn_options.h"

// What cuDNN's older interface for convolutions (dnn_cudnn.cc) and its graphs (conv_graph_cudnn.cc, conv_graph_plan_cudnn.cc) share.
namespace loomix::cuda {

inline void check(cudnnStatus_t status, const char* what) {
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

inline cudnnDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::float64: return CUDNN_DATA_DOUBLE;
    case DType::float16: return CUDNN_DATA_HALF;
    case DType::bfloat16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}

// Of three spatial axes: two where the first is not used, since cuDNN has more algorithms for them.
inline int first_axis(const ops::ConvGeometry& g) {
  return g.in[0] == 1 && g.out[0] == 1 && g.kernel[0] == 1 && g.pad[0] == 0 ? 1 : 0;
}

// Of a transposed convolution, the output may be one line longer than its input asks for: cuDNN takes none of these.
inline bool has_own_output(const ops::ConvGeometry& g) {
  for (int i = 0; i < 3; ++i) {
    if ((g.in[i] + 2 * g.pad[i] - g.reach(i)) / g.stride[i] + 1 != g.out[i]) return false;
  }
  return true;
}

// What was timed, for later processes, too: cudnn.json.
TunedChoices& timed_convolutions();

// All that the times of `what` depend on.
std::string question(const std::string& what, const ops::ConvGeometry& geometry, DType dtype,
                     const ops::CudnnOptions& options);

}  // namespace loomix::cuda

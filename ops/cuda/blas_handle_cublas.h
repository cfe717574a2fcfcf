// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublas_v2.h>

#include "base/error.h"
#include "ops/cuda/blas.h"

// What the files that call cuBLAS share.
namespace loomix::cuda {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // as much as cuBLAS takes for itself on Hopper

inline void check_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  detail::throw_error<DeviceError>("[cuda] {} by cuBLAS failed: {}.", what, cublasGetStatusString(status));
}

// With a workspace of its own: a default one is allocated when work is captured into a graph.
struct BlasHandle {
  explicit BlasHandle(cudaStream_t stream) {
    check_blas(cublasCreate(&handle), "making a handle");
    check_blas(cublasSetStream(handle, stream), "setting a handle's stream");
    if (cudaMalloc(&workspace, kWorkspaceBytes) == cudaSuccess) {
      check_blas(cublasSetWorkspace(handle, workspace, kWorkspaceBytes), "setting a workspace");
    } else {
      workspace = nullptr;
      cudaGetLastError();
    }
    check_blas(cublasSetMathMode(handle, cublasMath_t(CUBLAS_DEFAULT_MATH |
                                                      CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
               "setting the mode of arithmetic");
  }
  BlasHandle(const BlasHandle&) = delete;
  BlasHandle& operator=(const BlasHandle&) = delete;
  cublasHandle_t handle = nullptr;
  void* workspace = nullptr;  // of kWorkspaceBytes; null where there was no memory for it
};

inline cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::float64: return CUDA_R_64F;
    case DType::float16: return CUDA_R_16F;
    case DType::bfloat16: return CUDA_R_16BF;
    default: return CUDA_R_32F;
  }
}

inline cublasComputeType_t arithmetic_of(const Gemm& product) {
  if (product.dtype == DType::float64) return CUBLAS_COMPUTE_64F;
  return product.dtype == DType::float32 && product.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

inline cublasOperation_t operation(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }

}  // namespace loomix::cuda

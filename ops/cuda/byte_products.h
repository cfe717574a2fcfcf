// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

// Products of whole numbers of 8 bits by cuBLAS (blas_cublas.cc), or by the stand-in. Nothing here waits for the device.
namespace loomix::cuda {

// For each item of the batch: C = A B^T, exactly. All row-major: A is (m, k), B is (n, k), both dense; a row of C follows the one before
// after `row_c` elements, an item after `step_*`.
struct ByteGemm {
  int64_t m = 0, n = 0, k = 0;
  int64_t row_c = 0;
  int64_t batch = 1;
  int64_t step_a = 0, step_b = 0, step_c = 0;
};
// What cuBLAS has kernels for: rows of words of 4 bytes. Sums of more numbers might not fit.
constexpr bool takes_bytes(int64_t n, int64_t k) {
  constexpr int64_t kMostSummed = 1 << 16;
  return n % 4 == 0 && k % 4 == 0 && k > 0 && k <= kMostSummed;
}
inline bool is_word_aligned(const void* a) { return reinterpret_cast<uintptr_t>(a) % 4 == 0; }

void multiply_bytes(const ByteGemm& product, const int8_t* a, const int8_t* b, int32_t* c,
                    cudaStream_t stream);

}  // namespace loomix::cuda

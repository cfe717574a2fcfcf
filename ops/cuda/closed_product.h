// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "ops/cuda/blas.h"

// Products of matrices that end with more than a sum: by cuBLASLt (closed_product_cublas.cc), or by the stand-in.
namespace loomix::cuda {

// What is done to a product before it is rounded and written: `bias`, an element a column of type `dtype`, is added; then max(x, 0).
struct Ending {
  bool bias = false, relu = false;
};

// A product whose algorithm is chosen. Safe for several runs at once.
class ClosedProduct {
 public:
  static constexpr uintptr_t kAlignment = 16;  // of each array, in bytes

  virtual ~ClosedProduct() = default;
  // Puts it on the stream. False, with nothing done, where it cannot run: an array lies at another place than `kAlignment` allows,
  // there is no memory for the stream's workspace, or the current device is of another kind and has no such algorithm.
  [[nodiscard]] virtual bool run(const void* a, const void* b, const void* bias, void* c,
                                 cudaStream_t stream) const = 0;
};

// Null where the library has no such product. `alpha` is 1, `beta` is 0, `batch` is 1.
std::unique_ptr<ClosedProduct> plan_closed_product(const Gemm& product, Ending ending);

// `bias` may be null.
inline bool are_aligned(const void* a, const void* b, const void* bias, const void* c) {
  const auto bits = reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) |
                    reinterpret_cast<uintptr_t>(bias) | reinterpret_cast<uintptr_t>(c);
  return bits % ClosedProduct::kAlignment == 0;
}

}  // namespace loomix::cuda
